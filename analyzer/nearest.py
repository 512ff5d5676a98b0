"""What somebody may have meant by a word that nothing is called."""

from __future__ import annotations

import difflib
from collections.abc import Iterable


def did_you_mean(word: str, known: Iterable[str], otherwise: str) -> str:
    """The end of a message about an unknown word: what is nearest, else another way to find it.

    Args:
        word: what was typed.
        known: what there is.
        otherwise: for a word that resembles none of it.
    """
    spelled = {name.lower(): name for name in known}
    near = difflib.get_close_matches(word.lower(), list(spelled), n=2, cutoff=0.6)
    return f"; did you mean {' or '.join(spelled[name] for name in near)}?" if near else f"; {otherwise}"
