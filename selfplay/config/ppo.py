"""The settings of PPO that every game has, validated, with the table of their flags; and those of one game."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields, replace
from functools import cache
from typing import TYPE_CHECKING, Annotated, Any, Final, Literal, Self, cast

from pydantic import Field, create_model, field_validator, model_validator

from selfplay.config.base import (
    MOST,
    Changeable,
    Fraction,
    Group,
    GuardConfig,
    Mark,
    Natural,
    Positive,
    Seconds,
    SelfPlaySettings,
    StructureConfig,
)
from selfplay.config.game_settings import game_settings
from selfplay.config.league import OpponentConfig
from selfplay.config.options import (
    FAULT_FLAGS,
    LEAGUE_FLAGS,
    LENGTH_FLAGS,
    PLACE_FLAGS,
    Flag,
    Option,
    flags,
    marked,
    options,
)
from selfplay.games.errors import UnknownNameError
from selfplay.games.plugins import is_known
from selfplay.games.registry import DEFAULT, find_game, games_of
from selfplay.runner import PROCESS_MB

if TYPE_CHECKING:
    from selfplay.config.game_settings import GameSettings
    from selfplay.games.kind import GameKind
    from selfplay.games.rated import Body

CHAOS: Final = (
    "Fault injection, such as `crash=1e-3,nan=1e-3`; probabilities per segment of `crash`, `nan` and `slow`, "
    "with `--host process` or `ray` also of `hang` and `kill`"
)


class GameConfig(Group):
    """The game."""

    type: str = Field(
        DEFAULT,
        description="An installed game, your own as `module:name`, `pettingzoo:MODULE` or `openspiel:GAME`",
    )

    @field_validator("type")
    @classmethod
    def _known(cls, name: str) -> str:
        if not is_known(name):
            raise ValueError(str(UnknownNameError("game", name, games_of("ppo"))))
        return name

    @property
    def kind(self) -> GameKind:
        """The description of the game; imports the module of a game of the user's own."""
        return find_game(self.type)

    @property
    def own_settings(self) -> GameSettings:
        """What the game adds to the settings of its runs."""
        return game_settings(self.type)

    @property
    def options(self) -> tuple[Option, ...]:
        """The options of its runs."""
        return options_of(self.type)

    @property
    def body(self) -> Body:
        """What policies of these games keep of them."""
        body = self.kind.body
        return body(**self.model_dump(include={field.name for field in fields(body)}))

    @property
    def cap_frames(self) -> int:
        """Longest episode in frames, for estimates of memory and time: a guess where a game has no cap."""
        return 3600


class NetConfig(StructureConfig):
    """The policy network."""


class PPOConfig(Group):
    """The learner."""

    rollout_length: Positive = Field(128, description="Steps of every game in an iteration")
    max_policy_lag: Annotated[int, Field(ge=0, le=1)] = Field(
        0, description="1: play during updates, with older weights"
    )
    batch_size: Positive = Field(2048, description="Maximum rows of a minibatch")
    epochs: Positive = Field(4, description="Passes over the steps of an iteration")
    clip: Annotated[float, Field(gt=0, lt=1)] = Field(0.2, description="Clip range of the probability ratio")
    learning_rate: Annotated[float, Field(gt=0, le=1)] = Field(3e-4, description="Learning rate of Adam")
    anneal: Literal["no", "rate", "all"] = Field(
        "no",
        description="Lower linearly to a tenth over the run: the learning rate (`rate`), or with `all` the entropy "
        "bonus and the weights of KL divergences, too",
    )
    gamma: Annotated[float, Field(ge=0, le=1)] = Field(0.99, description="Discount per step")
    gae_lambda: Fraction = Field(0.95, description="Lambda of the advantages (GAE)")
    value_clip: Annotated[float, Field(gt=0)] = Field(1.0, description="Clip range of the value's change")
    value_coefficient: Annotated[float, Field(ge=0)] = Field(0.5, description="Weight of the value loss")
    entropy_coefficient: Annotated[float, Field(ge=0)] = Field(0.003, description="Weight of the entropy bonus")
    entropy_floor: Annotated[float, Field(ge=0)] = Field(
        0.0,
        description="Entropy per decision, in nats, above which there is no bonus; its weight rises to the full one at "
        "90% of it. 0: the bonus has its full weight always",
    )
    max_grad_norm: Annotated[float, Field(gt=0)] = Field(0.5, description="Clip of the gradient's norm")
    target_kl: Annotated[float, Field(ge=0)] = Field(0.0, description="End an update at this mean KL; 0 = never")
    step_kl: Annotated[float, Field(ge=0)] = Field(
        0.5, description="Revert an update with a larger mean KL from the previous policy; 0 = never"
    )
    teacher_kl: Annotated[float, Field(ge=0)] | None = Field(
        None,
        description="Weight of KL(teacher, policy); the teacher is the policy of --pretrained; by default 0.01 "
        "if that is an imitation policy, else 0",
    )
    teacher_kl_reverse: Annotated[float, Field(ge=0)] | None = Field(
        None, description="Weight of KL(policy, teacher); by default 0"
    )
    uniform_kl: Annotated[float, Field(ge=0)] = Field(
        0.0,
        description="Weight of KL(uniform, policy), by which the policy keeps playing every legal action",
    )
    average: Annotated[float, Field(ge=0, lt=1)] = Field(
        0.0,
        description="Decay per iteration of an exponential moving average of the weights, which generations then have, "
        "and which is the teacher; 0: no average",
    )
    critic_burn_in: Natural | None = Field(
        None,
        description="First iterations that train only the critic; by default 20, a quarter of the run "
        "at most, where --pretrained was made by imitation, else 0",
    )


