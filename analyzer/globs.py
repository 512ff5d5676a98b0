"""Globs of paths, as ``.gitignore`` and most tools read them."""

from __future__ import annotations

from fnmatch import fnmatchcase


def matches(glob: str, path: str) -> bool:
    """Whether a glob names a file, or a folder that it is in.

    ``*`` and ``?`` stay inside one folder, ``**`` stands for any number of folders, ``[ab]`` and ``[!ab]`` for one
    character.  A glob without a slash, but for one at its end, names files and folders wherever they are; any other
    begins at the root.

    Args:
        glob: with forward slashes.
        path: relative to the root, with forward slashes.
    """
    parts = [part for part in glob.split("/") if part not in ("", ".")]
    only_folders = glob.endswith("/") or parts[-1:] == ["**"]
    if parts[-1:] == ["**"]:
        parts.pop()
    if "/" not in glob.rstrip("/"):
        parts = ["**", *parts]
    return bool(glob.strip("/")) and _match(parts, path.split("/"), int(only_folders))


def _match(parts: list[str], names: list[str], below: int) -> bool:
    """Whether names begin as the parts of a glob say, with ``below`` names at least behind that."""
    if not parts:
        return len(names) >= below
    if parts[0] == "**":
        return any(_match(parts[1:], names[start:], below) for start in range(len(names) + 1))
    return bool(names) and fnmatchcase(names[0], parts[0]) and _match(parts[1:], names[1:], below)
