"""Every setting of self-play in words, validated; the flags that are made from them."""

from __future__ import annotations

from typing import Annotated, Any, Final, Literal

from pydantic import Field, model_validator

from selfplay import options
from selfplay.options import Fraction, Group, Positive

TINY: Final = "tiny"
"""Name of the embedded model."""


class WordGameConfig(Group):
    """What is played."""

    type: Literal["matching", "kuhn_text"] = Field(
        "matching", description="`matching` (reviewers and papers, a shared reward) or `kuhn_text` (Kuhn poker)"
    )
    size: Annotated[int, Field(ge=2, le=8)] | None = Field(
        None, description="Reviewers, and papers, of the matching; by default 4 with the embedded model, else 8"
    )
    max_turns: Annotated[int, Field(ge=2, le=1000)] | None = Field(
        None, description="Turns of a game, of both seats together; by default the game's"
    )
    retries: Annotated[int, Field(ge=0, le=100)] | None = Field(
        None, description="Refused replies that a turn may have; by default the game's"
    )
    error_penalty: Annotated[float, Field(ge=0)] = Field(
        0.0, description="Taken from a seat's reward for each refused reply"
    )
    table: Literal["csv", "triples"] | None = Field(
        None, description="How the matching's table is told; by default `triples` to the embedded model, else `csv`"
    )

    @property
    def settings(self) -> dict[str, Any]:
        """Of the game's rules, those that were given."""
        given: dict[str, Any] = {name: getattr(self, name) for name in ("max_turns", "retries")}
        if self.type == "matching":
            given |= {"size": self.size, "table": self.table}
        given = {name: value for name, value in given.items() if value is not None}
        return given | ({"error_penalty": self.error_penalty} if self.error_penalty else {})


class ModelConfig(Group):
    """Who plays and learns."""

    name: str = Field(TINY, description="`tiny`, a Hugging Face name, or a folder")
    bf16: bool = Field(False, description="Forward passes of the update in bfloat16")


class SamplingConfig(Group):
    """How replies are sampled."""

    temperature: Annotated[float, Field(gt=0, le=10)] = Field(1.0, description="Temperature")
    top_p: Annotated[float, Field(gt=0, le=1)] = Field(1.0, description="Nucleus that is sampled from; 1 = everything")
    max_new_tokens: Annotated[int, Field(ge=2, le=32768)] | None = Field(
        None, description="Tokens of a reply; one that is longer fails. By default 24 with the embedded model, else 512"
    )


class GRPOConfig(Group):
    """The learner."""

    games_per_state: Positive = Field(8, description="Games on each initial state, whose rewards are compared")
    advantage: Literal["grpo", "dr_grpo", "rloo"] = Field(
        "dr_grpo",
        description="Reward above the group's mean: divided by its deviation (`grpo`) or not (`dr_grpo`), or above the "
        "mean of the others (`rloo`)",
    )  # fmt: skip
    baseline: Literal["group", "role-ema"] = Field(
        "group", description="What rewards are compared with: the group, or a moving mean of the seat (`role-ema`)"
    )
    loss_agg: Literal["constant", "seq-mean", "token-mean"] = Field(
        "constant", description="What a token weighs: all the same (`constant`), all rows the same, all of a batch"
    )
    learning_rate: Annotated[float, Field(gt=0, le=1)] | None = Field(
        None, description="Learning rate of AdamW; by default 2e-4 for the embedded model, else 1e-6"
    )
    clip_low: Annotated[float, Field(gt=0, lt=1)] = Field(0.2, description="Clip range of the ratio, below 1")
    clip_high: Annotated[float, Field(gt=0, lt=10)] = Field(0.2, description="Clip range of the ratio, above 1")
    kl: Annotated[float, Field(ge=0)] | None = Field(
        None, description="Weight of KL to the model of the start; by default 0 for the embedded model, else 0.001"
    )
    entropy: Annotated[float, Field(ge=0)] = Field(0.0, description="Weight of the entropy bonus")
    epochs: Positive = Field(1, description="Passes over an iteration's games")
    batch_rows: Positive = Field(512, description="Rows, a seat of a game each, of a step of the optimiser")
    micro_rows: Positive = Field(32, description="Rows of a forward pass")
    max_grad_norm: Annotated[float, Field(gt=0)] = Field(1.0, description="Clip of the gradient's norm")
    anneal: bool = Field(False, description="Lower the learning rate linearly to a tenth over the run")


class StartConfig(Group):
    """How the embedded model is made before it plays."""

    tokens: Positive = Field(12_000_000, description="Tokens that it is taught with, at most")
    learning_rate: Annotated[float, Field(gt=0, le=1)] = Field(2e-3, description="Learning rate of that")
    batch_rows: Positive = Field(32, description="Rows of a step of that")
    drills: Fraction = Field(0.25, description="Share of the tokens that begin it: exercises of one reply")
    mixed: tuple[Fraction, Fraction] = Field(
        (0.6, 0.2), description="Share of exercises among the rows after that: at first, and at the end"
    )
    fresh: bool = Field(False, description="Make it anew, although one is there")


