"""Every setting of a run, validated; one table of flags that the parser, the header and the guide are made from.

Values come from, later ones win: defaults, ``--preset``, ``--config FILE.toml``, ``--set group.name=value``, flags.
"""

from __future__ import annotations

from typing import Annotated, Any, Final, Literal

from pydantic import Field, model_validator

from envs.melee.dolphin.install import FIRST_PORT, LAST_PORT, SLIPPI_PORT
from selfplay import guard, options
from selfplay.guard import GuardConfig
from selfplay.options import Fraction, Group, Positive

CHAOS: Final = (
    "Faults on purpose: probabilities a segment, such as `crash=1e-3,nan=1e-3`; `crash`, `nan` and `slow`, "
    "with `--host process` or `ray` also `hang` and `kill`"
)

Layer = Annotated[int, Field(ge=1, le=8192)]
Seconds = Annotated[float, Field(gt=0)]


class GameConfig(Group):
    """What is played."""

    type: Literal["mock", "dolphin", "rps", "pennies", "kuhn", "mixup"] = Field(
        "mock",
        description="`mock` (fast physics), `dolphin` (the real game), or a small game with a known answer: "
        "`rps`, `pennies`, `kuhn`, `mixup`",
    )
    character: str = Field("mewtwo", description="Character of the learner, or `random`")
    opponent_character: str | None = Field(
        None, description="Character of the other seat, or `random`; by default the same"
    )
    stage: str = Field("final_destination", description="Stage, or `random`: one is drawn for the run")
    max_episode_frames: Positive = Field(3600, description="Cap of an episode in frames (60 a second)")
    frame_skip: Annotated[int, Field(ge=1, le=30)] = Field(4, description="Frames between two decisions")
    delay: Annotated[int, Field(ge=0, le=60)] = Field(0, description="Frames between seeing and acting")
    dolphin: str | None = Field(None, description="Slippi Dolphin: its folder or executable")
    iso: str | None = Field(None, description="Melee 1.02 disc image")

    @property
    def characters(self) -> tuple[str, str]:
        """Of seat 0 and seat 1."""
        return self.character, self.opponent_character or self.character


class EmulatorConfig(Group):
    """The emulators that real games run in, and who else plays in them."""

    cpu_level: Annotated[int, Field(ge=1, le=9)] | None = Field(
        None, description="The other seat is Melee's own computer player of this level, 1 to 9"
    )
    human_port: Annotated[int, Field(ge=1, le=4)] | None = Field(
        None, description="The other seat is a person with a controller at this port, 1 to 4"
    )
    headless: bool = Field(False, description="Run without windows")
    fast_forward: bool = Field(False, description="Play as fast as the machine can; needs an ExiAI build")
    slippi_port: Annotated[int, Field(ge=FIRST_PORT, le=LAST_PORT)] = Field(
        SLIPPI_PORT, description="First of the network ports on which emulators report their frames"
    )
    save_replays: bool = Field(False, description="Keep every game as a .slp file, in `replays` of the run's folder")
    start_timeout: Seconds = Field(60.0, description="Seconds until an emulator must be in its first game")
    frame_timeout: Seconds = Field(5.0, description="Seconds without a frame after which a game is lost")
    recycle_frames: Annotated[int, Field(ge=0)] = Field(
        1_000_000, description="Frames after which an emulator is replaced by a fresh one; 0 = never"
    )
    recycle_mb: Annotated[int, Field(ge=0)] = Field(
        2000, description="MB that its processes may grow by since its first game until it is replaced; 0 = never"
    )

    @property
    def outsider(self) -> str | None:
        """Id of who plays the other seat without being one of the run's players; None where nobody does."""
        if self.human_port is not None:
            return "human"
        return None if self.cpu_level is None else f"cpu_{self.cpu_level}"


class RewardConfig(Group):
    """Zero-sum terms, in reward units."""

    stock: Annotated[float, Field(ge=0)] = Field(5.0, description="For a stock taken; the other seat loses as much")
    damage: Annotated[float, Field(ge=0)] = Field(0.05, description="For a percent of damage dealt")


