"""Games of PGN files, by their headers; moves are not read."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from selfplay.league.external_games import Result
from selfplay.league.result_fields import FORMS, UNFINISHED

NEEDED: Final = ("White", "Black", "Result")
UNKNOWN: Final = "?"  # as PGN writes it
_TAG: Final = re.compile(r'\[\s*(\w+)\s+"((?:[^"\\]|\\.)*)"\s*\]')
_NEEDED_TAG: Final = re.compile(rf"\[\s*({'|'.join(NEEDED)})\b")
_ESCAPED: Final = re.compile(r"\\(.)")


def is_pgn(line: str) -> bool:
    """Whether the first line of a file is one of PGN."""
    return line.startswith("%") or _TAG.match(line) is not None


def pgn_results(lines: Iterator[str]) -> Iterator[Result | str]:
    """The games, or reasons why they are not rated; ValueError for a header that is not valid.

    A game begins with its headers: after moves, or where a header comes again.
    """
    tags: dict[str, str] = {}
    moves, comment = False, False
    for line in lines:
        found = [] if comment or not line.startswith("[") else _TAG.findall(line)
        if found:
            repeated = any(name in tags for name, _ in found)
            if tags and (moves or repeated):
                yield _game(tags)
                tags = {}
            moves = False
            tags |= {name: _ESCAPED.sub(r"\1", value).strip() for name, value in found if name in NEEDED}
            _check(tags)
        elif not comment and _NEEDED_TAG.match(line):
            raise ValueError(f'{line.strip()[:80]!r}; valid: [Name "value"]')
        elif not line.startswith("%"):
            moves = moves or bool(line.strip())
            comment = _in_comment(line, comment)
    if comment:
        raise ValueError("a comment that begins with { has no end")
    if tags:
        yield _game(tags)


def _check(tags: dict[str, str]) -> None:
    """Check the result while the line is known."""
    if tags.get("Result", "*") not in FORMS:
        raise ValueError(f"Result {tags['Result']!r}; valid: {', '.join(FORMS)}")


def _game(tags: dict[str, str]) -> Result | str:
    for name in NEEDED:
        if not tags.get(name):
            raise ValueError(f"the game before has no {name}; valid: each has {', '.join(NEEDED)}")
    score = FORMS[tags["Result"]]
    if score is None:
        return UNFINISHED
    white, black = _name(tags["White"]), _name(tags["Black"])
    return "of an unknown player" if UNKNOWN in (white, black) else Result(white, black, score)


def _name(text: str) -> str:
    """A name, of which the bytes that are no UTF-8 were escaped: files by the standard are ISO 8859-1."""
    raw = text.encode("utf-8", "surrogateescape")
    try:
        return raw.decode("utf-8")
    except UnicodeDecodeError:
        return raw.decode("iso-8859-1")


def _in_comment(line: str, inside: bool) -> bool:
    """Whether a comment is open at the end of a line of moves."""
    opened, closed = line.rfind("{"), line.rfind("}")
    return inside if opened == closed else opened > closed
