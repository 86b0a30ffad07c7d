"""Every setting of dialogue self-play, validated; the flags that are made from them."""

from __future__ import annotations

from typing import Annotated, Any, Final, Literal

from pydantic import Field, model_validator

from envs.registry import DialogueName
from selfplay.config.base import Changeable, Fraction, Group, GuardConfig, Mark, Natural, Positive, SelfPlaySettings
from selfplay.config.options import FAULT_FLAGS, LENGTH_FLAGS, PLACE_FLAGS, RATING_FLAGS, options

TINY: Final = "tiny"
"""Name of the embedded model."""


class DialogueGameConfig(Group):
    """What is played."""

    type: DialogueName = Field(
        "matching", description="`matching` (reviewers and papers, a shared reward) or `kuhn_text` (Kuhn poker)"
    )
    size: Annotated[int, Field(ge=2, le=8)] | None = Field(
        None, description="Reviewers, and papers, of the matching; by default 4 with the embedded model, else 8"
    )
    max_turns: Annotated[int, Field(ge=2, le=1000)] | None = Field(
        None, description="Turns of a game, of both seats together; by default the game's"
    )
    retries: Annotated[int, Field(ge=0, le=100)] | None = Field(
        None, description="Retries after an invalid reply in a turn; by default the game's"
    )
    error_penalty: Annotated[float, Field(ge=0)] = Field(
        0.0, description="Penalty on a seat's reward for each invalid reply"
    )
    table: Literal["csv", "triples"] | None = Field(
        None, description="Format of the matching's table; by default `triples` with the embedded model, else `csv`"
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
    bf16: bool = Field(False, description="Forward passes in bfloat16; trained parameters stay float32")
    rows: Literal["conversation", "turn"] = Field(
        "conversation", description="Training rows: a seat's conversation, or each `turn` separately, "
        "for chat templates that change earlier messages"
    )  # fmt: skip
    lora_rank: Annotated[int, Field(ge=0, le=4096)] = Field(
        0, description="Rank of a LoRA adapter to train instead of the model; 0 = none"
    )
    lora_alpha: Positive = Field(32, description="LoRA alpha")
    lora_targets: str = Field("all-linear", description="LoRA target modules: `all-linear`, or names with commas")


class SamplingConfig(Group):
    """How replies are sampled."""

    temperature: Annotated[float, Field(gt=0, le=10)] = Field(1.0, description="Temperature")
    top_p: Annotated[float, Field(gt=0, le=1)] = Field(1.0, description="Nucleus sampling; 1 = off")
    max_new_tokens: Annotated[int, Field(ge=2, le=32768)] | None = Field(
        None,
        description="Token limit of a reply, beyond which it fails; by default 24 with the embedded model, else 512",
    )


class ServerConfig(Group):
    """Who writes replies in place of this process."""

    url: Annotated[str | None, Mark.STARTS_PROGRAM] = Field(
        None, description="URL of a SGLang or OpenAI-compatible server for the replies"
    )
    program: Annotated[Literal["sglang", "vllm"] | None, Mark.STARTS_PROGRAM] = Field(
        None, description="Start `sglang` or `vllm` on the model's folder for the replies"
    )
    arguments: Annotated[str, Mark.STARTS_PROGRAM] = Field(
        "", description="Additional arguments of that program, as one string"
    )
    start_timeout: Annotated[float, Field(gt=0)] = Field(
        600.0, description="Seconds until it must have started, or loaded a generation"
    )
    in_flight: Positive = Field(64, description="Concurrent requests of each runner")
    timeout: Annotated[float, Field(gt=0)] = Field(120.0, description="Seconds until an answer must be complete")
    retries: Annotated[int, Field(ge=0, le=1000)] = Field(
        5, description="Retries of a request, with back-off, before its game is dropped"
    )
    failures: Positive = Field(16, description="Failed replies in a row that end the run")
    truncate: Annotated[float, Field(ge=1)] = Field(
        2.0, description="Limit of the importance weight of a token sampled by a server"
    )

    @property
    def remote(self) -> bool:
        """Whether a server writes the replies."""
        return self.url is not None or self.program is not None


class GRPOConfig(Group):
    """The learner."""

    games_per_state: Positive = Field(
        8, description="Games on each initial state: the group whose rewards are compared"
    )
    advantage: Literal["grpo", "dr_grpo", "rloo"] = Field(
        "dr_grpo",
        description="Reward above the group's mean: divided by its deviation (`grpo`) or not (`dr_grpo`), or above the "
        "mean of the others (`rloo`)",
    )  # fmt: skip
    baseline: Literal["group", "role-ema"] = Field(
        "group", description="Baseline of the rewards: the group, or a moving average for the seat (`role-ema`)"
    )
    loss_agg: Literal["constant", "seq-mean", "token-mean"] = Field(
        "constant", description="Weight of a token in the loss: equal for all (`constant`), per row, or per batch"
    )
    learning_rate: Annotated[float, Field(gt=0, le=1)] | None = Field(
        None, description="Learning rate of AdamW; by default 2e-4 for the embedded model, else 1e-6"
    )
    clip_low: Annotated[float, Field(gt=0, lt=1)] = Field(0.2, description="Clip range of the ratio, below 1")
    clip_high: Annotated[float, Field(gt=0, lt=10)] = Field(0.2, description="Clip range of the ratio, above 1")
    kl: Annotated[float, Field(ge=0)] | None = Field(
        None, description="Weight of the KL to the initial model; by default 0 for the embedded model, else 0.001"
    )
    entropy: Annotated[float, Field(ge=0)] = Field(0.0, description="Weight of the entropy bonus")
    epochs: Positive = Field(1, description="Passes over an iteration's games")
    batch_rows: Positive = Field(512, description="Rows (one seat of a game each) of an optimiser step")
    micro_rows: Positive = Field(32, description="Rows of a forward pass")
    max_grad_norm: Annotated[float, Field(gt=0)] = Field(1.0, description="Clip of the gradient's norm")
    anneal: bool = Field(False, description="Lower the learning rate linearly to a tenth over the run")


class StartConfig(Group):
    """How the embedded model is made before it plays."""

    tokens: Positive = Field(4_000_000, description="Maximum number of tokens of its supervised training")
    learning_rate: Annotated[float, Field(gt=0, le=1)] = Field(2e-3, description="Learning rate of that")
    batch_rows: Positive = Field(32, description="Rows of a step of that")
    drills: Fraction = Field(0.25, description="Share of the tokens that begin it: exercises of one reply")
    mixed: tuple[Fraction, Fraction] = Field(
        (0.6, 0.2), description="Share of exercises among the rows after that: at first, and at the end"
    )
    fresh: bool = Field(False, description="Train it again even if it exists")


class DialogueLeagueConfig(Group):
    """What is rated while training."""

    track_elo: bool = Field(False, description="Rate generations while training")
    rating_share: Fraction = Field(0.1, description="Share of the time that rating games take")


class DialogueRunConfig(SelfPlaySettings):
    """How long, where and how reproducibly."""

    timesteps: Changeable[Positive | None] = Field(None, description="Total turns of the run, over all games")
    games: Changeable[Positive | None] = Field(10_240, description="Total games of the run")
    num_games: Positive = Field(256, description="Games of an iteration, all played at once; whole groups")
    host: Changeable[Literal["thread", "ray"]] = Field(
        "thread", description="Where games are played: in threads, or in actors of a Ray cluster on their CPUs"
    )
    workers: Changeable[Natural] = Field(
        0, description="Actors of `--host ray`, a CPU each; 0 = as many as --runners says"
    )
    runners: Natural = Field(0, description="Threads that play; 0 = one a core, limited by the groups")
    evaluation_states: Changeable[Natural] = Field(256, description="Held-out states of the final evaluation")
    chaos: Changeable[str | None] = Field(
        None, description="Fault injection: probabilities per batch of games, such as `crash=1e-3,nan=1e-3,slow=1e-3`"
    )


USUAL: Final[dict[str, dict[str, dict[str, Any]]]] = {
    "kuhn_text": {
        "start": {"tokens": 240_000, "batch_rows": 64, "drills": 0.15, "mixed": (0.3, 0.0)},
        "grpo": {"learning_rate": 1e-4, "entropy": 0.1, "batch_rows": 256},
        "sampling": {"max_new_tokens": 2},  # a move and its end: the bonus on entropy would be had by thoughts, too
        "run": {"games": 24_576, "num_games": 512, "save_interval": 2},
    },
}
"""Defaults of the embedded model in a game that differ from those in the matching, by group."""


class DialogueConfig(Group):
    """All settings of a run."""

    game: DialogueGameConfig = DialogueGameConfig()
    model: ModelConfig = ModelConfig()
    sampling: SamplingConfig = SamplingConfig()
    server: ServerConfig = ServerConfig()
    grpo: GRPOConfig = GRPOConfig()
    start: StartConfig = StartConfig()
    league: DialogueLeagueConfig = DialogueLeagueConfig()
    run: DialogueRunConfig = DialogueRunConfig()
    guard: GuardConfig = GuardConfig()

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

    @model_validator(mode="before")
    @classmethod
    def _as_usual(cls, values: Any) -> Any:  # noqa: ANN401
        """Fill in what is usual for the game, where nothing else was given."""
        if not isinstance(values, dict):
            return values
        given = {name: _given(part) for name, part in values.items()}
        game, model = given.get("game"), given.get("model", {})
        embedded = isinstance(model, dict) and model.get("name", TINY) == TINY
        usual = USUAL.get(str(game.get("type")), {}) if isinstance(game, dict) and embedded else {}
        for name, part in usual.items():
            mine = given.get(name, {})
            given[name] = {**part, **mine} if isinstance(mine, dict) else mine
        return given

    @model_validator(mode="after")
    def _agree(self) -> DialogueConfig:
        if self.run.num_games % self.grpo.games_per_state:
            raise ValueError(
                f"--num-games {self.run.num_games} must be a multiple of --games-per-state "
                f"{self.grpo.games_per_state}: an iteration plays whole groups"
            )
        if self.run.keep_best and not self.league.track_elo:
            raise ValueError("--keep-best keeps the best by rating games: add --track-elo")
        if self.server.url is not None and self.server.program is not None:
            raise ValueError("--server-url and --server exclude each other: one names a server, the other starts one")
        if self.server.remote and self.embedded:
            flag = "--server-url" if self.server.program is None else "--server"
            raise ValueError(f"{flag} needs --model NAME or FOLDER: `{TINY}` is made here, and writes its own replies")
        if self.server.remote and self.run.host == "ray":
            raise ValueError("--host ray places the model that writes the replies, and with a server there is none")
        if self.server.remote and self.model.lora_rank:
            raise ValueError("--lora-rank adapts the model here: a server, which is given whole models, would not know")
        if self.server.arguments and self.server.program is None:
            raise ValueError("--server-args are of a program that --server starts")
        return self


def _given(part: Any) -> Any:  # noqa: ANN401
    """Of a group, what was set."""
    return part.model_dump(exclude_unset=True) if isinstance(part, Group) else part


OPTIONS: Final = options(
    DialogueConfig,
    {
        "Core": (
            ("--game-type", "game.type", "TYPE"),
            ("--model", "model.name", "NAME"),
            ("--rows", "model.rows", "NAME"),
            ("--lora-rank", "model.lora_rank", "N"),
            ("--lora-alpha", "model.lora_alpha", "N"),
            ("--lora-targets", "model.lora_targets", "NAMES"),
            ("--bf16", "model.bf16", ""),
            ("--games", "run.games", "N"),
            *LENGTH_FLAGS,
        ),
        "GRPO": (
            ("--games-per-state", "grpo.games_per_state", "N"),
            ("--advantage", "grpo.advantage", "NAME"),
            ("--baseline", "grpo.baseline", "NAME"),
            ("--loss-agg", "grpo.loss_agg", "NAME"),
            ("--learning-rate", "grpo.learning_rate", "F"),
            ("--clip-low", "grpo.clip_low", "F"),
            ("--clip-high", "grpo.clip_high", "F"),
            ("--kl", "grpo.kl", "F"),
            ("--entropy", "grpo.entropy", "F"),
            ("--epochs", "grpo.epochs", "N"),
            ("--batch-size", "grpo.batch_rows", "N"),
        ),
        "Game and replies": (
            ("--game-size", "game.size", "N"),
            ("--max-turns", "game.max_turns", "N"),
            ("--retries", "game.retries", "N"),
            ("--error-penalty", "game.error_penalty", "F"),
            ("--table", "game.table", "NAME"),
            ("--temperature", "sampling.temperature", "F"),
            ("--top-p", "sampling.top_p", "F"),
            ("--max-new-tokens", "sampling.max_new_tokens", "N"),
        ),
        "Servers": (
            ("--server-url", "server.url", "URL"),
            ("--server", "server.program", "NAME"),
            ("--server-args", "server.arguments", "TEXT"),
            ("--server-start-timeout", "server.start_timeout", "F"),
            ("--server-in-flight", "server.in_flight", "N"),
            ("--server-timeout", "server.timeout", "F"),
            ("--server-retries", "server.retries", "N"),
            ("--server-failures", "server.failures", "N"),
            ("--server-truncate", "server.truncate", "F"),
        ),
        "The embedded model": (
            ("--start-tokens", "start.tokens", "N"),
            ("--fresh-start", "start.fresh", ""),
        ),
        "Ratings": (*RATING_FLAGS,),
        "Run": (
            *PLACE_FLAGS,
            ("--evaluation-states", "run.evaluation_states", "N"),
            *FAULT_FLAGS,
        ),
    },
)
