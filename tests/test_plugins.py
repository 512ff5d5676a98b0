"""Packages outside vLLM: what they register, which findings there are and which are not, how files are named, and
what a result depends on.  ``fixtures/plugins`` has the shapes of three packages on PyPI; they are executed too."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path
from textwrap import dedent

import pytest

from analyzer import engine
from analyzer.checkout import CheckoutError, open_checkout
from analyzer.commands.tree import tree_of
from analyzer.engine import EngineError
from analyzer.fix import plan_fixes, write_plan
from analyzer.packages import VLLM, EntryPoint
from analyzer.plugin import open_plugin
from analyzer.records import Report
from rules import all_rules
from tests.cli.running import main
from tests.fixture_runs import run
from tests.fixture_trees import FIXTURES, GENERATIONS, MODELS, Tree, add_case, copy_tree
from tests.plugin_trees import vllm_of
from tests.test_plugins_runtime import wrong

PLUGINS = FIXTURES / "plugins"
FAULTY = next(rule for rule in all_rules() if rule.code == "VC001").bad[0]


def said(report: Report) -> list[tuple[str, str, str]]:
    """Code, file and class of each finding."""
    return [(f.code, f.at.path, f.cls.rpartition(".")[2]) for f in report.findings]


def write(root: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(dedent(text).lstrip("\n"))
    return root


def project(root: Path, registers: str, **modules: str) -> Path:
    """A plugin whose package ``ours`` has a ``register`` function, or whatever else is given."""
    point = '[project]\nname = "ours"\n[project.entry-points."vllm.general_plugins"]\nours = "ours:register"\n'
    files = {f"ours/{name}.py": text for name, text in modules.items()}
    return write(root, {"pyproject.toml": point, "ours/__init__.py": registers, **files})


def audit(root: Path, vllm: Path | None = None) -> Report:
    checkout = open_plugin(root, open_checkout(vllm or vllm_of("0.33")))
    return engine.audit(checkout, all_rules())


# -- the shapes of real packages -------------------------------------------------------------------

SHAPES: dict[str, list[tuple[str, str, str]]] = {
    "by_class": [],
    "by_string": [],
    "by_table": [
        ("VC001", "by_table/models/sight/gamma.py", "GammaForConditionalGeneration"),
        ("VC001", "by_table/models/sound/lute.py", "LuteForConditionalGeneration"),
        ("VC012", "by_table/models/sound/lute_thinker.py", "LuteThinkerForConditionalGeneration"),
        ("VC002", "by_table/models/sound/lute_thinker.py", "LutePlainThinker"),
        ("VC004", "by_table/models/sound/lute_thinker.py", "LutePlainThinker"),
    ],
}
SERVED = {
    "by_class": {"SpeechForConditionalGeneration": "by_class.adapter.SpeechForConditionalGeneration"},
    "by_string": {
        "SparkForCausalLM": "by_string.spark.SparkForCausalLM",
        "Eagle3SparkForCausalLM": "by_string.spark_eagle3.Eagle3SparkForCausalLM",
        "SparkEmbedding": "by_string.spark.SparkEmbedding",
    },
    "by_table": {
        "LuteForConditionalGeneration": "by_table.models.sound.lute.LuteForConditionalGeneration",
        "LuteThinker": "by_table.models.sound.lute_thinker.LuteThinkerForConditionalGeneration",
        "LutePlainThinker": "by_table.models.sound.lute_thinker.LutePlainThinker",
        "GammaForConditionalGeneration": "by_table.models.sight.gamma.GammaForConditionalGeneration",
    },
}


@pytest.fixture(scope="module")
def shapes(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Tree]:
    """Copies of the fixture plugins, with the newest generation."""
    folder, ignored = tmp_path_factory.mktemp("plugins"), shutil.ignore_patterns("__pycache__")
    return {
        name: Tree(shutil.copytree(PLUGINS / name, folder / name, ignore=ignored), "0.33", "", vllm_of("0.33"))
        for name in SHAPES
    }


@pytest.mark.parametrize("name", SHAPES)
def test_the_findings_on_each_shape(shapes: dict[str, Tree], name: str) -> None:
    report = shapes[name].report
    assert said(report) == SHAPES[name]
    assert not report.diagnostics
    assert {a: m.cls for m in report.models for a in m.architectures} == SERVED[name]


def test_what_each_class_is_for(shapes: dict[str, Tree]) -> None:
    roles = {m.name: m.role for name in ("by_class", "by_string") for m in shapes[name].report.models}
    assert roles == {
        "SpeechForConditionalGeneration": "wrapper",
        "SparkForCausalLM": "text",
        "Eagle3SparkForCausalLM": "draft",
        "SparkEmbedding": "pooling",
    }


def test_python_agrees_about_each_shape(shapes: dict[str, Tree]) -> None:
    for ran in run(list(shapes.values())):
        outcomes = [outcome for _, outs in ran.outcomes for outcome in outs]
        assert outcomes and not any(outcome["build"] for outcome in outcomes)
        assert not wrong(ran)


def test_repaired_they_work(shapes: dict[str, Tree], tmp_path: Path) -> None:
    tree = shapes["by_table"]
    root = Path(shutil.copytree(tree.root, tmp_path / "fixed"))
    fixes = [f.fix for f in tree.report.findings if f.fix.safety == "safe"]
    assert len(fixes) == 3
    assert not write_plan(root, plan_fixes(root, fixes)).refused
    fixed = Tree(root, "0.33", "", tree.vllm)
    assert said(fixed.report) == [row for row in SHAPES["by_table"] if row[0] in ("VC004", "VC012")]
    (ran,) = run([fixed])
    assert not wrong(ran)
    checked = [out["checks"]["supports_eagle3"] for _, outs in ran.outcomes for out in outs]
    assert checked and all(checked)


@pytest.mark.parametrize("generation", GENERATIONS)
def test_a_plugin_is_held_against_any_generation(generation: str) -> None:
    report = audit(PLUGINS / "by_class", vllm_of(generation))
    (model,) = report.models
    assert not report.findings
    assert [inner.cls for inner in model.inner] == ["vllm.model_executor.models.beta.BetaForCausalLM"]
    assert model.statuses["SupportsEagle3"].verdict == "unsupported"


def test_places_in_vllm_are_told_from_those_of_the_plugin(shapes: dict[str, Tree]) -> None:
    tree = shapes["by_table"]
    checkout = tree.read.checkout
    for finding in tree.report.findings:
        for link in finding.chain:
            file = checkout.path(link.path)
            assert file.is_file()
            assert link.path.startswith(VLLM) is (checkout.package in file.parents)
            assert checkout.rel(file) == link.path
    links = {link.link: link.path for link in tree.report.findings[0].chain}
    assert links["gate"].startswith("<vllm>/vllm/v1/worker/")
    assert links["inner-check"] == "<vllm>/vllm/model_executor/models/alpha.py"
    assert links["check"] == "by_table/models/sight/gamma.py"


# -- what belongs to whom --------------------------------------------------------------------------


@pytest.fixture(scope="module")
def faulty(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A vLLM tree with a wrapper that forgets the contract."""
    root = copy_tree("0.33", tmp_path_factory.mktemp("faulty") / "tree")
    add_case(FAULTY, root)
    return root


