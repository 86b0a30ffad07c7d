"""Every setting of self-play in fights and solved games, validated, and the table of its flags."""

from __future__ import annotations

from dataclasses import fields
from typing import TYPE_CHECKING, Annotated, Any, Final, Literal, get_type_hints

from pydantic import Field, create_model, field_validator, model_serializer, model_validator

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
    applicable,
)
from selfplay.config.options import FAULT_FLAGS, LENGTH_FLAGS, PLACE_FLAGS, RATING_FLAGS, flags, options
from selfplay.games.errors import UnknownNameError
from selfplay.games.plugins import is_known
from selfplay.games.rated import LEDGE_GRAB_LIMIT, MAX_DELAY
from selfplay.games.registry import DEFAULT, find_game, games_of
from selfplay.runner import PROCESS_MB
from selfplay_melee.dolphin.install import FIRST_PORT, LAST_PORT, SLIPPI_PORT
from selfplay_melee.reward_weights import RewardWeights
from selfplay_melee.short_names import full_name

if TYPE_CHECKING:
    from pydantic import SerializationInfo, SerializerFunctionWrapHandler

    from selfplay.games.kind import GameKind
    from selfplay.games.rated import Body

CHAOS: Final = (
    "Fault injection, such as `crash=1e-3,nan=1e-3`; probabilities per segment of `crash`, `nan` and `slow`, "
    "with `--host process` or `ray` also of `hang` and `kill`"
)


class GameConfig(Group):
    """The game, and the characters, stage and limits of its episodes."""

    type: str = Field(
        DEFAULT,
        description="`mock`, `dolphin`, `kuhn` or `module:name`; `mock` is fast physics, `dolphin` the real game, "
        "`rps`, `pennies`, `kuhn`, `mixup` are solved, your own is `module:name`, one of PettingZoo "
        "`pettingzoo:MODULE`, one of an installed package has a name of its own",
    )
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
    dolphin: Annotated[str | None, Mark.MAY_CHANGE, Mark.STARTS_PROGRAM] = Field(
        None, description="Slippi Dolphin: its folder or executable"
    )
    iso: Annotated[str | None, Mark.MAY_CHANGE, Mark.STARTS_PROGRAM] = Field(None, description="Melee 1.02 disc image")

    @field_validator("character", "opponent_character", "stage")
    @classmethod
    def _full(cls, name: str | None) -> str | None:
        return None if name is None else full_name(name)

    @field_validator("type")
    @classmethod
    def _known(cls, name: str) -> str:
        if not is_known(name):
            raise ValueError(str(UnknownNameError("game", name, games_of("ppo"))))
        return name

    @property
    def entry(self) -> GameKind:
        """The game in the registry; imports the module of a game of the user's own."""
        return find_game(self.type)

    @property
    def body(self) -> Body:
        """What policies of these games keep of them."""
        body = self.entry.body
        return body(**self.model_dump(include={field.name for field in fields(body)}))

    @property
    def characters(self) -> tuple[str, str]:
        """Characters of seat 0 and seat 1."""
        return self.character, self.opponent_character or self.character


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


class NetConfig(StructureConfig):
    """The policy network, and how it begins."""

    rest: Annotated[float, Field(ge=0, lt=1)] = Field(
        0.8, description="Probability that a fresh policy leaves c-stick and shoulder alone; 0 = as any other value"
    )


