"""The settings that only fights have, validated, with their flags and what follows from them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any, Final, get_type_hints

from pydantic import Field, create_model, field_validator

from selfplay.config.base import Changeable, Group, Mark, Natural, Positive, Seconds
from selfplay.config.game_settings import GameSettings
from selfplay.config.options import flags
from selfplay.config.ppo import Config, GameConfig, LeagueConfig, NetConfig
from selfplay.config.resume import trained_on
from selfplay.config.words import check_name
from selfplay.errors import ConfigError
from selfplay.games.errors import GameError, UnknownNameError
from selfplay.games.kind import later
from selfplay.seeding import derive
from selfplay_melee.bot_names import REACTION
from selfplay_melee.dolphin.install import FIRST_PORT, LAST_PORT, SLIPPI_PORT
from selfplay_melee.kinds import FightKind, fight_kind, find_character
from selfplay_melee.limits import LEDGE_GRAB_LIMIT, MAX_DELAY
from selfplay_melee.reward_weights import RewardWeights
from selfplay_melee.short_names import full_name
from selfplay_melee.tables import check_readable

if TYPE_CHECKING:
    from selfplay.checkpoint import PolicyMeta
    from selfplay.config.presets import Presets

RANDOM: Final = "random"
"""Name of a character or stage that a new run draws by its seed."""


class FightConfig(GameConfig):
    """The game, and the characters, stage and limits of its fights."""

    character: str = Field("mewtwo", description="Character of the learner; `random` draws one for the run")
    opponent_character: str | None = Field(None, description="Character of the other seat; by default the same")
    stage: str = Field("final_destination", description="Stage; `random` draws one for the run")
    max_episode_frames: Positive = Field(3600, description="Cap of an episode in frames; a second has 60")
    ledge_grab_limit: Natural = Field(
        LEDGE_GRAB_LIMIT,
        description="A player with more ledge grabs loses a game that ends by time, unless both have more; 0: no limit",
    )
    frame_skip: Annotated[int, Field(ge=1, le=30)] = Field(4, description="Frames between two decisions")
    delay: Annotated[int, Field(ge=0, le=MAX_DELAY)] = Field(
        0, description="Frames between an observation and its action"
    )

    @field_validator("character", "opponent_character", "stage")
    @classmethod
    def _full(cls, name: str | None) -> str | None:
        return None if name is None else full_name(name)

    @property
    def characters(self) -> tuple[str, str]:
        """Characters of seat 0 and seat 1."""
        return self.character, self.opponent_character or self.character

    @property
    def cap_frames(self) -> int:
        return self.max_episode_frames


class RealFightConfig(FightConfig):
    """Fights of the real game, and the programs that play it."""

    dolphin: Annotated[str | None, Mark.MAY_CHANGE, Mark.STARTS_PROGRAM] = Field(
        None, description="Slippi Dolphin: its folder or executable"
    )
    iso: Annotated[str | None, Mark.MAY_CHANGE, Mark.STARTS_PROGRAM] = Field(None, description="Melee 1.02 disc image")


class EmulatorConfig(Group):
    """The emulators that real games run in, and who else plays in them."""

    cpu_level: Annotated[int, Field(ge=1, le=9)] | None = Field(
        None, description="Opponent: Melee's computer player, level 1 to 9"
    )
    human_port: Annotated[int, Field(ge=1, le=4)] | None = Field(
        None, description="Opponent: a person at controller port 1 to 4"
    )
    headless: Changeable[bool] = Field(False, description="Run without windows")
    fast_forward: Changeable[bool] = Field(False, description="Play as fast as the machine can; needs an ExiAI build")
    play_on: bool = Field(
        False,
        description="Go on with the same game where an episode is cut short, and skip the menus between two games",
    )
    slippi_port: Changeable[Annotated[int, Field(ge=FIRST_PORT, le=LAST_PORT)]] = Field(
        SLIPPI_PORT, description="First of the network ports on which emulators send their frames"
    )
    save_replays: Changeable[bool] = Field(
        False, description="Keep every game as a .slp file; in `replays` of the run's folder"
    )
    start_timeout: Changeable[Seconds] = Field(60.0, description="Seconds until an emulator must be in its first game")
    frame_timeout: Changeable[Seconds] = Field(30.0, description="Seconds without a frame after which a game is lost")
    recycle_frames: Changeable[Natural] = Field(
        1_000_000, description="Frames after which an emulator is replaced by a fresh one; 0 = never"
    )
    recycle_mb: Changeable[Natural] = Field(
        2000, description="MB that its processes may grow by since its first game until it is replaced; 0 = never"
    )

    @property
    def outsider(self) -> str | None:
        """Id of the player of the other seat if it is none of the run's players; else None."""
        if self.human_port is not None:
            return "human"
        return None if self.cpu_level is None else f"cpu_{self.cpu_level}"