class WordsRunConfig(Group):
    """How long, where and how reproducibly."""

    timesteps: Positive | None = Field(None, description="Total turns of the run, over all games")
    games: Positive | None = Field(10_240, description="Total games of the run")
    max_minutes: Annotated[float, Field(gt=0)] | None = Field(None, description="Total minutes of the run")
    num_games: Positive = Field(256, description="Games in play, and of an iteration: whole groups")
    checkpoint: str = Field("checkpoints/self_play", description="Folder of the run")
    save_interval: Positive = Field(10, description="Iterations between generations and checkpoints")
    seed: Annotated[int, Field(ge=0, lt=2**63)] = Field(0, description="Seed of everything random")
    device: str = Field("cpu", description="`cpu`, `cuda`, `cuda:N` or `auto`")
    runners: Annotated[int, Field(ge=0)] = Field(0, description="Threads that play; 0 = one a core, as groups allow")
    threads: Annotated[int, Field(ge=0)] = Field(0, description="Threads of the update; 0 = one a core, 4 at most")
    evaluation_states: Annotated[int, Field(ge=0)] = Field(
        256, description="States that the run's end is judged on, never trained on"
    )


class LanguageConfig(Group):
    """All settings of a run."""

    game: WordGameConfig = WordGameConfig()
    model: ModelConfig = ModelConfig()
    sampling: SamplingConfig = SamplingConfig()
    grpo: GRPOConfig = GRPOConfig()
    start: StartConfig = StartConfig()
    run: WordsRunConfig = WordsRunConfig()

    @property
    def embedded(self) -> bool:
        """Whether the model is made here."""
        return self.model.name == TINY

    @property
    def states_per_iteration(self) -> int:
        """Initial states of an iteration."""
        return self.run.num_games // self.grpo.games_per_state

    @property
    def iterations(self) -> int | None:
        """Planned, whole ones; None where turns or time alone end the run."""
        return None if self.run.games is None else max(1, -(-self.run.games // self.run.num_games))

    @model_validator(mode="after")
    def _agree(self) -> LanguageConfig:
        if self.run.num_games % self.grpo.games_per_state:
            raise ValueError(
                f"--num-games {self.run.num_games} must be a multiple of --games-per-state "
                f"{self.grpo.games_per_state}: an iteration plays whole groups"
            )
        return self


PRESETS: Final[dict[str, dict[str, Any]]] = {
    "laptop": {
        "run": {"games": 45_056, "num_games": 256, "save_interval": 20, "evaluation_states": 1024},
    },
}


class Option(options.Option):
    """A flag of ``train_self_play.py`` for games of words."""

    __slots__ = ()
    root = LanguageConfig


_CORE, _GRPO, _GAME, _START, _RUN = "Core", "GRPO", "Game and replies", "The embedded model", "Run"
OPTIONS: Final[tuple[Option, ...]] = (
    Option("--game-type", "game.type", _CORE, "TYPE"),
    Option("--model", "model.name", _CORE, "NAME"),
    Option("--games", "run.games", _CORE, "N"),
    Option("--timesteps", "run.timesteps", _CORE, "N"),
    Option("--max-minutes", "run.max_minutes", _CORE, "F"),
    Option("--num-games", "run.num_games", _CORE, "N"),
    Option("--checkpoint", "run.checkpoint", _CORE, "PATH"),
    Option("--save-interval", "run.save_interval", _CORE, "N"),
    Option("--seed", "run.seed", _CORE, "N"),
    Option("--games-per-state", "grpo.games_per_state", _GRPO, "N"),
    Option("--advantage", "grpo.advantage", _GRPO, "NAME"),
    Option("--baseline", "grpo.baseline", _GRPO, "NAME"),
    Option("--loss-agg", "grpo.loss_agg", _GRPO, "NAME"),
    Option("--learning-rate", "grpo.learning_rate", _GRPO, "F"),
    Option("--clip-low", "grpo.clip_low", _GRPO, "F"),
    Option("--clip-high", "grpo.clip_high", _GRPO, "F"),
    Option("--kl", "grpo.kl", _GRPO, "F"),
    Option("--entropy", "grpo.entropy", _GRPO, "F"),
    Option("--epochs", "grpo.epochs", _GRPO, "N"),
    Option("--batch-size", "grpo.batch_rows", _GRPO, "N"),
    Option("--game-size", "game.size", _GAME, "N"),
    Option("--max-turns", "game.max_turns", _GAME, "N"),
    Option("--retries", "game.retries", _GAME, "N"),
    Option("--error-penalty", "game.error_penalty", _GAME, "F"),
    Option("--table", "game.table", _GAME, "NAME"),
    Option("--temperature", "sampling.temperature", _GAME, "F"),
    Option("--top-p", "sampling.top_p", _GAME, "F"),
    Option("--max-new-tokens", "sampling.max_new_tokens", _GAME, "N"),
    Option("--start-tokens", "start.tokens", _START, "N"),
    Option("--fresh-start", "start.fresh", _START),
    Option("--device", "run.device", _RUN, "NAME"),
    Option("--runners", "run.runners", _RUN, "N"),
    Option("--threads", "run.threads", _RUN, "N"),
    Option("--evaluation-states", "run.evaluation_states", _RUN, "N"),
)
