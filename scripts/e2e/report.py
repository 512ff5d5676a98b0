"""The results as a table, and what of them disagrees with the findings."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from scripts.e2e.expectations import LAYERS, Expectation
from scripts.e2e.runs import Outcome
from scripts.e2e.wrappers import WRAPPERS, Wrapper

GOOD_SHARE = 0.2
INTRODUCTION = """# Whole engines, before and after the fix

Written by `make e2e`. Each row is one multimodal wrapper in one release of vLLM, started on a CPU with a tiny
checkpoint of random weights under its published names (eight layers, float32, eager mode, `language_model_only`) and
one-layer EAGLE-3 drafters. *Refused with* is what the engine of the release as it is says; it has to be what our
finding quotes. *After the fix*: the engine on a copy that `fix` repaired, where the auxiliary layers
came to lie, and whether the greedy tokens are those of a run without speculation; they are compared where the release
as it is gives the same tokens for prompts that come together and one by one. *Accepted drafts*, of three
drafters: one of random weights; one that reads nothing but the auxiliary states, and predicts well if they arrive; and
the same one with that input cut, which is what it would be if they did not.

| release | class | fix | refused with | after the fix | layers | same tokens | random | sighted | blind | as found |
| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |
"""


@dataclass(frozen=True)
class Trial:
    """All runs of one wrapper in one release."""

    release: str
    wrapper: Wrapper
    expected: Expectation
    alone: Outcome
    single: Outcome  # as alone, the prompts one by one
    refused: Outcome  # as released, with a config in which the proposer finds its image token
    nameless: Outcome | None  # as released, with one in which it does not
    random: Outcome
    sighted: Outcome
    blind: Outcome

    @property
    def steady(self) -> bool:
        """Whether the engine as released gives the same tokens however the prompts are batched."""
        return self.single.tokens == self.alone.tokens

    @property
    def repaired(self) -> dict[str, Outcome]:
        """The runs on the repaired copy, by drafter."""
        return {"random": self.random, "sighted": self.sighted, "blind": self.blind}

    def record(self) -> dict[str, Any]:
        """The whole trial as plain data."""
        runs = {
            "alone": self.alone,
            "single": self.single,
            "nameless": self.nameless,
            "refused": self.refused,
            **self.repaired,
        }
        return {
            "release": self.release,
            "class": self.wrapper.cls,
            "expected": asdict(self.expected),
            "runs": {name: asdict(outcome) for name, outcome in runs.items() if outcome},
            "disagreements": list(self.disagreements()),
        }

    @classmethod
    def from_record(cls, record: dict[str, Any]) -> Trial:
        """A trial as :meth:`record` has written it.

        Args:
            record: plain data.
        """
        runs = {name: Outcome(**outcome) for name, outcome in record["runs"].items()}
        wrapper = next(w for w in WRAPPERS.values() if w.cls == record["class"])
        nameless = runs.pop("nameless", None)
        return cls(record["release"], wrapper, Expectation(**record["expected"]), nameless=nameless, **runs)

    def disagreements(self) -> list[str]:
        """Where the engine did something else than the findings say."""
        return [*self._before(), *self._between(), *self._after()]

    def _before(self) -> Iterator[str]:
        if self.alone.failure:
            yield f"without speculation: {self.alone.failure}"
        if self.single.failure:
            yield f"without speculation, one by one: {self.single.failure}"
        if not self.expected.refusal or self.refused.failure != self.expected.refusal:
            yield f"refused with {self.refused.failure or 'nothing'}, quoted is {self.expected.refusal or 'nothing'}"

    def _between(self) -> Iterator[str]:
        if self.nameless is None:
            return
        seen, attribute = self.nameless, f"no attribute '{self.expected.missing}'"
        if seen.error != "AttributeError" or attribute not in seen.message:
            yield f"the proposer: {seen.failure or 'no error'}, expected is AttributeError: {attribute}"
        elif not seen.raised_at.startswith(self.expected.missing_at):
            yield f"the proposer: raised at {seen.raised_at}, expected is {self.expected.missing_at}"

    def _after(self) -> Iterator[str]:
        for drafter, seen in self.repaired.items():
            if seen.failure:
                yield f"{drafter}: {seen.failure}"
                continue
            if self.steady and seen.tokens != self.alone.tokens:
                yield f"{drafter}: other tokens than without speculation"
            for place, layers in seen.layers.items():
                path, _, cls = place.rstrip(")").partition(" (")
                if path != self.expected.decoder or self.expected.decoder_class not in ("", cls) or layers != LAYERS:
                    yield f"{drafter}: {layers} in {place}"
            if len(seen.layers) != 1:
                yield f"{drafter}: auxiliary layers in {len(seen.layers)} modules"
        if self.sighted.accepted < GOOD_SHARE * self.sighted.drafts or not self.sighted.drafts:
            yield f"sighted: only {share(self.sighted)} accepted"
        if self.blind.accepted > 0.01 * self.blind.drafts:
            yield f"blind: {share(self.blind)} accepted"


def share(outcome: Outcome) -> str:
    """How many drafts were accepted.

    Args:
        outcome: of a run.
    """
    return f"{outcome.accepted} of {outcome.drafts}" if not outcome.failure else "–"


def render(trials: Sequence[Trial]) -> str:
    """The results as Markdown.

    Args:
        trials: in the order of the table.
    """
    return INTRODUCTION + "".join(map(_row, trials)) + _notes(trials)


def _row(trial: Trial) -> str:
    seen = trial.random
    cells = [
        trial.release,
        f"`{trial.wrapper.cls}`",
        trial.expected.safety,
        f"`{trial.refused.failure or 'not refused'}`",
        f"`{seen.failure}`" if seen.failure else "generates",
        "; ".join(f"{layers} in `{place}`" for place, layers in seen.layers.items()) or "–",
        _same_tokens(trial),
        *map(share, trial.repaired.values()),
        "yes" if not trial.disagreements() else "**no**",
    ]
    return "| " + " | ".join(cells) + " |\n"


def _same_tokens(trial: Trial) -> str:
    if not trial.steady:
        return "not compared"
    return "yes" if all(o.tokens == trial.alone.tokens and o.tokens for o in trial.repaired.values()) else "no"


def _notes(trials: Sequence[Trial]) -> str:
    lines = []
    for trial in trials:
        if trial.nameless is not None:
            attribute = trial.expected.missing
            remedy = (
                "`fix` added the class to the proposer's list" if trial.expected.named_by_fix else "it stayed there"
            )
            lines.append(
                f"- {trial.release}, `{trial.wrapper.cls}`: VC012 says that the proposer will ask for "
                f"`config.{attribute}`. It does so before the runner asks for the interface: "
                f"`{trial.nameless.failure or 'no error'}`. To be refused as above, the checkpoint's config was given "
                f"that entry; after the fix, {remedy}.\n"
            )
        if not trial.steady:
            lines.append(
                f"- {trial.release}, `{trial.wrapper.cls}`: as released and without speculation, the engine on this "
                "CPU gives other greedy tokens for the same prompts when they come one by one than when they come "
                "together. So there is nothing to compare the tokens of the repaired one with.\n"
            )
        lines += [
            f"- {trial.release}, `{trial.wrapper.cls}`, not as found: {what}.\n" for what in trial.disagreements()
        ]
    return "\n" + "".join(lines) if lines else ""