def _weights() -> dict[str, Any]:
    """Fields of the settings for ``RewardWeights``."""
    described = get_type_hints(RewardWeights, include_extras=True)
    return {
        name: (Annotated[float, Field(ge=0)], Field(default, description=described[name].__metadata__[0]))
        for name, default in RewardWeights._field_defaults.items()
    }


RewardConfig = create_model("RewardConfig", __base__=Group, __module__=__name__, **_weights())


class FightNetConfig(NetConfig):
    """The policy network, and how it begins."""

    rest: Annotated[float, Field(ge=0, lt=1)] = Field(
        0.8, description="Probability that a fresh policy leaves c-stick and shoulder alone; 0 = as any other value"
    )


_LAPTOP: Final[dict[str, dict[str, Any]]] = {
    "game": {"max_episode_frames": 14400},
    "run": {"timesteps": 12_000_000, "num_games": 256, "save_interval": 50, "pretrained": "scripted"},
    "ppo": {
        "rollout_length": 32,
        "batch_size": 4096,
        "learning_rate": 1e-3,
        "entropy_coefficient": 5e-3,
        "entropy_floor": 0.5,
        "anneal": "all",
    },
    "reward": {"stalling": 1.0, "self_destruct": 10.0, "lingering": 1.0},
    # A policy that meets only itself follows a player that falls off the stage, and falls with it. Without recent
    # generations one of three seeds was weaker against a scripted player that it had not met.
    "league": {"mode": "simple_mix", "current": 0.7, "recent": 0.1, "scripted": 0.2, "any_past": 0.0},
}
PRESETS: Final[Presets] = {
    # The settings that learned best on two cores; figures in docs/melee/learning.md.
    "laptop": _LAPTOP,
    # The same with the reaction of a person.
    "human": _LAPTOP | {"game": _LAPTOP["game"] | {"delay": REACTION}},
}


class FightRun(Config):
    """The configuration of a run of fights, for types."""

    game: FightConfig = FightConfig()
    reward: RewardConfig = RewardConfig()
    net: FightNetConfig = FightNetConfig()


class RealRun(FightRun):
    """The configuration of a run of real fights, for types."""

    game: RealFightConfig = RealFightConfig()
    emulator: EmulatorConfig = EmulatorConfig()


def _check(config: FightRun) -> None:
    """Refuse names of characters and stages that do not exist (ConfigError)."""
    game = fight_kind(config.game.type)
    names = (config.game.character, config.game.opponent_character, config.game.stage)
    check_readable(*{*names} - {*game.characters, *game.stages})  # whose files were read
    _check_character("--character", config.game.character, game)
    _check_character("--opponent-character", config.game.opponent_character, game)
    check_name("--stage", config.game.stage, [*sorted(game.stages), RANDOM])


def _check_character(flag: str, name: str | None, game: FightKind) -> None:
    if name in (None, RANDOM):
        return
    try:
        find_character(name, game)
    except UnknownNameError:
        check_name(flag, name, [*sorted(game.characters), RANDOM])
    except GameError as error:
        raise ConfigError(f"{flag} {name}: {error}") from error


def _draw(config: FightRun) -> FightRun:
    game = fight_kind(config.game.type)
    cast = game.characters
    drawn = {
        name: sorted(choices)[derive(config.run.seed, name) % len(choices)]
        for name, choices in (("character", cast), ("opponent_character", cast), ("stage", game.stages))
        if getattr(config.game, name) == RANDOM
    }
    return config.model_copy(update={"game": config.game.model_copy(update=drawn)})


