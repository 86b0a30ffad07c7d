"""Parse replies, and the message to a mover whose reply is refused.

The last tag counts, in any case; the text before it is private.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

ERROR: Final = "Error: "
_TAG: Final = re.compile(r"\[(\w+)\]")


@dataclass(frozen=True, slots=True)
class Reply:
    """A parsed reply: ``private``, then the tag's word in lower case, then ``body``."""

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


def refused(error: str) -> str:
    """The message to the mover of a refused reply."""
    return ERROR + error


def is_refusal(observation: str) -> bool:
    """Whether an observation is the message of ``refused``."""
    return observation.startswith(ERROR)
