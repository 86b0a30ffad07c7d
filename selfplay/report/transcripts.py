"""Games of words that are kept for people: a few of each saved iteration, a line of JSON each, validated when read."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Final, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from envs.files import read_plain

FILE_NAME: Final = "transcripts.jsonl"
LONGEST: Final = 8_000
"""Characters of a text that are kept."""
TURNS: Final = 200
"""Turns of a game that are kept."""
KEPT: Final = 60
"""Games of a run."""
FIRST: Final = 3
"""Of them those that stay for ever, the first ones; beside them the newest stay."""
_MAX_BYTES: Final = 64 * 2**20

Kind = Literal["best", "worst", "random"]
Seat = Literal[0, 1]
Text = Annotated[str, Field(max_length=LONGEST)]


class _Record(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)


class Said(_Record):
    """One reply."""

    seat: Seat
    private: Text  # nobody else reads it
    public: Text
    error: Text | None = None  # why the game refused it: then nobody else reads any of it


class Transcript(_Record):
    """One game of training."""

    format: Literal[1] = 1
    iteration: Annotated[int, Field(ge=0)]
    kind: Kind  # of the games of its iteration
    game: Annotated[str, Field(max_length=100)]
    rewards: tuple[float, float]
    reason: Annotated[str, Field(max_length=100)]  # how it ended
    told: tuple[Text, Text]  # what each seat was told before its first reply, and the other was not
    turns: Annotated[tuple[Said, ...], Field(max_length=TURNS)]
    left_out: Annotated[int, Field(ge=0)] = 0  # turns beyond those

    def row(self) -> str:
        """As one line of JSON, without the line's end."""
        return self.model_dump_json()


def read_transcripts(folder: Path) -> tuple[Transcript, ...]:
    """Those of a run's folder in their order; what cannot be read is absent, as elsewhere on a page."""
    path = folder / FILE_NAME
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
    """What is to be kept of those that are there and of newer ones; an iteration that is played again has one place."""
    again = {one.iteration for one in new}
    before = [one for one in known if one.iteration not in again and one.iteration <= max(again, default=0)]
    everything = (*before, *new)
    if len(everything) <= KEPT:
        return everything
    return (*everything[:FIRST], *everything[FIRST - KEPT :])
