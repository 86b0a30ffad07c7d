"""People among the players: their ids, and the ledger of their rated games.

People's games are kept in ``people.jsonl``, apart from the trainer's ledger: the trainer stays the one writer of its
file and never reads this one, so matchups, promotions and resumed runs do not depend on people.
"""

from __future__ import annotations

import re
import unicodedata
from pathlib import Path
from typing import TYPE_CHECKING, Final

import numpy as np

from selfplay.errors import LeagueError
from selfplay.league.ledger import FILE_NAME as LEDGER
from selfplay.league.ledger import Ledger, read_games
from selfplay.league.records import person_name

if TYPE_CHECKING:
    from selfplay.league.games import GameTable
    from selfplay.league.records import GameRecord

FILE_NAME: Final = "people.jsonl"
VERSION: Final = "person"  # of a person, in place of a hash of weights
LONGEST_NAME: Final = 40
WAIT_S: Final = 5.0  # for another writer
_SHOWN: Final = 64  # letters of an invalid name in a message


def person_id(name: str) -> str:
    """The player id of a person: ``Zoë K.`` is ``person-zoe-k``; case and accents make no difference."""
    plain = unicodedata.normalize("NFKD", name[: 4 * LONGEST_NAME]).casefold()
    plain = "".join(letter for letter in plain if not unicodedata.combining(letter))
    made = re.sub(r"[^a-z0-9_]+", "-", plain).strip("-_")[:LONGEST_NAME].rstrip("-_")
    if not made:
        raise LeagueError(f"{name[:_SHOWN]!r} cannot be a player's name: it needs a letter from a to z, or a digit")
    return f"person-{made}"


def run_games(run: Path) -> GameTable:
    """The rated games of a run and of its people; empty without any.

    People's games come first: the trainer's decide which settings and which weights are the newest.
    """
    paths = [path for path in (run / LEDGER, run / FILE_NAME) if path.exists() or path.is_symlink()]
    games = read_games(*paths)
    if paths[-1:] == [run / FILE_NAME]:
        _check(run / FILE_NAME)
    return games.take(np.argsort(~games.of_people, kind="stable"))


def record_game(run: Path, game: GameRecord, wait_s: float = WAIT_S) -> bool:
    """Append a game with a person in one seat to the people's ledger of a run; returns whether it is new. Blocks.

    LeagueError if no seat is a person's, the file has an invalid row, or another program keeps it open.
    """
    if all(person_name(seat.player) is None for seat in game.seats):
        raise LeagueError(f"no person played {' against '.join(seat.player for seat in game.seats)}")
    with Ledger.open(run / FILE_NAME, wait_s=wait_s) as ledger:
        return ledger.append([game]) == 1


def _check(path: Path) -> None:
    """Refuse games that would change the ratings of other players."""
    games = read_games(path)
    alone = np.flatnonzero(~games.of_people)
    if len(alone):
        players = " against ".join(games.players[i] for i in games.seats[alone[0]])
        raise LeagueError(f"{path} is for games of people, and has one of {players}")
