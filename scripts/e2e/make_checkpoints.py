"""Write a wrapper's checkpoint and its drafters, in the environment that has torch.

PYTHONPATH=repository python -m scripts.e2e.make_checkpoints WRAPPER FOLDER
"""

from __future__ import annotations

import sys
from pathlib import Path

from scripts.e2e.checkpoints import (
    DRAFTERS,
    decoder_shapes,
    drafter_config,
    drafter_weights,
    random_weight,
    target_weights,
    write,
)
from scripts.e2e.wrappers import WRAPPERS


def main(name: str, folder: Path) -> None:
    """Write ``target``, ``target-named`` (whose config names the placeholder as every release finds it) and drafters.

    Args:
        name: of the wrapper.
        folder: to create.
    """
    wrapper = WRAPPERS[name]
    weights = target_weights(decoder_shapes(wrapper.layer), wrapper.decoder_prefix, wrapper.head)
    weights |= {name: random_weight(name, shape) for name, shape in wrapper.more.items()}
    write(folder / "target", wrapper.config, weights, wrapper.preprocessor)
    if wrapper.placeholder:
        write(folder / "target-named", {**wrapper.config, **wrapper.placeholder}, weights, wrapper.preprocessor)
    for kind in DRAFTERS:
        write(folder / kind, drafter_config(), drafter_weights(kind, weights, wrapper.embeddings))


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]))