HEIR = """
    from vllm.model_executor.models.kiwi import KiwiForConditionalGeneration


    class OursForConditionalGeneration(KiwiForConditionalGeneration):
        pass


    class AlsoOurs(OursForConditionalGeneration):
        pass
"""
REGISTER_HEIR = """
    def register():
        from vllm import ModelRegistry

        ModelRegistry.register_model("Ours", "ours.models:OursForConditionalGeneration")
        ModelRegistry.register_model("AlsoOurs", "ours.models:AlsoOurs")
        ModelRegistry.register_model("KiwiUnderOurName", "vllm.model_executor.models.kiwi:KiwiForConditionalGeneration")
"""


def test_an_inherited_fault_is_on_the_first_heir_and_vllms_own_is_not_repeated(faulty: Path, tmp_path: Path) -> None:
    assert [f.code for f in engine.audit(open_checkout(faulty), all_rules()).findings] == ["VC001"]
    root = project(tmp_path / "plugin", REGISTER_HEIR, models=HEIR)
    tree = Tree(root, "0.33", "", faulty)
    (finding,) = tree.report.findings
    assert (finding.code, finding.cls) == ("VC001", "ours.models.OursForConditionalGeneration")
    assert finding.architectures == ("AlsoOurs", "Ours")
    assert finding.builds_inner is not None
    assert finding.builds_inner.path == f"{VLLM}{MODELS}/kiwi.py"
    assert {a for m in tree.report.models for a in m.architectures} >= {"Ours", "AlsoOurs", "KiwiUnderOurName"}
    assert not write_plan(root, plan_fixes(root, [finding.fix])).refused
    assert (
        "class OursForConditionalGeneration(KiwiForConditionalGeneration, SupportsEagle3):"
        in (root / "ours/models.py").read_text()
    )
    fixed = Tree(root, "0.33", "", faulty)
    assert not fixed.report.findings
    (ran,) = run([fixed])
    assert not wrong(ran)


