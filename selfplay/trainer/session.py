"""What one call of the trainer works on: values that every part of the tree is built from."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from envs.melee import bots
from envs.melee.tables import STAGES
from envs.registry import GameEntry, find_game
from selfplay.checkpoint import ActionHeads, LearnerState, NetworkSpec, RunDir
from selfplay.config import RANDOM
from selfplay.errors import ConfigError, IncompatibleError
from selfplay.league.modes import EXPLOITERS, MAIN
from selfplay.policy.network import check_spec
from selfplay.seeding import derive
from selfplay.trainer.command_line import shown
from selfplay.trainer.live import emulator_options
from selfplay.trainer.machine import usable_cores
from selfplay.trainer.rating import RatingSettings, anchors_of, settings_of

if TYPE_CHECKING:
    from selfplay.checkpoint.schema import Scalar
    from selfplay.config import Config, RunConfig, StructureConfig
    from selfplay.runner.ray_cluster import Cluster

THREADS: Final = 4  # of the update at most: a minibatch cut finer than that only waits

NO_FIGHT: Final[dict[str, object]] = {
    "character": "none",
    "opponent_character": None,
    "stage": "none",
    "frame_skip": 1,
    "delay": 0,
}
"""What stands in the configuration, and in policies, of a game without characters and frames."""


def runners(config: Config) -> int:
    """How many blocks the games are dealt out to; a multiple of the ``turns`` where the user leaves it open."""
    run, each = config.run, len(turns(config))
    if find_game(config.game.type).live:
        return run.num_games
    count = run.runners or run.workers or max(1, min(usable_cores(), run.num_games // 16, 8))
    if not (run.runners or run.workers):
        count = -(-count // each) * each
    return min(count, run.num_games)


def turns(config: Config) -> tuple[str, ...]:
    """Whose games blocks are, in turn: in a league the main agent has half of them."""
    return (MAIN, MAIN, *EXPLOITERS) if config.league.mode == "league" else (MAIN,)


def settled(config: Config) -> Config:
    """The configuration of a new run, with what was left to machine and chance: it holds where it is resumed, too."""
    game = find_game(config.game.type)
    live, cast, each = game.live, game.characters, len(turns(config))
    host = "process" if live and config.run.host == "thread" else config.run.host
    values: dict[str, object] = {"runners": runners(config), "host": host}
    if runners(config) % each:
        flag = "--workers" if host == "ray" else "--runners"
        rule = f"{flag} must be a multiple of {each}, and --num-games no less than that"
        raise ConfigError(
            f"--mode {config.league.mode} trains {len(set(turns(config)))} learners, each with blocks of games of its "
            f"own: {f'--num-games must be a multiple of {each}' if live else rule}; "
            f"with {config.run.num_games} games it is {runners(config)}"
        )
    if config.run.deterministic:
        values["threads"] = update_threads(config.run)
    drawn: dict[str, object] = {
        name: sorted(choices)[derive(config.run.seed, name) % len(choices)]
        for name, choices in (("character", cast), ("opponent_character", cast), ("stage", STAGES))
        if getattr(config.game, name) == RANDOM
    }
    if not game.fighter:
        drawn = NO_FIGHT
    update = {"run": config.run.model_copy(update=values), "game": config.game.model_copy(update=drawn)}
    return config.model_copy(update=update)


def update_threads(run: RunConfig) -> int:
    """Threads of the learner's update."""
    return run.threads or min(usable_cores(), THREADS)


def network_spec(net: StructureConfig, obs_width: int) -> NetworkSpec:
    """What a policy file says of such a network."""
    options: dict[str, Scalar] = {"window": net.window} if net.backbone == "attention" else {}
    return NetworkSpec(
        kind=net.backbone, obs_width=obs_width, hidden=net.hidden, activation=net.activation, options=options
    )


def check_network(net: StructureConfig) -> None:
    """Refuse widths that do not fit the backbone.

    Raises:
        ConfigError: they do not; names the flags.
    """
    try:
        check_spec(network_spec(net, obs_width=1))
    except IncompatibleError as error:
        raise ConfigError(f"--backbone {net.backbone} with --hidden {shown(net.hidden)}: {error}") from error


@dataclass(frozen=True, slots=True)
class Session:
    """A run being trained, new or resumed."""

    config: Config
    run: RunDir
    device: str
    resumed: LearnerState | None = None
    cluster: Cluster | None = None  # that blocks of games are placed on; None: they live here

    @property
    def game(self) -> GameEntry:
        """What is known of the game."""
        return find_game(self.config.game.type)

    @property
    def network(self) -> NetworkSpec:
        """Structure of the policy network."""
        return network_spec(self.config.net, self.game.obs_width)

    @property
    def heads(self) -> ActionHeads:
        """Heads of an action."""
        spec = self.game.actions
        return ActionHeads(binary=spec.binary, sizes=spec.sizes)

    @property
    def encoder_version(self) -> int:
        """Of the observations."""
        return self.game.encoder_version

    @property
    def blocks(self) -> dict[str, int]:
        """Games of each runner, by id."""
        games, count = self.config.run.num_games, runners(self.config)
        return {f"runner-{i:03d}": games * (i + 1) // count - games * i // count for i in range(count)}

    @property
    def roles(self) -> dict[str, str]:
        """Whose games each runner plays: the learner's role by runner id."""
        whose = turns(self.config)
        return {runner: whose[i % len(whose)] for i, runner in enumerate(self.blocks)}

    @property
    def iterations(self) -> int | None:
        """See ``Config.iterations``."""
        return self.config.iterations

    @property
    def training_bots(self) -> tuple[str, ...]:
        """Scripted players that training meets: they need a controller alone, unlike an emulator's own players.

        Those are chosen in its menus, before an episode; in training it begins when the one before it ends.
        """
        ours = bots.LADDER if self.game.live else self.anchors
        return tuple(name for name in ours if name not in self.config.league.held_out)

    @property
    def anchors(self) -> tuple[str, ...]:
        """Who is rated beside the generations."""
        return anchors_of(self.game)

    @property
    def rating(self) -> RatingSettings:
        """Settings of the run's rating games."""
        return settings_of(self.config)

    def block_options(self, runner: str) -> dict[str, object]:
        """Arguments of the games of a runner, JSON-able."""
        options = self.game_options(self.blocks[runner])
        if self.game.live:
            options |= emulator_options(self.config, self.run, list(self.blocks).index(runner))
        return options

    def game_options(self, num_games: int) -> dict[str, object]:
        """Arguments of training games wherever they are played, JSON-able."""
        if not self.game.fighter:
            return {"num_games": num_games}
        game, reward = self.config.game, self.config.reward
        return {
            "num_games": num_games,
            "characters": list(game.characters),
            "stage": game.stage,
            "frame_skip": game.frame_skip,
            "delay": game.delay,
            "max_episode_frames": game.max_episode_frames,
            "stagger": True,
            "reward_stock": reward.stock,
            "reward_damage": reward.damage,
        }
