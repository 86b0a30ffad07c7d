"""What a reply says: the last tag counts, case does not, and what stands before it is private."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

_TAG: Final = re.compile(r"\[(\w+)\]")


@dataclass(frozen=True, slots=True)
class Reply:
    """A reply taken apart: ``private``, then the tag's word in lower case, then ``body``."""

    private: str
    kind: str  # "" where there is no tag
    body: str


def take_apart(text: str, kinds: tuple[str, ...]) -> Reply:
    """Split a reply at its last tag.

    Args:
        text: The reply.
        kinds: Words that are tags; other words in brackets are text.
    """
    found = [tag for tag in _TAG.finditer(text) if tag[1].lower() in kinds]
    if not found:
        return Reply(text.strip(), "", "")
    tag = found[-1]
    return Reply(text[: tag.start()].strip(), tag[1].lower(), text[tag.end() :].strip())
