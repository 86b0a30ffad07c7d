"""Plays games of two players, records them as films and finds the best moment."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

import numpy as np
from numpy.typing import NDArray

from selfplay.checkpoint import RunDir, is_policy, list_generations
from selfplay.errors import NotARunError
from selfplay.evaluation.players import contender, home_rules
from selfplay.games.registry import find_game
from selfplay.league.leaderboard import analyse
from selfplay.league.ledger import read_games
from selfplay.league.records import generation_number
from selfplay.league.scale import interval_text
from selfplay.league.schedule import Matchup
from selfplay.policy.recurrent_state import RecurrentState
from selfplay.runner.match import Contender, Rules, play
from selfplay_melee.choices import MOCK
from selfplay_melee.commands.policies import load_fighter
from selfplay_melee.conditions import as_fight
from selfplay_melee.drawing.film import Film, Recorder
from selfplay_melee.drawing.items import shots_of
from selfplay_melee.drawing.story import Moment, best_moment, clock
from selfplay_melee.state import FPS

if TYPE_CHECKING:
    from selfplay_melee.mock import MockMelee

GAMES: Final = 4  # that are played for one moment, at most
FRAMES: Final = 15_000  # after so many one stock that is taken is enough: 2 s of a processor


@dataclass(frozen=True, slots=True)
class Fixture:
    """Two players and the rules of their game."""

    run: str  # name of the run or policy
    home: str  # the run's newest generation, or the policy
    seats: tuple[str, str]
    players: Mapping[str, Contender]
    rules: Rules
    why: str = ""  # a sentence on the choice of the second player; empty: both are named

    def film(self, seed: int, seconds: float | None = None) -> Film:
        """Play one game, at most ``seconds`` long (None: as in training), and record each frame."""
        conditions, rules = as_fight(self.rules.conditions), self.rules
        if seconds is not None:
            rules = replace(rules, conditions=replace(conditions, max_episode_frames=round(seconds * FPS)))
        matchup = Matchup(self.seats, conditions.characters, seed)
        names = Path(self.seats[0]).name, Path(self.seats[1]).name
        return recorded(matchup, self.players, rules, f"{self.run}, seed {seed}", names)[0]

    @property
    def heroes(self) -> tuple[int, ...]:
        """Seats of the run's generations, or of the policy; without any of all policies, or else of all players."""
        own = [s for s, name in enumerate(self.seats) if name == self.home or generation_number(name) is not None]
        policies = [s for s, name in enumerate(self.seats) if self.players[name].policy is not None]
        return tuple(own or policies) or (0, 1)


def fixture(folder: Path, named: Sequence[str]) -> Fixture:
    """Choose the two players and the rules, from a run's newest generation or a policy.

    Args:
        folder: Of the run, or of the policy.
        named: Up to two players, see ``players.contender``. That generation or policy meets a single one. If none is
            named, a generation meets the player that ``opponent_of`` finds, and a policy the strongest scripted player.

    Raises:
        NotARunError: the run has no generation yet.
        ConfigError: a player is unknown.
        CheckpointError: a policy cannot be loaded.
        LeagueError: the run's ledger cannot be read.
    """
    run = RunDir(folder)
    home = _home(run)
    opponent, why = (home.id, "")
    if not named:
        opponent, why = _strongest(home) if is_policy(run.path) else opponent_of(run, home.id)
    first, second = (home.id, *(named or (opponent,)))[-2:]
    players = {home.id: home} | {name: contender(name, run) for name in (first, second) if name != home.id}
    return Fixture(run.path.name, home.id, (first, second), players, home_rules((home,)), why)


def _strongest(home: Contender) -> tuple[str, str]:
    """The strongest scripted player that reacts about as fast as a policy."""
    assert home.policy is not None
    return find_game(MOCK).ladder_of(home.policy.body)[-1], "It meets the strongest scripted player of its reaction."


