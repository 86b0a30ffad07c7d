"""Counts of players' actions, per minute with intervals: in the games of a folder, and by a policy."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Final

import numpy as np
from numpy.lib.recfunctions import structured_to_unstructured
from numpy.typing import NDArray

from selfplay.errors import ConfigError
from selfplay.games.errors import UnknownNameError
from selfplay.league.schedule import pairings_of
from selfplay.seeding import derive
from selfplay_melee.behaviour import COUNTS, behaviour
from selfplay_melee.conditions import as_fight
from selfplay_melee.errors import ReplayError
from selfplay_melee.imitation.recording import blocks, recorded
from selfplay_melee.replay import read_replay
from selfplay_melee.replays.folder import replay_files
from selfplay_melee.replays.games import is_player
from selfplay_melee.tables import CHARACTERS

if TYPE_CHECKING:
    from selfplay.runner.match import Contender, Rules
    from selfplay_melee.replay import Replay, Seat
    from selfplay_melee.slp.start import End
    from selfplay_melee.state import GameState

Counter = Callable[["GameState", "End | None"], NDArray[np.void]]
"""Counts what both seats of a game do: [2] of a structured type."""
# Quantity -> what it is a share of: columns of BEHAVIOUR.
RATES: Final = {"approach": ("gained", "apart")} | {name: (name, "minutes") for name in COUNTS}
UNITS: Final = {"approach": "units/s apart", "damage": "%/min"}  # all others are a minute
RESAMPLES: Final = 2000
SHORTEST: Final = 180  # frames of a game in a file: in less time nothing happens that has a rate


@dataclass(frozen=True, slots=True)
class Rate:
    """A mean over all games with a 95% bootstrap interval; None: unknown."""

    mean: float | None
    low: float | None
    high: float | None

    def __str__(self) -> str:
        if self.mean is None:
            return "-"
        return f"{self.mean:.2f}" + ("" if self.low is None else f" ({self.low:.2f} to {self.high:.2f})")


@dataclass(frozen=True, slots=True)
class Column:
    """Rates of the players of one source."""

    title: str
    games: int
    minutes: float  # of all selected seats
    rates: dict[str, Rate]  # by the names in RATES


@dataclass(slots=True)
class Folder:
    """The games of a folder, and the files that are left out, with the reason."""

    games: list[NDArray[np.void]] = field(default_factory=list)  # BEHAVIOUR [selected seats]
    unreadable: list[str] = field(default_factory=list)


def folder_games(folder: Path, character: str | None = None, player: str | None = None) -> Folder:
    """Count what the seats of a character and a player, by default both seats, do in all .slp files.

    ``player`` is a port, a display name or a connect code, see ``is_player``.

    Raises:
        ConfigError: no file that can be used, or no such player; names the players that were found.
        UnknownNameError: there is no such character.
    """
    if character is not None and character not in CHARACTERS:
        raise UnknownNameError("character", character, CHARACTERS)
    files = replay_files(folder)
    found, names = Folder(), set[str]()
    for path in files:
        try:
            replay = read_replay(path)
        except ReplayError as error:
            found.unreadable.append(str(error))
            continue
        if reason := _no_fight(replay):
            found.unreadable.append(f"{path}: {reason}")
            continue
        names |= {seat.full_name for seat in replay.seats}
        seats = [i for i, seat in enumerate(replay.seats) if _counts(seat, character, player)]
        if seats:
            found.games.append(_of_seats(replay, seats))
    if len(found.unreadable) == len(files):
        raise ConfigError(f"--replays {folder}: no file can be used, the first is {found.unreadable[0]}")
    if not found.games:
        raise ConfigError(_nobody(folder, character, player, names))
    return found


def _no_fight(replay: Replay) -> str:
    """Why the rates of a file would mean nothing; "" if they mean something."""
    if replay.stage < 0:
        return f"stage {replay.external_stage} of replay files has no table"
    frames = int((replay.state.game["frame"] >= 0).sum())
    if frames < SHORTEST:
        return f"too short: {frames} frames from GO on, at least {SHORTEST} are needed"
    return ""


def _counts(seat: Seat, character: str | None, player: str | None) -> bool:
    plays = character is None or seat.character == CHARACTERS[character]
    return plays and (player is None or is_player(player, seat.port, seat.name, seat.code))


def _nobody(folder: Path, character: str | None, player: str | None, names: set[str]) -> str:
    wanted = ["" if player is None else f"called {player!r}", "" if character is None else f"with {character}"]
    there = ", ".join(sorted(name for name in names if name)) or "nobody has a name"
    return f"--replays {folder}: nobody {' '.join(filter(None, wanted))} plays there (players: {there})"


def _of_seats(replay: Replay, seats: Sequence[int], count: Counter = behaviour) -> NDArray[np.void]:
    chosen: NDArray[np.void] = count(replay.state, replay.end)[list(seats)]
    return chosen


def mock_games(
    player: Contender,
    opponent: Contender,
    games: int,
    rules: Rules,
    seed: int,
    count: Counter = behaviour,
) -> Iterator[NDArray[np.void]]:
    """Count what a player does in games of the mock in both seats; in both at once if it plays itself. Blocks."""
    pairings = pairings_of([player.id], [opponent.id], games, as_fight(rules.conditions).characters, seed)
    for block in blocks(pairings, rules):
        replays = recorded(block, {player.id: player, opponent.id: opponent}, rules)
        for pairing, replay in zip(block, replays, strict=True):
            yield _of_seats(replay, [i for i, name in enumerate(pairing.players) if name == player.id], count)


def column(title: str, games: Sequence[NDArray[np.void]], seed: int) -> Column:
    """Means of some games, BEHAVIOUR [seats] each, with intervals from games resampled with replacement."""
    parts = totals(games)
    drawn = resampled(len(games), np.random.default_rng(derive(seed, "behaviour", title)))
    rates = {name: rate(parts[count], parts[time], drawn) for name, (count, time) in RATES.items()}
    return Column(title, len(games), float(parts["minutes"].sum()), rates)


def totals(games: Sequence[NDArray[np.void]]) -> dict[str, NDArray[np.float64]]:
    """Sums over the seats of each of G games, [G] by column."""
    sums = np.array([structured_to_unstructured(game).sum(0) for game in games])
    return dict(zip(games[0].dtype.names or (), sums.T, strict=True))


def resampled(games: int, rng: np.random.Generator, resamples: int = RESAMPLES) -> NDArray[np.int64]:
    """[resamples, games] number of copies of each game."""
    return rng.multinomial(games, np.full(games, 1.0 / games), resamples)


def rate(count: NDArray[np.float64], time: NDArray[np.float64], drawn: NDArray[np.int64]) -> Rate:
    """A rate over games [G] with both values known; ``drawn``: of ``resampled``."""
    known = ~np.isnan(count) & (time > 0.0)
    if not known.any():
        return Rate(None, None, None)
    count, time = np.where(known, count, 0.0), np.where(known, time, 0.0)
    mean = float(count.sum() / time.sum())
    if known.sum() < 2:
        return Rate(mean, None, None)
    times = drawn @ time
    low, high = np.quantile((drawn @ count)[times > 0.0] / times[times > 0.0], (0.025, 0.975))
    return Rate(mean, float(low), float(high))


def table(columns: Sequence[Column]) -> list[str]:
    head = ["a minute, with 95% interval", *(c.title for c in columns)]
    about = ["", *(f"{c.games} games, {c.minutes:.1f} min" for c in columns)]
    rows = [[_label(name), *(str(c.rates[name]) for c in columns)] for name in RATES]
    widths = [max(map(len, cells)) for cells in zip(head, about, *rows, strict=True)]
    return ["  ".join(f"{cell:<{width}}" for cell, width in zip(row, widths, strict=True)).rstrip()
            for row in (head, about, *rows)]  # fmt: skip


def _label(name: str) -> str:
    label = name.replace("self_destructs", "self-destructs").replace("_", " ")
    return f"{label} ({UNITS[name]})" if name in UNITS else label