class LeagueConfig(OpponentConfig):
    """Opponents and ratings."""

    population: Changeable[Annotated[int, Field(ge=4, le=MOST)]] = Field(
        100, description="Generations, and exploiters, to keep; redundant ones are deleted"
    )
    patience: Positive = Field(4, description="Saves after which an exploiter of a league is frozen, won or not")
    max_frozen: Positive = Field(
        16, description="Frozen policies that new episodes can meet at once; up to twice as many are in play"
    )
    track_elo: Changeable[bool] = Field(False, description="Rate generations, and show the leaderboard")
    rating_share: Changeable[Fraction] = Field(0.1, description="Share of the time for rating games")
    gate: Literal["none", "sprt"] = Field(
        "none", description="Test that makes a generation `best`; `sprt` is a sequential test"
    )
    gate_bounds: tuple[float, float] = Field(
        (0.0, 30.0), description="Elo that the gate rejects and Elo that it accepts, both errors 5%"
    )

    @model_validator(mode="after")
    def _agree(self) -> LeagueConfig:
        if not self.gate_bounds[0] < self.gate_bounds[1]:
            raise ValueError("--set league.gate_bounds: the Elo to reject must be below the Elo to accept")
        return self


class RunConfig(SelfPlaySettings):
    """Length, games, hosts and reproducibility of a run."""

    timesteps: Changeable[Positive | None] = Field(100_000, description="Total steps, over all games")
    num_games: Positive = Field(4, description="Games played at once")
    deterministic: bool = Field(False, description="Bit-identical runs; also after --resume or with other cores")
    host: Changeable[Literal["auto", "thread", "process", "ray"]] = Field(
        "auto",
        description="`thread`, `process` or `ray`, where blocks of games run; `auto` = process if steps are slow",
    )
    runners: Natural = Field(0, description="Blocks of games, an actor each with --host ray; 0 = by cores and games")
    collect_timeout: Changeable[Seconds | None] = Field(
        None, description="Seconds until a segment counts as hung; by default ten times the median, 10 s at least"
    )
    process_mb: Changeable[Natural] = Field(
        PROCESS_MB, description="MB that the process of a block of games may allocate (Linux); 0 = no limit"
    )
    verbose: Changeable[bool] = Field(
        False, description="Write two lines for every iteration to the log; and details with each line of progress"
    )
    chaos: Changeable[str | None] = Field(None, description=CHAOS)
    pretrained: str | None = Field(
        None,
        description="Policy to start from: a folder, `scripted` or `none`; `scripted` imitates scripted players first, "
        "5 to 60 s, `none` starts from scratch",
    )

    @field_validator("pretrained")
    @classmethod
    def _none(cls, value: str | None) -> str | None:
        return None if value == "none" else value


