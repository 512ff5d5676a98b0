"""Code that uses the API of ``fixtures/drift``: what is said of it with the newer tree, and what Python does.

``use()`` of each client is run with both trees.  With the older one it always works, and nothing is said.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Client:
    """A module that uses the API.

    Args:
        name: what the case is about.
        source: defines ``use``.
        said: kind and name of each use that the newer tree does not honour.
        raises: what ``use`` raises there; empty where it runs.
        guarded: how many uses stand behind a guard.
        went: where the first use went, if that is told.
    """

    name: str
    source: str
    said: tuple[tuple[str, str], ...] = ()
    raises: str = ""
    guarded: int = 0
    went: str = ""


BROKEN = (
    Client(
        "a module that is gone",
        """
        def use():
            from vllm.attention import Attention
            return Attention().run()
        """,
        (("missing-module", "vllm.attention.Attention"),),
        "ModuleNotFoundError",
        went="vllm.layers.attention.Attention",
    ),
    Client(
        "a module that is gone, imported whole",
        """
        def use():
            import vllm.attention
            return vllm.attention.Attention
        """,
        (("missing-module", "vllm.attention"),),
        "ModuleNotFoundError",
        went="vllm.layers.attention",
    ),
    Client(
        "a module that is gone, imported by name",
        """
        import importlib

        def use():
            return importlib.import_module("vllm.attention")
        """,
        (("missing-module", "vllm.attention"),),
        "ModuleNotFoundError",
        went="vllm.layers.attention",
    ),
    Client(
        "a function that moved",
        """
        def use():
            from vllm.helpers import make_identifier as made
            return made()
        """,
        (("missing-name", "vllm.helpers.make_identifier"),),
        "ImportError",
        went="vllm.identifiers.make.make_identifier",
    ),
    Client(
        "a function that moved, as an attribute of its module",
        """
        from vllm import helpers

        def use():
            return helpers.make_identifier()
        """,
        (("missing-name", "vllm.helpers.make_identifier"),),
        "AttributeError",
        went="vllm.identifiers.make.make_identifier",
    ),
    Client(
        "a lazy name that is gone",
        """
        def use():
            from vllm import Sampling
            return Sampling(1.0)
        """,
        (("missing-name", "vllm.Sampling"),),
        "ImportError",
        went="vllm.sampling.Sampling",
    ),
    Client(
        "an argument that a function takes no more",
        """
        from vllm.helpers import layout

        def use():
            return layout(2, columns=3)
        """,
        (("unknown-argument", "layout(columns)"),),
        "TypeError",
    ),
    Client(
        "one argument too many",
        """
        from vllm.helpers import layout

        def use():
            return layout(2, 3)
        """,
        (("too-many-arguments", "layout(…)"),),
        "TypeError",
    ),
    Client(
        "a field of a dataclass that has to be given now",
        """
        from vllm.config import SchedulerConfig

        def use():
            return SchedulerConfig("mine", 4, [])
        """,
        (("missing-argument", "SchedulerConfig(block_size)"),),
        "TypeError",
    ),
    Client(
        "a field of a dataclass that is gone",
        """
        from vllm import config as settings

        def use():
            return settings.SchedulerConfig(partial=2, block_size=4)
        """,
        (("unknown-argument", "SchedulerConfig(partial)"),),
        "TypeError",
    ),
    Client(
        "an argument that is handed on to what takes it no more",
        """
        from vllm.config import scheduler_for

        def use():
            return scheduler_for("mine", size=4, partial=2)
        """,
        (("unknown-argument", "scheduler_for(partial)"),),
        "TypeError",
    ),
    Client(
        "a field of a named tuple that is gone",
        """
        from vllm.sampling import Sampling

        def use():
            return Sampling(0.5, best_of=2)
        """,
        (("unknown-argument", "Sampling(best_of)"),),
        "TypeError",
    ),
    Client(
        "a member of an enumeration that is gone",
        """
        from vllm.engine import Status

        def use():
            return Status.SWAPPED
        """,
        (("missing-member", "Status.SWAPPED"),),
        "AttributeError",
    ),
    Client(
        "a method of an object whose class is annotated",
        """
        from typing import Optional

        from vllm.config import SchedulerConfig

        def steps(scheduler: Optional[SchedulerConfig]):
            return scheduler.steps()

        def use():
            return steps(SchedulerConfig(block_size=4))
        """,
        (("missing-member", "SchedulerConfig.steps"),),
        "AttributeError",
    ),
    Client(
        "a method of what a property gives",
        """
        from vllm.config import Config

        def use():
            config = Config()
            return config.chosen.steps()
        """,
        (("missing-member", "SchedulerConfig.steps"),),
        "AttributeError",
    ),
    Client(
        "a method of what a function gives",
        """
        from vllm.engine import current

        def use():
            return current().swap()
        """,
        (("missing-member", "Engine.swap"),),
        "AttributeError",
    ),
    Client(
        "an attribute that a base set",
        """
        from vllm.config import Config
        from vllm.engine import Worker

        class Mine(Worker):
            def __init__(self, config: Config, *rest):
                super().__init__(config, *rest)

            def load(self):
                return self.steps

            def unload(self):
                return None

        def use():
            from vllm.version import __version__
            return Mine(Config(), *([0] if __version__ == "2.0.0" else [])).load()
        """,
        (("missing-member", "Mine.steps"),),
        "AttributeError",
    ),
    Client(
        "the constructor of a base",
        """
        from vllm.config import Config
        from vllm.engine import Worker

        class Mine(Worker):
            def __init__(self):
                super().__init__(Config())

            def load(self):
                return None

            def unload(self):
                return None

        def use():
            return Mine()
        """,
        (("missing-argument", "Worker.__init__(rank)"),),
        "TypeError",
    ),
    Client(
        "a method of a base, through super()",
        """
        from vllm.engine import Worker

        class Mine(Worker):
            def __init__(self):
                pass

            def load(self):
                return super().rows([1])

            def unload(self):
                return None

        def use():
            return Mine().load()
        """,
        (("missing-member", "super().rows"),),
        "AttributeError",
    ),
    Client(
        "a method that has to be defined now",
        """
        from vllm.engine import Worker

        class Mine(Worker):
            def __init__(self):
                pass

            def load(self):
                return None

        def use():
            return Mine()
        """,
        (("abstract-method", "Mine.unload"),),
        "TypeError",
    ),
    Client(
        "an override that is called in another way",
        """
        from vllm.engine import Engine, Worker

        class Mine(Worker):
            rank = 0

            def __init__(self):
                pass

            def load(self):
                return None

            def unload(self):
                return None

            def execute(self, batch):
                return batch

        def use():
            return Engine(Mine()).step()
        """,
        (("override-signature", "Mine.execute"),),
        "TypeError",
    ),
    Client(
        "a handler that only fails in other words",
        """
        def use():
            try:
                from vllm.helpers import make_identifier
            except ImportError as error:
                raise RuntimeError("another release is needed") from error
            return make_identifier()
        """,
        (("missing-name", "vllm.helpers.make_identifier"),),
        "RuntimeError",
        went="vllm.identifiers.make.make_identifier",
    ),
    Client(
        "a handler that does not take what is raised",
        """
        def use():
            try:
                from vllm.helpers import make_identifier
            except ModuleNotFoundError:
                return None
            return make_identifier()
        """,
        (("missing-name", "vllm.helpers.make_identifier"),),
        "ImportError",
        went="vllm.identifiers.make.make_identifier",
    ),
    Client(
        "a test of a setting",
        """
        from vllm.engine import Status

        class Config:
            backend = "swap"

        def use():
            if getattr(Config, "backend", None) == "swap":
                return Status.SWAPPED
        """,
        (("missing-member", "Status.SWAPPED"),),
        "AttributeError",
    ),
    Client(
        "a test of the version that this release passes",
        """
        import vllm
        from vllm.engine import Status

        def use():
            if vllm.__version__ >= "1.0.0":
                return Status.SWAPPED
        """,
        (("missing-member", "Status.SWAPPED"),),
        "AttributeError",
    ),
)

HONOURED = (
    Client(
        "another place where the first is gone",
        """
        try:
            from vllm.helpers import make_identifier
        except ImportError:
            from vllm.identifiers.make import make_identifier

        def use():
            return make_identifier()
        """,
        guarded=1,
    ),
    Client(
        "a test of the version",
        """
        import vllm
        from vllm.engine import Status

        def use():
            if vllm.__version__ < "2.0.0":
                return Status.SWAPPED
            return Status.WAITING
        """,
        guarded=1,
    ),
    Client(
        "what stands behind a return for other versions",
        """
        from vllm import __version__
        from vllm.engine import Status

        NEW = __version__ >= "2.0.0"

        def use():
            if NEW:
                return Status.WAITING
            return Status.SWAPPED
        """,
        guarded=1,
    ),
    Client(
        "a helper that is called behind a test of the version only",
        """
        from vllm import __version__
        from vllm.engine import Status

        def old():
            return Status.SWAPPED

        def use():
            return old() if __version__ < "2.0.0" else None
        """,
        guarded=1,
    ),
    Client(
        "a question before the use",
        """
        from vllm.engine import Status, current

        def use():
            engine = current()
            if hasattr(engine, "swap"):
                engine.swap()
            return getattr(Status, "SWAPPED", None)
        """,
    ),
    Client(
        "an import for type checkers",
        """
        from __future__ import annotations

        from typing import TYPE_CHECKING

        if TYPE_CHECKING:
            from vllm.attention import Attention

        def use(attention: Attention | None = None):
            return attention
        """,
        guarded=1,
    ),
    Client(
        "arguments that cannot be counted",
        """
        from vllm.helpers import layout

        def use():
            rows, more = (2,), {}
            return layout(*rows, **more)
        """,
    ),
    Client(
        "arguments that are not only handed on",
        """
        from vllm.config import anything_for, scheduler_for

        def use():
            return anything_for("mine", partial=2), scheduler_for("mine", size=4)
        """,
    ),
    Client(
        "a function whose branches differ",
        """
        from vllm.tokens import join

        def use():
            return join(["a"], separator="-")
        """,
    ),
    Client(
        "a name of a star import",
        """
        from vllm.helpers import split

        def use():
            return split("a b")
        """,
    ),
    Client(
        "another way to call it for the newer tree",
        """
        from vllm.helpers import layout

        def use(columns=None):
            if columns is not None:
                return layout(2, columns=columns)
            return layout(2)
        """,
        guarded=1,
    ),
    Client(
        "an attribute that the package puts there itself",
        """
        from vllm.engine import Engine, current

        Engine.swap = lambda self: 2

        def use():
            return current().swap()
        """,
    ),
    Client(
        "a subclass that has what its declared base lacks",
        """
        from vllm.engine import Engine, Worker, current

        class Own(Engine):
            def swap(self):
                return 2

        def swap(engine: Engine):
            return engine.swap()

        def use():
            return swap(Own(current().worker))
        """,
    ),
    Client(
        "a mixin that calls what a class beside it has",
        """
        from vllm.engine import Engine, current

        class Swaps:
            def swap(self):
                return 2

        class Mixed(Engine):
            def swap(self):
                return super().swap()

        class Whole(Mixed, Swaps):
            pass

        def use():
            return Whole(current().worker).swap()
        """,
    ),
    Client(
        "a type that a test narrows",
        """
        from vllm.engine import Engine, current

        class Own:
            def swap(self):
                return 2

        def swap(engine: Engine):
            if isinstance(engine, Own):
                return engine.swap()

        def use():
            return swap(current())
        """,
    ),
    Client(
        "a base with a constructor of its own",
        """
        from vllm.config import Config
        from vllm.engine import Engine, Worker, current

        class Mine(Worker):
            def __init__(self, *arguments, **more):
                self.config, self.rank = Config(), 0

            def load(self):
                return None

            def unload(self):
                return None

            def execute(self, batch, **more):
                return batch

        def use():
            return Engine.build(Mine()).step(), current().step(), Engine(Mine(), seed=1)
        """,
    ),
    Client(
        "errors that are suppressed",
        """
        from contextlib import suppress

        def use():
            with suppress(ImportError):
                from vllm.attention import Attention
                return Attention
        """,
        guarded=1,
    ),
    Client(
        "a module that the package puts in place itself",
        """
        import sys
        import types

        shim = types.ModuleType("vllm.attention")
        shim.Attention = object
        sys.modules.setdefault("vllm.attention", shim)

        def use():
            from vllm.attention import Attention
            return Attention
        """,
    ),
    Client(
        "a function that the package puts into a module itself",
        """
        from vllm import helpers

        if not hasattr(helpers, "make_identifier"):
            helpers.make_identifier = lambda: "id"

        def use():
            return helpers.make_identifier()
        """,
    ),
    Client(
        "versions that are compared as strings",
        """
        import vllm
        from vllm.engine import Status

        def use():
            if vllm.__version__ >= "10.0.0":  # "2.0.0" is larger
                return Status.WAITING
            return Status.SWAPPED
        """,
        guarded=1,
    ),
)