def opponent_of(run: RunDir, newest: str) -> tuple[str, str]:
    """The strongest scripted player or shipped policy that the newest generation beats, and why it was chosen.

    If the newest generation has no rated game, the newest with one is used. If it beats no player
    (``Ratings.beaten_by``), the weakest player is returned. Without rated games the result is ``newest`` itself.
    """
    games = read_games(run.ledger) if run.ledger.is_file() else ()
    found = analyse(games, run=run.path) if games else None
    if found is None or found.board.newest is None:
        return newest, f"No game of {newest} is rated (training with --track-elo rates some): it meets itself."
    rated = found.board.newest
    older = "" if rated == newest else f"{newest} has no rated game. "
    elo = {row.policy: f"{row.rating:.0f}" for row in found.board.rows}
    (ends,) = (row.ends for row in found.board.rows if row.policy == rated)
    me = f"{older}{rated} is rated {elo[rated]} ({interval_text(ends or (None, None))})"
    if found.board.beats:
        best = found.board.beats[0]
        return (
            best.player,
            f"{me}: the strongest player that it beats is {best.text(found.board.scale)}, rated {elo[best.player]}.",
        )
    weakest = next(row.policy for row in reversed(found.board.rows) if row.scripted)
    return weakest, f"{me} and stands clearly above no player: it meets the weakest, {weakest}, rated {elo[weakest]}."


def highlight(meeting: Fixture, seconds: float, seed: int | None = None) -> tuple[Film, Moment, str]:
    """Play some games: the one with the best moment, see ``best_moment``, that moment, and a sentence about it.

    ``seed`` is of the only game to be played. None: several games are, within a few seconds, and more if none of them
    shows a stock that is taken.
    """
    found: list[tuple[Film, Moment]] = []
    frames = 0
    for each in range(GAMES) if seed is None else (seed,):
        film = meeting.film(each)
        found.append((film, best_moment(film, seconds, meeting.heroes)))
        frames += len(film)
        if frames > FRAMES and any(moment.stocks for _, moment in found):
            break
    film, moment = max(found, key=lambda one: (one[1].stocks > 0, one[1].gain))
    games = "" if len(found) == 1 else f"; the best of {len(found)} games"
    return film, moment, f"From {clock(moment.start_s)}: {moment.why} ({film.title}{games})."


def _home(run: RunDir) -> Contender:
    if is_policy(run.path):
        return Contender(str(run.path.absolute()), load_fighter(run.path))
    generations = list_generations(run)
    if not generations:
        raise NotARunError(f"{run.path} has no generation yet")
    return Contender(generations[-1].path.name, load_fighter(generations[-1].path))


def recorded(
    matchup: Matchup, players: Mapping[str, Contender], rules: Rules, title: str, names: tuple[str, str]
) -> tuple[Film, NDArray[np.void]]:
    """Play a game and record each frame: the film, and the counts of both seats at its end, ``mock.STATS`` [2]."""
    first, second = matchup.players
    recorder, estimates = Recorder(), _Estimates((players[first], players[second]), rules)
    (result,) = play(
        [matchup],
        players,
        rules,
        watch=lambda game: recorder.take(game.state, estimates.of(game), shots_of(game.memory[0])),
    )
    return recorder.film(title, names), result.stats


class _Estimates:
    """Value estimates of both seats, updated when a seat decides."""

    def __init__(self, players: tuple[Contender, Contender], rules: Rules) -> None:
        self._players = [(player.policy, rules.traits(player).frame_skip) for player in players]
        self._values = np.full(2, np.nan, np.float32)
        self._memory = RecurrentState(2)
        self._frame = 0

    def of(self, game: MockMelee) -> NDArray[np.float32]:
        """Estimates of both seats [2], NaN for a scripted player."""
        policies = [policy if self._frame % skip == 0 else None for policy, skip in self._players]
        if any(policies):
            obs = game.observations()
            for seat, policy in enumerate(policies):
                if policy is not None:
                    self._values[seat] = policy.value(obs[:, seat], self._memory, slice(seat, seat + 1))[0]
        self._frame += 1
        return self._values