OVERRIDE = """
    from vllm.model_executor.models.beta import BetaForCausalLM


    class AlphaForCausalLM(BetaForCausalLM):
        pass
"""
REGISTER_OVERRIDE = """
    from vllm import ModelRegistry


    def register():
        ModelRegistry.register_model("AlphaForCausalLM", "ours.alpha:AlphaForCausalLM")
"""


def test_a_class_of_vllms_that_the_plugin_breaks_is_told(tmp_path: Path) -> None:
    """The plugin takes the place of the text model that a wrapper of vLLM's builds, and lacks what it had."""
    tree = Tree(project(tmp_path, REGISTER_OVERRIDE, alpha=OVERRIDE), "0.33", "", vllm_of("0.33"))
    (finding,) = tree.report.findings
    assert (finding.code, finding.at.path) == ("VC004", f"{VLLM}{MODELS}/gamma.py")
    assert "ours/alpha.py" in {link.path for link in finding.chain}
    assert finding.fix.safety == "none"
    (ran,) = run([tree])
    assert not wrong(ran)
    outcomes = {out["class"]: out for _, outs in ran.outcomes for out in outs}
    gamma = outcomes["vllm.model_executor.models.gamma.GammaForConditionalGeneration"]
    assert gamma["checks"]["supports_eagle3"] and not gamma["handed"]


def test_a_repair_in_vllms_files_is_not_the_plugins(tmp_path: Path) -> None:
    """A dispatch on the class's name stands in vLLM: the finding is on the plugin's class, with no repair."""
    report = audit(PLUGINS / "by_table")
    (finding,) = [f for f in report.findings if f.code == "VC012"]
    assert finding.fix.safety == "none" and not finding.fix.edits
    assert finding.fix.summary.startswith("the repair would be in vLLM itself: add ")
    for one in report.findings:
        assert all(not edit.path.startswith(VLLM) for edit in one.fix.edits)


# -- how models are registered ---------------------------------------------------------------------

MODEL = """
    from vllm.model_executor.models.alpha import AlphaForCausalLM


    class One(AlphaForCausalLM):
        pass


    class Two(AlphaForCausalLM):
        pass
"""
WAYS = {
    "a name": 'ModelRegistry.register_model("One", "ours.models:One")',
    "keywords": 'ModelRegistry.register_model(model_cls="ours.models:One", model_arch="One")',
    "a class": "from ours.models import One\n    ModelRegistry.register_model('One', One)",
    "a class, imported relatively": "from .models import One as Ours\n    ModelRegistry.register_model('One', Ours)",
    "a class of an imported module": (
        "import ours.models\n    from . import models as m\n    ModelRegistry.register_model('One', m.One)"
    ),
    "a class's own name": "from .models import One\n    ModelRegistry.register_model(One.__name__, One)",
    "by getattr": (
        "import importlib\n    m = importlib.import_module('.models', __package__)\n"
        "    ModelRegistry.register_model('One', getattr(m, 'One'))"
    ),
    "an alias of the method": "add = ModelRegistry.register_model\n    add('One', 'ours.models:One')",
    "a list of pairs": "for a, c in [('One', 'One')]:\n        ModelRegistry.register_model(a, 'ours.models:' + c)",
    "a dict": "for a in TABLE:\n        ModelRegistry.register_model(a, TABLE[a])",
    "its items": "for a, c in TABLE.items():\n        ModelRegistry.register_model(a, c)",
    "a format": "ModelRegistry.register_model('One', '{}.models:{}'.format(__name__, 'One'))",
    "a helper with a default": "_add('One')",
    "a constant that branches bind": (
        "try:\n        import nothing\n        target = 'ours.models:One'\n"
        "    except ImportError:\n        target = 'ours.models:One'\n"
        "    ModelRegistry.register_model('One', target)"
    ),
}
HEAD = """\
from vllm.model_executor.models import ModelRegistry

TABLE = {"One": "ours.models:One"}


def _add(architecture, module="ours.models", *, registry=ModelRegistry):
    registry.register_model(architecture, f"{module}:{architecture}")


def register():
    """


@pytest.mark.parametrize("way", WAYS)
def test_ways_to_register(tmp_path: Path, way: str) -> None:
    """Both what the analysis sees and what Python does, by the registry that is there afterwards."""
    root = project(tmp_path, HEAD + WAYS[way] + "\n", models=MODEL)
    report = audit(root)
    assert {a: m.cls for m in report.models for a in m.architectures} == {"One": "ours.models.One"}
    assert not report.diagnostics
    assert registered(root) == {"One": "ours.models.One"}


