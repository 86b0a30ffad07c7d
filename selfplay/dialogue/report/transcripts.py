"""Transcripts of dialogue games: a few per saved iteration, one JSON line each, validated when read."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Final, Literal

from pydantic import BaseModel, Field, ValidationError

from selfplay.games.files import read_plain

FILE_NAME: Final = "transcripts.jsonl"
LATEST: Final = "latest_games.jsonl"  # those of the last iteration
LONGEST: Final = 8_000  # maximum length of a text
SHORT: Final = 100  # maximum length of a name or reason
TURNS: Final = 200  # maximum number of turns of a game
KEPT: Final = 60  # maximum number of games of a run
FIRST: Final = 3  # number of first games that are always kept; the others are the newest
_MAX_BYTES: Final = 64 * 2**20

Kind = Literal["best", "worst", "random"]
Seat = Literal[0, 1]
Text = Annotated[str, Field(max_length=LONGEST)]
Short = Annotated[str, Field(max_length=SHORT)]


class _Record(BaseModel, frozen=True, extra="forbid", allow_inf_nan=False):
    """Frozen; unknown fields are errors."""


class Said(_Record):
    """One reply."""

    seat: Seat
    private: Text  # not visible to the other seat
    public: Text
    error: Text | None = None  # reason of a refused reply, which is not visible to the other seat


class Transcript(_Record):
    """One game of training."""

    format: Literal[1] = 1
    iteration: Annotated[int, Field(ge=0)]
    kind: Kind  # among the games of its iteration
    game: Short
    opponents: tuple[Short, Short] = ("", "")  # players of the seats by name; empty: the trained model
    rewards: tuple[float, float]
    reason: Short  # how it ended
    told: tuple[Text, Text]  # private information of each seat before its first reply
    turns: Annotated[tuple[Said, ...], Field(max_length=TURNS)]
    left_out: Annotated[int, Field(ge=0)] = 0  # number of omitted turns

    def row(self) -> str:
        return self.model_dump_json()


def read_transcripts(folder: Path, name: str = FILE_NAME) -> tuple[Transcript, ...]:
    """The transcripts in a file of a run; unreadable ones are skipped."""
    path = folder / name
    try:
        lines = read_plain(path, _MAX_BYTES).decode().splitlines()
    except (OSError, UnicodeDecodeError):
        return ()
    found = []
    for line in lines[-2 * KEPT :]:
        try:
            found.append(Transcript.model_validate_json(line))
        except ValidationError:  # of another version, or not ours
            continue
    return tuple(found)


def kept(known: tuple[Transcript, ...], new: tuple[Transcript, ...]) -> tuple[Transcript, ...]:
    """Merge old and new transcripts within the limit; repeated iterations are replaced."""
    again = {one.iteration for one in new}
    before = [one for one in known if one.iteration not in again and one.iteration <= max(again, default=0)]
    everything = (*before, *new)
    if len(everything) <= KEPT:
        return everything
    return (*everything[:FIRST], *everything[FIRST - KEPT :])