class PPOConfig(Group):
    """The learner."""

    rollout_length: Positive = Field(128, description="Steps of every game in an iteration")
    batch_size: Positive = Field(2048, description="Maximum rows of a minibatch")
    epochs: Positive = Field(4, description="Passes over the steps of an iteration")
    clip: Annotated[float, Field(gt=0, lt=1)] = Field(0.2, description="Clip range of the probability ratio")
    learning_rate: Annotated[float, Field(gt=0, le=1)] = Field(3e-4, description="Learning rate of Adam")
    anneal: bool = Field(
        False,
        description="Lower learning rate, entropy bonus and the pull of the teacher linearly to a tenth over the run",
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
    critic_burn_in: Natural | None = Field(
        None,
        description="First iterations that train only the critic; by default 20, a quarter of the run "
        "at most, where --pretrained was made by imitation, else 0",
    )


class LeagueConfig(Group):
    """Opponents and ratings."""

    mode: str = Field(
        "latest",  # works in every game, also without scripted players: docs/trainer/learning.md compares the modes
        description="Choice of opponents; `simple_mix`, `latest`, `delta_uniform`, `quality`, `pfsp`, `pfsp_variance`, "
        "`league` (with two exploiters), `opponents` (only those of --opponent)",
    )
    current: Annotated[float, Field(ge=0)] = Field(0.4, description="Share of mirror games in simple_mix")
    recent: Annotated[float, Field(ge=0)] = Field(0.3, description="Share of the newer half of the generations")
    scripted: Annotated[float, Field(ge=0)] = Field(0.2, description="Share of scripted players")
    any_past: Annotated[float, Field(ge=0)] = Field(0.1, description="Share of any generation")
    held_out: tuple[str, ...] | None = Field(
        None,
        description="Scripted players never met in training; unseen opponents for the ratings; by default "
        "those that the game names (fights: `counter_hitter`, `all_rounder`)",
    )
    opponents: tuple[str, ...] = Field(
        (), description="Policies to play against, by folder or name; of other runs, or shipped ones such as strong"
    )
    opponent_share: Fraction = Field(
        0.2, description="Share of --opponent in training; the others of the mode share the rest"
    )
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
        if self.mode == "simple_mix" and not self.current + self.recent + self.scripted + self.any_past:
            raise ValueError("simple_mix needs a share above 0: league.current, recent, scripted or any_past")
        if self.mode == "opponents" and not self.opponents:
            raise ValueError("--mode opponents plays against the policies of --opponent: name at least one")
        if not self.gate_bounds[0] < self.gate_bounds[1]:
            raise ValueError("--set league.gate_bounds: the Elo to reject must be below the Elo to accept")
        return self


class RunConfig(SelfPlaySettings):
    """Length, games, hosts and reproducibility of a run."""

    timesteps: Changeable[Positive | None] = Field(100_000, description="Total steps, over all games")
    num_games: Positive = Field(4, description="Games played at once")
    deterministic: bool = Field(False, description="Bit-identical runs; also after --resume or with other cores")
    host: Changeable[Literal["thread", "process", "ray"]] = Field(
        "thread", description="`thread`, `process` or `ray`; where blocks of games run"
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
    emulator: EmulatorConfig = EmulatorConfig()
    reward: RewardConfig = RewardConfig()
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

    @model_serializer(mode="wrap")
    def _saved(self, dump: SerializerFunctionWrapHandler, info: SerializationInfo) -> dict[str, Any]:
        """In JSON, as a run and its policies keep it, it has the settings of its game alone."""
        values: dict[str, Any] = dump(self)
        return applicable(values, self.game.entry) if info.mode == "json" else values

    @model_validator(mode="after")
    def _agree(self) -> Config:
        if self.run.deterministic and self.run.max_minutes is not None:
            raise ValueError("--deterministic refuses --max-minutes: a clock is not reproducible")
        return self


SCRIPTED: Final = "scripted"
"""Value of ``run.pretrained``: imitate scripted players first. A folder of that name is given as ``./scripted``."""

RANDOM: Final = "random"
"""Name of a character or stage that a new run draws by its seed."""

OPTIONS: Final = options(
    Config,
    {
        "Core": (
            ("--game-type", "game.type", "TYPE"),
            ("--pretrained", "run.pretrained", "PATH"),
            *LENGTH_FLAGS,
        ),
        "PPO": (
            *flags("ppo", rollout_length="N", batch_size="N"),
            ("--ppo-epochs", "ppo.epochs", "N"),
            ("--ppo-clip", "ppo.clip", "F"),
            *flags("ppo", learning_rate="F", gamma="F", gae_lambda="F"),
            ("--entropy", "ppo.entropy_coefficient", "F"),
            *flags("ppo", teacher_kl="F"),
            *flags("net", backbone="NAME", hidden="N,N"),
        ),
        "Game": (
            *flags("game", character="NAME", opponent_character="NAME", stage="NAME"),
            *flags("game", max_episode_frames="N", frame_skip="N", delay="N"),
        ),
        "Dolphin": (
            *flags("game", dolphin="PATH", iso="PATH"),
            *flags("emulator", cpu_level="N", human_port="N", headless="", fast_forward="", save_replays=""),
        ),
        "Opponents and tracking": (
            ("--mode", "league.mode", "MODE"),
            ("--opponent", "league.opponents", "PATH,PATH"),
            ("--held-out", "league.held_out", "NAME"),
            *RATING_FLAGS,
            ("--gate", "league.gate", "TEST"),
        ),
        "Run": (
            *PLACE_FLAGS,
            *flags("run", collect_timeout="S", deterministic="", verbose=""),
            *FAULT_FLAGS,
        ),
    },
)
