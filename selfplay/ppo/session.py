"""Session of a call of the trainer: the values that every part of the supervision tree is built from."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

from selfplay.checkpoint import ActionHeads, LearnerState, NetworkSpec, RunDir
from selfplay.config.resolve import held_out, runners
from selfplay.config.resume import own_code
from selfplay.league.modes import turns
from selfplay.ppo.host import RealTimeHost, host_of
from selfplay.ppo.rating import RatingSettings, settings_of

if TYPE_CHECKING:
    from selfplay.config.ppo import Config
    from selfplay.games.kind import GameKind
    from selfplay.league.matchmaker import Choose
    from selfplay.policy.policy import Policy
    from selfplay.report.metrics import IterationReport
    from selfplay.runner.ray_cluster import Cluster

Callback = Callable[["IterationReport"], object]
"""Called after each iteration; False ends the run, saved."""


@dataclass(frozen=True, slots=True)
class Hooks:
    """Functions of the caller's, called one at a time in a thread of its own. An error ends the run, saved."""

    opponents: Choose | None = None  # the main agent's choice of opponents; None: by the mode
    callbacks: Sequence[Callback] = ()
    opened: Callable[[RunDir], object] = lambda _: None  # told the folder of the run


@dataclass(frozen=True, slots=True)
class Session:
    """A run being trained, new or resumed."""

    config: Config
    run: RunDir
    device: str
    resumed: LearnerState | None = None
    cluster: Cluster | None = None  # that blocks of games are placed on; None: they live here
    start: Policy | None = None  # that a new run starts from; None: a fresh network
    hooks: Hooks = field(default_factory=Hooks)
    rating: RatingSettings = field(init=False)  # made once, since it reads a file

    packages: ClassVar[tuple[str, ...]] = ("torch", "numpy", "numba", "gymnasium")
    document: ClassVar[dict[str, Any]] = {}

    def __post_init__(self) -> None:
        object.__setattr__(self, "rating", settings_of(self.config))

    @property
    def game(self) -> GameKind:
        return self.config.game.kind

    @property
    def outsider(self) -> str | None:
        """Id of the player of the other seat if it is none of the run's players."""
        return self.config.game.own_settings.outsider(self.config)

    @property
    def host(self) -> RealTimeHost | None:
        """What plays games in real time; None for other games."""
        return host_of(self.game)

    @property
    def film_flags(self) -> Sequence[str] | None:
        """Flags of ``selfplay watch`` for policies of the run; None: it does not show this game."""
        return shlex.split(own_code(self.config, self.config.game.options)) if "watch" in self.game.verbs else None

    @property
    def network(self) -> NetworkSpec:
        return self.config.net.spec(self.game.obs_width)

    @property
    def heads(self) -> ActionHeads:
        spec = self.game.actions
        return ActionHeads(binary=spec.binary, sizes=spec.sizes)

    @property
    def blocks(self) -> dict[str, int]:
        """Games of each runner, by id."""
        games, count = self.config.run.num_games, runners(self.config)
        return {f"runner-{i:03d}": games * (i + 1) // count - games * i // count for i in range(count)}

    @property
    def roles(self) -> dict[str, str]:
        """Whose games each runner plays: the learner's role by runner id."""
        whose = turns(self.config.league.mode)
        return {runner: whose[i % len(whose)] for i, runner in enumerate(self.blocks)}

    @property
    def training_bots(self) -> tuple[str, ...]:
        game = self.game
        players = game.ladder if game.training_players is None else game.training_players
        return tuple(name for name in players if name not in held_out(self.config))

    def block_options(self, runner: str) -> dict[str, object]:
        """Arguments of the games of a runner, JSON-able."""
        options = self.game_options(self.blocks[runner])
        if self.host is not None:
            options |= self.host.options(self.config, self.run, list(self.blocks).index(runner))
        return options

    def game_options(self, num_games: int) -> dict[str, object]:
        """Arguments of training games wherever they are played, JSON-able."""
        return self.config.game_options(num_games)