class StructureConfig(Group):
    """What the policy network is made of."""

    backbone: Literal["mlp", "gru", "lstm", "mamba", "attention"] = Field(
        "mlp", description="`mlp` sees one moment; `gru`, `lstm`, `mamba` and `attention` remember"
    )
    hidden: tuple[Layer, ...] = Field(
        (128, 128),
        max_length=64,
        description="Widths of the layers; with memory: a dense one, then layers that remember, all as wide",
    )
    window: Annotated[int, Field(ge=2, le=1024)] = Field(60, description="Decisions that `attention` looks back on")
    activation: Literal["tanh", "relu", "silu"] = Field("tanh", description="Activation")


class NetConfig(StructureConfig):
    """The policy network, and how it begins."""

    rest: Annotated[float, Field(ge=0, lt=1)] = Field(
        0.8, description="Probability that a fresh policy leaves c-stick and shoulder alone; 0 = as any other value"
    )


class PPOConfig(Group):
    """The learner."""

    rollout_length: Positive = Field(128, description="Steps of every game in an iteration")
    batch_size: Positive = Field(2048, description="Rows of a minibatch, at most what the iteration collected")
    epochs: Positive = Field(4, description="Passes over an iteration's experiences")
    clip: Annotated[float, Field(gt=0, lt=1)] = Field(0.2, description="Clip range of the probability ratio")
    learning_rate: Annotated[float, Field(gt=0, le=1)] = Field(3e-4, description="Learning rate of Adam")
    anneal: bool = Field(False, description="Lower learning rate and entropy bonus linearly to a tenth over the run")
    gamma: Annotated[float, Field(ge=0, le=1)] = Field(0.99, description="Discount a step")
    gae_lambda: Fraction = Field(0.95, description="Lambda of generalised advantage estimation")
    value_clip: Annotated[float, Field(gt=0)] = Field(1.0, description="Clip range of the value's change")
    value_coefficient: Annotated[float, Field(ge=0)] = Field(0.5, description="Weight of the value loss")
    entropy_coefficient: Annotated[float, Field(ge=0)] = Field(0.003, description="Weight of the entropy bonus")
    max_grad_norm: Annotated[float, Field(gt=0)] = Field(0.5, description="Clip of the gradient's norm")
    target_kl: Annotated[float, Field(ge=0)] = Field(0.0, description="End an update at this mean KL; 0 = never")
    step_kl: Annotated[float, Field(ge=0)] = Field(
        0.5, description="Take an update back whose mean KL to the policy before it is greater; 0 = never"
    )
    teacher_kl: Annotated[float, Field(ge=0)] | None = Field(
        None,
        description="Weight of KL(teacher, policy), the teacher being the policy of --pretrained; by default 0.01 "
        "where that was made by imitation, else 0",
    )
    teacher_kl_reverse: Annotated[float, Field(ge=0)] | None = Field(
        None, description="Weight of KL(policy, teacher); by default 0"
    )
    critic_burn_in: Annotated[int, Field(ge=0)] | None = Field(
        None,
        description="Iterations at the beginning in which the critic alone learns; by default 20, a quarter of the run "
        "at most, where --pretrained was made by imitation, else 0",
    )


