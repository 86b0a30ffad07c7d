"""The form of replies and refusals in text games.

The last tag of a reply counts, in any case; the text before it is private.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

ERROR: Final = "Error: "
_TAG: Final = re.compile(r"\[(\w+)\]")


@dataclass(frozen=True, slots=True)
class ParsedReply:
    """A parsed reply: ``private``, then the tag's word in lower case, then ``body``."""

    private: str
    kind: str  # "" without a tag
    body: str

    @property
    def public(self) -> str:
        """The tag and what follows on it; "" without a tag."""
        return f"[{self.kind}] {self.body}".strip() if self.kind else ""


def parse_reply(text: str, kinds: Sequence[str]) -> ParsedReply:
    """Split a reply at its last tag.

    Args:
        text: The reply.
        kinds: Valid tags; other words in brackets are text.
    """
    found = [tag for tag in _TAG.finditer(text) if tag[1].lower() in kinds]
    if not found:
        return ParsedReply(text.strip(), "", "")
    tag = found[-1]
    return ParsedReply(text[: tag.start()].strip(), tag[1].lower(), text[tag.end() :].strip())


def is_refusal(observation: str) -> bool:
    """Return True if an observation says why the last reply was refused."""
    return observation.startswith(ERROR)