def registered(root: Path) -> dict[str, str]:
    """What Python's own run of the entry point leaves in the registry."""
    script = (
        "import json, ours; from vllm import ModelRegistry as r; ours.register();"
        "names = {a: r.resolve_model_cls([a])[0] for a in r.models};"
        "print(json.dumps({a: f'{c.__module__}.{c.__qualname__}' for a, c in names.items()}))"
    )
    path = f"{root}:{vllm_of('0.33')}:{FIXTURES / 'stand_in'}"
    done = subprocess.run(
        ["python3", "-B", "-c", script],
        env={"PYTHONPATH": path, "PATH": "/usr/bin:/bin"},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    found: dict[str, str] = json.loads(done.stdout)
    return found


def test_registrations_that_no_entry_point_leads_to(tmp_path: Path) -> None:
    elsewhere = """
        from vllm import ModelRegistry

        ModelRegistry.register_model("One", "ours.models:One")


        class Setup:
            def run(self):
                ModelRegistry.register_model("Two", "ours.models:Two")
    """
    root = project(tmp_path, "def register():\n    pass\n", models=MODEL, elsewhere=elsewhere)
    assert {a for m in audit(root).models for a in m.architectures} == {"One", "Two"}


def test_branches_that_register_different_classes(tmp_path: Path) -> None:
    registers = """
        import vllm
        from vllm import ModelRegistry


        def register():
            if vllm.__version__ < "0.20":
                name = "One"
            else:
                name = "Two"
            ModelRegistry.register_model("Ours", f"ours.models:{name}")
    """
    report = audit(project(tmp_path, registers, models=MODEL))
    assert sorted(m.name for m in report.models if "Ours" in m.architectures) == ["One", "Two"]


def test_what_cannot_be_followed_is_told_with_its_place(tmp_path: Path) -> None:
    registers = """
        import os
        from vllm import ModelRegistry


        def register():
            ModelRegistry.register_model("Ours", os.environ["OURS"])
            ModelRegistry.register_model(os.environ["NAME"], "ours.models:One")
            ModelRegistry.register_model("Lost", "ours.nowhere:One")
            ModelRegistry.register_model("Bare", "ours.models.One")
            ModelRegistry.register_model("Known", "ours.models:One")
    """
    report = audit(project(tmp_path, registers, models=MODEL))
    assert [(d.path, d.line, d.message) for d in report.diagnostics] == [
        ("ours/__init__.py", 6, "what is registered here is not known: Ours is registered as os.environ['OURS']"),
        ("ours/__init__.py", 7, "what is registered here is not known: os.environ['NAME']"),
        (
            "ours/__init__.py",
            8,
            "Lost cannot be resolved: module ours.nowhere is not in the checkout or cannot be read",
        ),
        ("ours/__init__.py", 9, "what is registered here is not known: Bare is registered as 'ours.models.One'"),
    ]
    assert {a for m in report.models for a in m.architectures} == {"Known"}


# -- where a package is ----------------------------------------------------------------------------

POINT = "vllm.general_plugins"
METADATA = {
    "pyproject": {
        "pyproject.toml": f'[project]\nname = "p"\nversion = "2"\n[project.entry-points."{POINT}"]\nx = "p.a:go"\n'
    },
    "poetry": {
        "pyproject.toml": f'[tool.poetry]\nname = "p"\nversion = "2"\n[tool.poetry.plugins."{POINT}"]\nx = "p.a:go"\n'
    },
    "setup.cfg": {
        "setup.cfg": f"[metadata]\nname = p\nversion = 2\n[options.entry_points]\n{POINT} =\n    x = p.a:go\n"
    },
    "setup.py": {
        "setup.py": "from setuptools import setup\n"
        f'setup(name="p", version="2", entry_points={{"{POINT}": ["x=p.a:go"]}})\n'
    },
    "setup.py, as text": {
        "setup.py": f'import setuptools\nP = """\n[{POINT}]\nx = p.a:go\n"""\n'
        'setuptools.setup(name="p", version="2", entry_points=P)\n'
    },
    "a wheel": {
        "p-2.dist-info/METADATA": "Name: p\nVersion: 2\n",
        "p-2.dist-info/entry_points.txt": f"[{POINT}]\nx = p.a:go\n",
    },
    "an egg-info": {
        "p.egg-info/PKG-INFO": "Name: p\nVersion: 2\n",
        "p.egg-info/entry_points.txt": f"[{POINT}]\nx=p.a:go\n",
    },
}


@pytest.mark.parametrize("how", METADATA)
def test_where_entry_points_stand(tmp_path: Path, how: str) -> None:
    root = write(tmp_path, {**METADATA[how], "p/__init__.py": "", "p/a.py": "", "tests/__init__.py": ""})
    checkout = open_plugin(root, open_checkout(vllm_of("0.33")))
    plugin = checkout.plugin
    assert plugin is not None
    assert (plugin.name, plugin.version) == ("p", "2")
    assert [package.name for package in plugin.packages] == ["p"]
    assert [(p.name, p.module, p.function) for p in plugin.entry_points] == [("x", "p.a", "go")]
    inside = open_plugin(root / "p", open_checkout(vllm_of("0.33")))
    assert inside.root == root
    assert inside.plugin == plugin


@pytest.mark.parametrize(
    "layout",
    [
        {"src/p/__init__.py": ""},
        {"pyproject.toml": '[tool.setuptools.packages.find]\nwhere = ["lib"]\n', "lib/p/__init__.py": ""},
        {"pyproject.toml": '[tool.setuptools.package-dir]\n"" = "lib"\n', "lib/p/__init__.py": ""},
        {"pyproject.toml": '[tool.hatch.build.targets.wheel]\npackages = ["lib/p"]\n', "lib/p/__init__.py": ""},
        {"setup.py": 'from setuptools import setup\nsetup(package_dir={"": "lib"})\n', "lib/p/__init__.py": ""},
        {"setup.cfg": "[options]\npackage_dir =\n    =lib\n", "lib/p/__init__.py": ""},
    ],
)
def test_where_packages_stand(tmp_path: Path, layout: dict[str, str]) -> None:
    root = write(tmp_path, layout)
    checkout = open_plugin(root, open_checkout(vllm_of("0.33")))
    file = next(name for name in layout if name.endswith("p/__init__.py"))
    path = checkout.find_module("p")
    assert path is not None and checkout.rel(path) == file
    assert checkout.module_name(path) == "p"


def test_a_plugin_that_is_one_module(tmp_path: Path) -> None:
    source = """
        from vllm import ModelRegistry
        from vllm.model_executor.models.beta import BetaForCausalLM
        from vllm.model_executor.models.gamma import GammaForConditionalGeneration


        class Ours(GammaForConditionalGeneration):
            def __init__(self, *, vllm_config, prefix=""):
                super().__init__(vllm_config=vllm_config)
                self.language_model = BetaForCausalLM(vllm_config=vllm_config)


        def register():
            ModelRegistry.register_model("Ours", Ours)
    """
    point = f'[project]\nname = "single"\n[project.entry-points."{POINT}"]\nx = "single:register"\n'
    report = audit(write(tmp_path, {"pyproject.toml": point, "single.py": source}))
    assert [m.cls for m in report.models] == ["single.Ours"]
    assert ("VC004", "single.py", "Ours") in said(report)


def test_site_packages_with_one_plugin(tmp_path: Path) -> None:
    site = write(
        tmp_path / "site-packages",
        {
            "p-2.dist-info/METADATA": "Name: p\nVersion: 2\n",
            "p-2.dist-info/entry_points.txt": f"[{POINT}]\nx = p:go\n",
            "p/__init__.py": "",
            "click/__init__.py": "",
            "click-8.dist-info/METADATA": "Name: click\nVersion: 8\n",
        },
    )
    plugin = open_plugin(site, open_checkout(vllm_of("0.33"))).plugin
    assert plugin is not None and [package.name for package in plugin.packages] == ["p"]
    write(site, {"q-1.dist-info/entry_points.txt": f"[{POINT}]\nx = q:go\n", "q-1.dist-info/METADATA": "Name: q\n"})
    with pytest.raises(CheckoutError, match=r"several plugins \(p, q\); name"):
        open_plugin(site, open_checkout(vllm_of("0.33")))
    assert open_plugin(site / "p", open_checkout(vllm_of("0.33"))).plugin == plugin


def test_beside_vllm_in_site_packages(tmp_path: Path) -> None:
    """Installed next to vLLM, its files and vLLM's are told apart all the same."""
    site = copy_tree("0.33", tmp_path / "site-packages")
    shutil.copytree(PLUGINS / "by_table/by_table", site / "by_table")
    with pytest.raises(CheckoutError, match="a vLLM tree itself, and no plugin; name the plugin's own folder in it"):
        open_plugin(site, open_checkout(site))
    report = audit(site / "by_table", site)
    assert said(report) == SHAPES["by_table"]
    assert {link.path for f in report.findings for link in f.chain if link.link == "gate"} <= {
        link.path for f in audit(PLUGINS / "by_table").findings for link in f.chain
    }


# -- bad input -------------------------------------------------------------------------------------


def refused(capsys: pytest.CaptureFixture[str], *arguments: object) -> str:
    """The one line that ends a run."""
    status, out, errors = main(capsys, *arguments)
    assert (status, out) == (2, "")
    assert errors.startswith("error: ") and errors.count("\n") == 1
    return errors


@pytest.mark.parametrize("command", ["audit", "matrix", "fix"])
def test_no_such_plugin(capsys: pytest.CaptureFixture[str], tmp_path: Path, command: str) -> None:
    vllm = vllm_of("0.33")
    assert "no such folder; name the plugin's project" in refused(capsys, command, tmp_path / "no", "--vllm", vllm)
    (tmp_path / "empty").mkdir()
    assert "no Python package here or in src" in refused(capsys, command, tmp_path / "empty", "--vllm", vllm)
    (tmp_path / "file").touch()
    assert "a file; name" in refused(capsys, command, tmp_path / "file", "--vllm", vllm)


def test_a_vllm_tree_is_no_plugin(capsys: pytest.CaptureFixture[str]) -> None:
    vllm = vllm_of("0.33")
    for path in (vllm, vllm / "vllm"):
        said = refused(capsys, "audit", path, "--vllm", vllm_of("0.20"))
        assert "a vLLM tree itself, and no plugin; audit it without --vllm" in said


def test_a_plugin_that_registers_nothing(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    root = write(tmp_path, {"nothing/__init__.py": "def register():\n    pass\n"})
    said = refused(capsys, "audit", root, "--no-cache", "--vllm", vllm_of("0.33"))
    assert "nothing registers no model with vLLM (looked for register_model in 1 files)" in said
    with pytest.raises(EngineError):
        audit(root)


@pytest.mark.parametrize(
    ("word", "why"),
    [
        ("no/such", "--vllm: no/such: no such folder, no release number such as 0.33.0, and not installed"),
        (str(PLUGINS), "--vllm: {}: no vLLM here"),
    ],
)
def test_no_such_vllm(capsys: pytest.CaptureFixture[str], word: str, why: str) -> None:
    assert why.format(word) in refused(capsys, "audit", PLUGINS / "by_class", "--vllm", word)


def test_options_that_do_not_go_together(capsys: pytest.CaptureFixture[str]) -> None:
    said = refused(capsys, "audit", "--release", "0.33.0", "--vllm", "0.33.0")
    assert "give one of --vllm and --release" in said


def test_files_of_a_plugin_that_cannot_be_read(tmp_path: Path) -> None:
    root = Path(shutil.copytree(PLUGINS / "by_table", tmp_path / "plugin"))
    (root / "by_table/models/sound/lute.py").write_bytes(b"def broken(:\n")
    (root / "by_table/models/odd.py").write_bytes(b"\xff\xfe# register_model\n")
    (root / "pyproject.toml").write_text("[project\n")
    report = audit(root)
    lost = {d.path: d.message for d in report.diagnostics}
    assert set(lost) == {
        "pyproject.toml",
        "by_table/engine.py",
        "by_table/models/odd.py",
        "by_table/models/sound/lute.py",
    }
    assert "LuteForConditionalGeneration cannot be resolved" in lost["by_table/engine.py"]
    assert [row for row in said(report) if row[2] != "LuteForConditionalGeneration"] == SHAPES["by_table"][:1] + SHAPES[
        "by_table"
    ][2:]


# -- commands --------------------------------------------------------------------------------------


def test_a_result_depends_on_both_trees_and_on_the_metadata(tmp_path: Path) -> None:
    """A change of vLLM, of the plugin, or of its entry points is seen by a run that finds older results."""
    vllm = copy_tree("0.33", tmp_path / "vllm")
    root = Path(shutil.copytree(PLUGINS / "by_table", tmp_path / "plugin"))

    def now() -> list[tuple[str, str, str]]:
        checkout = open_plugin(root, open_checkout(vllm))
        return said(tree_of(checkout, cache_dir=tmp_path / "cache").report())

    assert now() == now() == SHAPES["by_table"]
    alpha = vllm / MODELS / "alpha.py"
    whole = alpha.read_text()
    alpha.write_text(whole.replace("SupportsPP, SupportsEagle3):", "SupportsPP):"))
    changed = now()
    assert changed != SHAPES["by_table"]
    alpha.write_text(whole)
    assert now() == SHAPES["by_table"]
    gamma = root / "by_table/models/sight/gamma.py"
    gamma.write_text(
        gamma.read_text()
        .replace("nn.Module, SupportsMultiModal)", "nn.Module, SupportsMultiModal, SupportsEagle3)")
        .replace("import SupportsMultiModal", "import SupportsEagle3, SupportsMultiModal")
    )
    assert now() == SHAPES["by_table"][1:]
    shutil.move(root / "by_table-0.30.0.dist-info", tmp_path / "away")
    assert now() == SHAPES["by_table"][1:]  # found elsewhere in the package
    assert (
        open_plugin(root, open_checkout(vllm)).plugin != open_plugin(PLUGINS / "by_table", open_checkout(vllm)).plugin
    )


def test_the_settings_name_the_vllm(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = Path(shutil.copytree(PLUGINS / "by_table", tmp_path / "plugin"))
    (tmp_path / "vllm").symlink_to(vllm_of("0.33"))
    (root / "vllm-contracts.toml").write_text('vllm = "../vllm"\nselect = ["VC001"]\n')
    status, out, errors = main(capsys, "audit", root, "--format", "concise", "--no-cache")
    assert (status, errors) == (1, "")
    assert [line.split(":")[0] for line in out.splitlines()] == [
        path for code, path, _ in SHAPES["by_table"] if code == "VC001"
    ]
    monkeypatch.chdir(root)
    assert main(capsys, "audit", "--format", "concise", "--no-cache") == (1, out, "")
    assert main(capsys, "audit", "--vllm", tmp_path / "vllm", "--format", "concise", "--no-cache") == (1, out, "")
    (root / "vllm-contracts.toml").write_text('vllm = "nowhere"\n')
    assert f"{root / 'vllm-contracts.toml'}:1: {root / 'nowhere'}: no such folder" in refused(capsys, "audit", root)


def test_trace_matrix_and_explain(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    where = (PLUGINS / "by_table", "--vllm", vllm_of("0.33"), "--no-cache")
    status, out, _ = main(capsys, "trace", "LuteForConditionalGeneration", *where)
    assert status == 1
    assert "fails at link 3" in out and "by_table/models/sound/lute.py:8" in out
    status, _, errors = main(capsys, "trace", "BetaForCausalLM", *where)
    assert status == 2
    assert "by-table, whose own models are looked at, has no architecture or class BetaForCausalLM" in errors
    status, out, _ = main(capsys, "matrix", *where, "--format", "csv")
    assert status == 0
    assert {line.split(",")[0] for line in out.splitlines()[1:]} == set(SERVED["by_table"])
    config = tmp_path / "config.json"
    config.write_text('{"architectures": ["LuteForConditionalGeneration"], "model_type": "lute"}')
    status, out, _ = main(capsys, "trace", config, *where, "--format", "json")
    assert status == 1
    assert json.loads(out)["answer"] == "fails"
    status, out, _ = main(capsys, "explain", "--contract", "SupportsEagle3", *where)
    assert status == 0
    assert "<vllm>/vllm/model_executor/models/interfaces.py" in out


def test_diff_of_two_vllms_and_of_two_states(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    old, new = vllm_of("0.33"), copy_tree("0.33", tmp_path / "new")
    gamma = new / MODELS / "gamma.py"
    gamma.write_text(gamma.read_text().replace("SupportsPP, SupportsEagle3):", "SupportsPP):"))
    where = ("--no-cache", "--format", "json", "--contract", "SupportsEagle3")
    status, out, _ = main(capsys, "diff", old, new, "--plugin", PLUGINS / "by_table", *where)
    assert status == 0
    changes = json.loads(out)
    assert changes["worse"] is True
    assert {a for change in changes["support"] for a in change["architectures"]} == {
        "LuteForConditionalGeneration",
        "LuteThinker",
        "LutePlainThinker",
    }
    fixed = Path(shutil.copytree(PLUGINS / "by_table", tmp_path / "fixed"))
    status, out, errors = main(capsys, "fix", fixed, "--vllm", old, "--no-cache")
    assert status == 0, errors
    status, out, _ = main(capsys, "diff", PLUGINS / "by_table", fixed, "--vllm", old, *where)
    assert json.loads(out)["worse"] is False
    assert [one["new"] for one in json.loads(out)["findings"]] == [None, None]


def test_fix_writes_the_plugins_files_alone(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    vllm = copy_tree("0.33", tmp_path / "vllm")
    root = Path(shutil.copytree(PLUGINS / "by_table", tmp_path / "plugin"))
    before = {path: path.read_bytes() for path in vllm.rglob("*.py")}
    status, out, errors = main(capsys, "fix", "--unsafe-fixes", root, "--vllm", vllm, "--no-cache")
    assert (status, errors) == (0, "")
    assert "fixed 3:" in out
    assert {path: path.read_bytes() for path in vllm.rglob("*.py")} == before
    imports = (root / "by_table/models/sound/lute.py").read_text()
    assert "from vllm.model_executor.models.interfaces import SupportsEagle3, SupportsMultiModal\n" in imports


def test_what_an_editor_has_not_saved(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = Path(shutil.copytree(PLUGINS / "by_string", tmp_path / "plugin"))
    vllm = vllm_of("0.33")
    file = root / "src/by_string/spark.py"
    text = (
        file.read_text()
        .replace(
            "class SparkForCausalLM(nn.Module, SupportsPP):",
            "class SparkForCausalLM(nn.Module, SupportsPP, SupportsEagle3):",
        )
        .replace("import SupportsPP", "import SupportsEagle3, SupportsPP")
    )
    import io

    class Typed(io.TextIOWrapper):
        pass

    monkeypatch.setattr("sys.stdin", Typed(io.BytesIO(text.encode())))
    status, out, errors = main(capsys, "audit", root, "--vllm", vllm, "--stdin-filename", file, "--format", "concise")
    assert (status, errors) == (1, "")
    assert out.startswith("src/by_string/spark.py:")
    monkeypatch.setattr("sys.stdin", Typed(io.BytesIO(b"")))
    gamma = vllm / MODELS / "gamma.py"
    assert "is vLLM's, and not the plugin's" in refused(
        capsys, "audit", root, "--vllm", vllm, "--stdin-filename", gamma, "--format", "concise"
    )


def test_reports_of_a_plugin(capsys: pytest.CaptureFixture[str]) -> None:
    where = (PLUGINS / "by_table", "--vllm", vllm_of("0.33"), "--no-cache", "--format")
    _, out, _ = main(capsys, "audit", *where, "text")
    assert out.startswith("by-table 0.30.0 with vLLM 0.33.0 in ")
    _, out, _ = main(capsys, "audit", *where, "json")
    found = json.loads(out)["checkout"]
    assert found["plugin"] == {"name": "by-table", "version": "0.30.0", "vllm_root": str(vllm_of("0.33"))}
    assert found["root"] == str(PLUGINS / "by_table")
    _, out, _ = main(capsys, "audit", *where, "sarif")
    (run_,) = json.loads(out)["runs"]
    assert set(run_["originalUriBaseIds"]) == {"%SRCROOT%", "VLLM"}
    places = [
        step["location"]["physicalLocation"]["artifactLocation"]
        for result in run_["results"]
        for step in result["codeFlows"][0]["threadFlows"][0]["locations"]
    ]
    assert {place["uriBaseId"] for place in places} == {"%SRCROOT%", "VLLM"}
    for place in places:
        root = vllm_of("0.33") if place["uriBaseId"] == "VLLM" else PLUGINS / "by_table"
        assert (root / place["uri"]).is_file()


def test_an_entry_point_that_leads_nowhere_is_told(tmp_path: Path) -> None:
    root = project(tmp_path, REGISTER_OVERRIDE, alpha=OVERRIDE)
    with (root / "pyproject.toml").open("a") as file:
        file.write('more = "theirs.plugin:register"\n')
    checkout = open_plugin(root, open_checkout(vllm_of("0.33")))
    assert checkout.plugin is not None
    assert checkout.plugin.entry_points[1] == EntryPoint("more", "theirs.plugin", "register", "pyproject.toml")
    assert [(d.path, d.message) for d in audit(root).diagnostics] == [
        ("pyproject.toml", "entry point more: this folder has no module theirs.plugin")
    ]


# -- executed as verify does -----------------------------------------------------------------------


@pytest.fixture
def stand_in_torch(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", str(FIXTURES / "stand_in"))


@pytest.mark.usefixtures("stand_in_torch")
@pytest.mark.parametrize("fixed", [False, True])
def test_verify_confirms_the_verdicts(capsys: pytest.CaptureFixture[str], fixed: bool) -> None:
    where = (PLUGINS / "by_table", "--vllm", vllm_of("0.33"), "--python", sys.executable, "--format", "json")
    status, out, errors = main(capsys, "verify", *where, *(["--after-fix"] if fixed else []))
    assert (status, errors) == (0, "")
    result = json.loads(out)
    assert result["tree"]["plugin"]["name"] == "by-table"
    assert result["environment"]["failed_entry_points"] == {}
    assert {m["outcome"] for m in result["models"]} == {"confirmed"}
    assert result["served"] == SERVED["by_table"]
    assert result["uncovered"] == []
    outcomes = {(f["code"], f["outcome"]) for f in result["repairs"]}
    assert outcomes == ({("VC001", "confirmed"), ("VC002", "not testable")} if fixed else set())


@pytest.mark.usefixtures("stand_in_torch")
def test_verify_tells_of_an_entry_point_that_fails(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    registers = """
        from vllm import ModelRegistry


        def register():
            raise RuntimeError("this vLLM is not supported")
            ModelRegistry.register_model("One", "ours.models:One")
    """
    root = project(tmp_path, registers, models=MODEL)
    where = (root, "--vllm", vllm_of("0.33"), "--python", sys.executable)
    _, out, _ = main(capsys, "verify", *where)
    assert "the entry point ours:register failed, so that it registered nothing: RuntimeError: this" in out
    assert "architectures that cannot be imported there: One" in out