class LeagueConfig(Group):
    """Opponents and ratings."""

    mode: str = Field(
        "latest",  # learned most on one budget: docs/learning.md compares the modes
        description="Choice of opponents: `simple_mix`, `latest`, `delta_uniform`, `quality`, `pfsp`, `pfsp_variance`, "
        "`league` (with two exploiters), `opponents` (those of --opponent alone)",
    )
    current: Annotated[float, Field(ge=0)] = Field(0.4, description="Share of mirror games in simple_mix")
    recent: Annotated[float, Field(ge=0)] = Field(0.3, description="Share of the newer half of the generations")
    scripted: Annotated[float, Field(ge=0)] = Field(0.2, description="Share of scripted players")
    any_past: Annotated[float, Field(ge=0)] = Field(0.1, description="Share of any generation")
    held_out: tuple[str, ...] = Field(
        ("counter_hitter",),
        description="Scripted players never met in training, so that ratings have one unknown to it",
    )
    opponents: tuple[str, ...] = Field((), description="Policies of other runs to play against, by folder")
    opponent_share: Fraction = Field(
        0.2, description="Share of --opponent in training; the others of the mode share the rest"
    )
    population: Annotated[int, Field(ge=4)] = Field(
        100, description="Generations, and exploiters, that are kept; those that the others cover are deleted"
    )
    patience: Positive = Field(4, description="Saves after which an exploiter of a league is frozen, won or not")
    max_frozen: Positive = Field(4, description="Frozen policies in play at once in a block")
    track_elo: bool = Field(False, description="Rate generations while training and show the leaderboard")
    rating_share: Fraction = Field(0.1, description="Share of the time that rating games may take")
    gate: Literal["none", "sprt"] = Field(
        "none", description="`sprt`: a generation becomes `best` when a sequential test says that it is stronger"
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
            raise ValueError("--gate-bounds: the Elo to reject must be below the Elo to accept")
        return self


class RunConfig(Group):
    """How long, where and how reproducibly."""

    timesteps: Positive | None = Field(100_000, description="Total steps of the run, over all games")
    max_minutes: Annotated[float, Field(gt=0)] | None = Field(None, description="Total minutes of the run")
    num_games: Positive = Field(4, description="Games played at once")
    checkpoint: str = Field("checkpoints/self_play", description="Folder of the run")
    save_interval: Positive = Field(10, description="Iterations between generations and checkpoints")
    keep_checkpoints: Positive = Field(2, description="States to resume from that are kept, the newest")
    keep_every: Annotated[int, Field(ge=0)] = Field(
        0, description="Keep the first state of every so many iterations for ever; 0 = none"
    )
    keep_best: bool = Field(
        False, description="Never delete the best generation, by gate or rating, nor its state; needs --track-elo"
    )
    seed: Annotated[int, Field(ge=0, lt=2**63)] = Field(0, description="Seed of everything random")
    deterministic: bool = Field(False, description="Equal runs, bit for bit; a resumed one too")
    device: str = Field("cpu", description="`cpu`, `cuda`, `cuda:N` or `auto`")
    host: Literal["thread", "process", "ray"] = Field(
        "thread", description="Where blocks of games live: in threads, child processes, or actors of a Ray cluster"
    )
    ray_address: str | None = Field(
        None, description="Ray cluster of `--host ray`: `auto` or `HOST:PORT`; by default one of its own, here"
    )
    workers: Annotated[int, Field(ge=0)] = Field(
        0, description="Actors of `--host ray`, a block of games and a CPU each; 0 = as many as --runners says"
    )
    runners: Annotated[int, Field(ge=0)] = Field(0, description="Blocks of games; 0 = by cores and games")
    threads: Annotated[int, Field(ge=0)] = Field(0, description="Threads of the update; 0 = one a core, 4 at most")
    collect_timeout: Seconds | None = Field(
        None, description="Seconds until a segment counts as hung; by default ten times the median, 10 s at least"
    )
    chaos: str | None = Field(None, description=CHAOS)
    pretrained: str | None = Field(None, description="Policy folder to start from")


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

    @model_validator(mode="after")
    def _agree(self) -> Config:
        if self.run.deterministic and self.run.max_minutes is not None:
            raise ValueError("--deterministic refuses --max-minutes: a clock is not reproducible")
        return self


RANDOM: Final = "random"
"""Name of a character or stage that a new run draws by its seed."""

PRESETS: Final[dict[str, dict[str, Any]]] = {
    # What learned best on two cores; docs/learning.md has the figures.
    "laptop": {
        "game": {"max_episode_frames": 14400},
        "run": {"timesteps": 12_000_000, "num_games": 256, "save_interval": 50},
        "ppo": {
            "rollout_length": 32,
            "batch_size": 4096,
            "learning_rate": 1e-3,
            "entropy_coefficient": 2.5e-3,
            "anneal": True,
        },
    },
}


class Option(options.Option):
    """A flag of ``train_self_play.py``."""

    __slots__ = ()
    root = Config


_CORE, _PPO, _GAME, _DOLPHIN = "Core", "PPO", "Game", "Dolphin"
_TRACK, _RUN = "Opponents and tracking", "Run"
OPTIONS: Final[tuple[Option, ...]] = (
    Option("--pretrained", "run.pretrained", _CORE, "PATH"),
    Option("--game-type", "game.type", _CORE, "TYPE"),
    Option("--timesteps", "run.timesteps", _CORE, "N"),
    Option("--max-minutes", "run.max_minutes", _CORE, "F"),
    Option("--num-games", "run.num_games", _CORE, "N"),
    Option("--checkpoint", "run.checkpoint", _CORE, "PATH"),
    Option("--save-interval", "run.save_interval", _CORE, "N"),
    Option("--seed", "run.seed", _CORE, "N"),
    Option("--rollout-length", "ppo.rollout_length", _PPO, "N"),
    Option("--batch-size", "ppo.batch_size", _PPO, "N"),
    Option("--ppo-epochs", "ppo.epochs", _PPO, "N"),
    Option("--ppo-clip", "ppo.clip", _PPO, "F"),
    Option("--learning-rate", "ppo.learning_rate", _PPO, "F"),
    Option("--gamma", "ppo.gamma", _PPO, "F"),
    Option("--gae-lambda", "ppo.gae_lambda", _PPO, "F"),
    Option("--entropy", "ppo.entropy_coefficient", _PPO, "F"),
    Option("--target-kl", "ppo.target_kl", _PPO, "F"),
    Option("--step-kl", "ppo.step_kl", _PPO, "F"),
    Option("--teacher-kl", "ppo.teacher_kl", _PPO, "F"),
    Option("--teacher-kl-reverse", "ppo.teacher_kl_reverse", _PPO, "F"),
    Option("--critic-burn-in", "ppo.critic_burn_in", _PPO, "N"),
    Option("--backbone", "net.backbone", _PPO, "NAME"),
    Option("--hidden", "net.hidden", _PPO, "N,N"),
    Option("--window-size", "net.window", _PPO, "N"),
    Option("--character", "game.character", _GAME, "NAME"),
    Option("--opponent-character", "game.opponent_character", _GAME, "NAME"),
    Option("--stage", "game.stage", _GAME, "NAME"),
    Option("--max-episode-frames", "game.max_episode_frames", _GAME, "N"),
    Option("--frame-skip", "game.frame_skip", _GAME, "N"),
    Option("--delay", "game.delay", _GAME, "N"),
    Option("--dolphin", "game.dolphin", _DOLPHIN, "PATH"),
    Option("--iso", "game.iso", _DOLPHIN, "PATH"),
    Option("--cpu-level", "emulator.cpu_level", _DOLPHIN, "N"),
    Option("--human-port", "emulator.human_port", _DOLPHIN, "N"),
    Option("--headless", "emulator.headless", _DOLPHIN),
    Option("--fast-forward", "emulator.fast_forward", _DOLPHIN),
    Option("--slippi-port", "emulator.slippi_port", _DOLPHIN, "N"),
    Option("--save-replays", "emulator.save_replays", _DOLPHIN),
    Option("--mode", "league.mode", _TRACK, "MODE"),
    Option("--opponent", "league.opponents", _TRACK, "PATH,PATH"),
    Option("--opponent-share", "league.opponent_share", _TRACK, "F"),
    Option("--population", "league.population", _TRACK, "N"),
    Option("--held-out", "league.held_out", _TRACK, "NAME,NAME"),
    Option("--track-elo", "league.track_elo", _TRACK),
    Option("--rating-share", "league.rating_share", _TRACK, "F"),
    Option("--gate", "league.gate", _TRACK, "TEST"),
    Option("--gate-bounds", "league.gate_bounds", _TRACK, "F,F"),
    Option("--keep-checkpoints", "run.keep_checkpoints", _RUN, "N"),
    Option("--keep-every", "run.keep_every", _RUN, "N"),
    Option("--keep-best", "run.keep_best", _RUN),
    Option("--device", "run.device", _RUN, "NAME"),
    Option("--host", "run.host", _RUN, "HOST"),
    Option("--ray-address", "run.ray_address", _RUN, "ADDRESS"),
    Option("--workers", "run.workers", _RUN, "N"),
    Option("--runners", "run.runners", _RUN, "N"),
    Option("--threads", "run.threads", _RUN, "N"),
    Option("--collect-timeout", "run.collect_timeout", _RUN, "S"),
    Option("--deterministic", "run.deterministic", _RUN),
    Option("--chaos", "run.chaos", _RUN, "PLAN"),
    *(Option(flag, path, _RUN, metavar) for flag, path, metavar in guard.FLAGS),
)


def by_path() -> dict[str, Option]:
    """The options by the setting that they set."""
    return options.by_path(OPTIONS)
