"""The README of the package index, where relative links lead nowhere."""

from __future__ import annotations

import re
from typing import Final

_TARGET: Final = re.compile(r"(?P<before>\]\(|src=\"|href=\")(?!\w+:|#)(?P<target>[^)\s\"]+)")
_PICTURES: Final = (".gif", ".png", ".svg")


def for_index(text: str, repository: str, tag: str) -> str:
    """The text with absolute links to the files of a tag, and its address in the command that clones."""

    def absolute(link: re.Match[str]) -> str:
        kind = "raw" if link["target"].endswith(_PICTURES) else "blob"
        return f"{link['before']}{repository}/{kind}/{tag}/{link['target']}"

    return _TARGET.sub(absolute, text).replace("git clone URL ", f"git clone {repository} ")