def _options(config: FightRun) -> dict[str, object]:
    game = config.game
    return {
        "characters": list(game.characters),
        "stage": game.stage,
        "frame_skip": game.frame_skip,
        "delay": game.delay,
        "max_episode_frames": game.max_episode_frames,
        "ledge_grab_limit": game.ledge_grab_limit,
        "stagger": True,
        "rewards": config.reward.model_dump(),
    }


def _check_real_game(config: RealRun, explicit: Mapping[str, object]) -> None:
    kind, games = config.game.type, config.run.num_games
    if explicit.get("run.host") == "thread":
        raise ConfigError(f"--host thread: each game of --game-type {kind} is a process; leave --host out")
    if explicit.get("run.runners", 0) not in (0, games):
        raise ConfigError(
            f"--runners {config.run.runners}: each game of --game-type {kind} has a runner of its own, "
            f"{games} of them with --num-games {games}; leave --runners out"
        )
    if config.run.deterministic:
        raise ConfigError(f"--deterministic: a game in real time cannot be repeated (--game-type {kind})")
    _check_person(config)
    if config.emulator.outsider is not None:
        _check_outsider(config, explicit)


def _check_person(config: RealRun) -> None:
    emulator = config.emulator
    if emulator.human_port is None:
        return
    if emulator.cpu_level is not None:
        raise ConfigError("--cpu-level and --human-port both want the other seat; give one of them")
    if emulator.headless:
        raise ConfigError("--human-port needs a window to play in; leave --headless out")
    if config.run.num_games != 1:
        raise ConfigError(f"--human-port: a person plays one game at a time, not {config.run.num_games}: --num-games 1")


def _check_outsider(config: RealRun, explicit: Mapping[str, object]) -> None:
    """Refuse other opponents where a person or an emulator's own player has the other seat."""
    flag = "--cpu-level" if config.emulator.human_port is None else "--human-port"
    taken = f"{flag} has the other seat in every game"
    if "league.mode" in explicit and config.league.mode != LeagueConfig().mode:
        raise ConfigError(f"--mode {config.league.mode} chooses opponents, but {taken}")
    if config.league.opponents:
        raise ConfigError(f"--opponent names opponents, but {taken}")


def learned_characters(meta: PolicyMeta) -> tuple[str, ...]:
    """The characters that a policy learned: those of its replays, the most frequent first, or those of its run."""
    match meta.config.get("imitation"):
        case {"replays": {"rows_by_character": dict(rows)}}:
            return tuple(rows)
    return tuple(dict.fromkeys(trained_on(meta).characters))


def _unlike(config: FightRun, meta: PolicyMeta) -> str | None:
    learned, mine = learned_characters(meta), config.game.character
    return None if mine in learned else f"has learned {', '.join(learned)}; this run plays {mine}"


_GROUPS: Final[dict[str, type[Group]]] = {"game": FightConfig, "reward": RewardConfig, "net": FightNetConfig}
_FLAGS: Final = {
    "Game": (
        *flags("game", character="NAME", opponent_character="NAME", stage="NAME"),
        *flags("game", max_episode_frames="N", frame_skip="N", delay="N"),
    ),
}
_HELP: Final = "--character list and --stage list show those names"


def mock_settings() -> GameSettings:
    """What fights of the mock add to the settings of a run."""
    return GameSettings(_GROUPS, _FLAGS, PRESETS, _HELP, _check, draw=_draw, options=_options, unlike=_unlike)


def dolphin_settings() -> GameSettings:
    """What fights of the real game add to the settings of a run."""
    return GameSettings(
        groups=_GROUPS | {"game": RealFightConfig, "emulator": EmulatorConfig},
        flags=_FLAGS
        | {
            "Dolphin": (
                *flags("game", dolphin="PATH", iso="PATH"),
                *flags("emulator", cpu_level="N", human_port="N", headless="", fast_forward="", save_replays=""),
            )
        },
        presets=PRESETS,
        help=_HELP,
        check=_check,
        check_given=_check_real_game,
        complete=later("selfplay_melee.dolphin.paths", "with_dolphin_paths"),
        draw=_draw,
        options=_options,
        unlike=_unlike,
        outsider=lambda config: config.emulator.outsider,
    )