class Config(Group):
    """All settings of a run."""

    game: GameConfig = GameConfig()
    net: NetConfig = NetConfig()
    ppo: PPOConfig = PPOConfig()
    league: LeagueConfig = LeagueConfig()
    run: RunConfig = RunConfig()
    guard: GuardConfig = GuardConfig()

    @property
    def steps_per_iteration(self) -> int:
        """Over all games."""
        return self.run.num_games * self.ppo.rollout_length

    @property
    def iterations(self) -> int | None:
        """Planned, whole ones, at least one; None where time alone ends the run."""
        if self.run.timesteps is None:
            return None
        return max(1, -(-self.run.timesteps // self.steps_per_iteration))

    def game_options(self, num_games: int) -> dict[str, object]:
        """Options of the training games, the same for every host; can be encoded as JSON."""
        return {"num_games": num_games, **self.game.own_settings.options(self)}

    @classmethod
    def model_validate(cls, obj: Any, **options: Any) -> Self:  # noqa: ANN401
        """Validate settings by group; those of a game are of its ``config_type``."""
        if cls is not Config or not is_known(name := _game_in(obj)):
            return super().model_validate(obj, **options)
        return cast("Self", config_type(name).model_validate(obj, **options))

    @model_validator(mode="after")
    def _agree(self) -> Config:
        if self.run.deterministic and self.run.max_minutes is not None:
            raise ValueError("--deterministic refuses --max-minutes: a clock is not reproducible")
        return self


SCRIPTED: Final = "scripted"
"""Value of ``run.pretrained``: imitate scripted players first. A folder of that name is given as ``./scripted``."""

GAME_FLAGS: Final = "Game"
FLAGS: Final[dict[str, tuple[Flag, ...]]] = {
    "Core": (
        ("--game-type", "game.type", "TYPE"),
        ("--pretrained", "run.pretrained", "PATH"),
        *LENGTH_FLAGS,
    ),
    "PPO": (
        *flags("ppo", rollout_length="N", batch_size="N"),
        ("--ppo-epochs", "ppo.epochs", "N"),
        ("--ppo-clip", "ppo.clip", "F"),
        *flags("ppo", learning_rate="F", gamma="F", gae_lambda="F", max_policy_lag="N"),
        ("--entropy", "ppo.entropy_coefficient", "F"),
        *flags("ppo", teacher_kl="F"),
        *flags("net", backbone="NAME", hidden="N,N"),
    ),
    GAME_FLAGS: (),
    "Opponents and tracking": (
        *LEAGUE_FLAGS,
        ("--gate", "league.gate", "TEST"),
    ),
    "Run": (
        *PLACE_FLAGS,
        *flags("run", collect_timeout="S", deterministic="", verbose=""),
        *FAULT_FLAGS,
    ),
}
"""Flags by section of the help; a game's own sections stand in place of ``GAME_FLAGS``."""
OPTIONS: Final = options(Config, FLAGS)
"""The options that every game has."""


@cache
def config_type(game: str) -> type[Config]:
    """The configuration of a game: the settings of the trainer and those that the game brings.

    Errors as of ``selfplay.games.registry.find_game``.
    """
    groups = dict(game_settings(game).groups)
    described = GameConfig.model_fields["type"].description
    base = groups.get("game", GameConfig)
    groups["game"] = create_model(base.__name__, __base__=base, type=(str, Field(game, description=described)))
    fields: dict[str, Any] = {name: (group, group()) for name, group in groups.items()}
    return create_model(Config.__name__, __base__=Config, **fields)


def default_game(game: str) -> Any:  # noqa: ANN401
    """The settings of a game without a word of the user; errors as of ``config_type``."""
    return config_type(game)().game


@cache
def options_of(game: str) -> tuple[Option, ...]:
    """The options of a game, with its own; errors as of ``config_type``."""
    sections: dict[str, Sequence[Flag]] = {}
    for name, its in FLAGS.items():
        sections |= game_settings(game).flags if name == GAME_FLAGS else {name: its}
    made = options(config_type(game), sections)
    # Without --game-type the game is not this one, but the default.
    return tuple(replace(option, root=Config) if option.path == "game.type" else option for option in made)


def _game_in(values: object) -> str:
    match values:
        case {"game": {"type": str(name)}} | {"game": GameConfig(type=name)}:
            return name
    return DEFAULT


def programs_of(game: str) -> tuple[Option, ...]:
    """Options for the programs that a game starts; errors as of ``config_type``."""
    found = marked(config_type(game), Mark.STARTS_PROGRAM)
    return tuple(option for option in options_of(game) if option.path in found)
