"""Positions as links: an address with ``{path}`` and ``{line}`` in it."""

from __future__ import annotations

import re
from urllib.parse import quote

_FIELD = re.compile(r"\{[^{}]*\}")
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:")
_RUN_CODE = ("javascript:", "data:", "vbscript:")


class LinkTemplate:
    """The address of a line in a file.

    Args:
        template: with ``{path}`` and, if the place knows lines, ``{line}``.

    Raises:
        ValueError: it has no ``{path}``, has another field, or would run code when it is followed.
    """

    def __init__(self, template: str) -> None:
        fields = _FIELD.findall(template)
        if "{path}" not in fields:
            raise ValueError("it has no {path}, the place of the file's name")
        for field in fields:
            if field not in ("{path}", "{line}"):
                raise ValueError(f"{field} is not known; there are {{path}} and {{line}}")
        if not template.isprintable() or " " in template or any(mark in template for mark in "<>\"'()"):
            raise ValueError("it has characters that no address has; write them percent-encoded")
        scheme = _SCHEME.match(template)
        if scheme and scheme[0].lower() in _RUN_CODE:
            raise ValueError(f"{scheme[0]} is no address of a file")
        self.template = template

    def file(self, path: str) -> str:
        """The address with its ``{line}`` left open.

        Args:
            path: relative to the checkout; whatever has a meaning in an address is percent-encoded.
        """
        return self.template.replace("{path}", quote(path.encode("utf-8", "surrogateescape"), safe="/"))

    def line(self, path: str, line: int) -> str:
        """The address of a line."""
        return self.file(path).replace("{line}", str(line))
