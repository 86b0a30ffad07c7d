"""Plays a game of two players and records it as a film."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from envs.melee.drawing.film import Film, Recorder
from envs.melee.drawing.items import lasers_of
from envs.melee.observation import encode
from envs.melee.tables import load_tables
from selfplay.checkpoint import RunDir, is_policy, list_generations
from selfplay.commands.players import contender, home_rules
from selfplay.errors import ConfigError, NotARunError
from selfplay.league.schedule import Matchup
from selfplay.policy.policy import load_fighter
from selfplay.policy.recurrent_state import RecurrentState
from selfplay.runner.match import Contender, Rules, play

if TYPE_CHECKING:
    from envs.melee.mock import MockMelee


def fight(folder: Path, named: Sequence[str], seed: int, seconds: float | None = None) -> Film:
    """Play one game by the rules of a run's newest generation, or of a policy, and record each frame.

    Args:
        folder: Of the run, or of the policy.
        named: Up to two players, see ``players.contender``; that generation or policy replaces missing ones.
        seed: Of the game.
        seconds: Maximum game time; None: as in training.

    Raises:
        NotARunError: the run has no generation yet.
        ConfigError: a player is unknown, or there are more than two.
        CheckpointError: a policy cannot be loaded.
    """
    run = RunDir(folder)
    home = _home(run)
    if len(named) > 2:
        raise ConfigError(f"two players fight, {len(named)} are named")
    first, second = [home.id] * (2 - len(named)) + list(named)
    players = {home.id: home} | {name: contender(name, run) for name in named}
    characters, rules = home_rules((home,))
    frames = rules.max_episode_frames if seconds is None else round(seconds * 60)
    names = (Path(first).name, Path(second).name)
    rules = Rules(rules.stage, frames)
    film, _ = recorded(
        Matchup((first, second), characters, seed), players, rules, f"{run.path.name}, seed {seed}", names
    )
    return film


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
        watch=lambda game: recorder.take(
            game.state, estimates.of(game), lasers_of(game.state.players[0], game.memory[0])
        ),
    )
    return recorder.film(title, names), result.stats


class _Estimates:
    """Value estimates of both seats, updated when a seat decides."""

    def __init__(self, players: tuple[Contender, Contender], rules: Rules) -> None:
        self._players = [(player.policy, rules.traits(player).frame_skip) for player in players]
        self._tables = load_tables()
        self._values = np.full(2, np.nan, np.float32)
        self._memory = RecurrentState(2)
        self._frame = 0

    def of(self, game: MockMelee) -> NDArray[np.float32]:
        """Estimates of both seats [2], NaN for a scripted player."""
        policies = [policy if self._frame % skip == 0 else None for policy, skip in self._players]
        if any(policies):
            obs, _ = encode(game.state, self._tables)
            for seat, policy in enumerate(policies):
                if policy is not None:
                    self._values[seat] = policy.value(obs[:, seat], self._memory, slice(seat, seat + 1))[0]
        self._frame += 1
        return self._values
