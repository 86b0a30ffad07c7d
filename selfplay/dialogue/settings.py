"""Every setting of dialogue self-play, validated; the flags that are made from them."""

from __future__ import annotations

from typing import Annotated, Any, Final, Literal

from pydantic import AfterValidator, Field, ValidationInfo, model_validator

from selfplay.config.base import (
    PARTIAL,
    Changeable,
    Fraction,
    Group,
    GuardConfig,
    Mark,
    Natural,
    Positive,
    SelfPlaySettings,
)
from selfplay.config.options import FAULT_FLAGS, LEAGUE_FLAGS, LENGTH_FLAGS, PLACE_FLAGS, flags, options
from selfplay.dialogue import DEFAULT
from selfplay.dialogue.find import text_kind
from selfplay.dialogue.opponent_settings import DialogueLeagueConfig
from selfplay.errors import ConfigError
from selfplay.games.errors import GameError, UnknownNameError
from selfplay.games.registry import games_of


def _known(name: str) -> str:
    try:
        if text_kind(name) is None:
            raise UnknownNameError("game", name, games_of("dialogue"))
    except GameError as error:
        raise ValueError(str(error)) from error
    return name


DialogueName = Annotated[str, AfterValidator(_known)]
TINY: Final = "tiny"  # name of the embedded model


class DialogueGameConfig(Group):
    """Game."""

    type: DialogueName = Field(DEFAULT, description="Text game; your own as `module:name`, or `textarena:ID`")
    size: int | None = Field(None, ge=1, description="Size, in games that have several; default: the game's")
    max_turns: int | None = Field(
        None, ge=2, le=1000, description="Turns of a game, both seats together; default: the game's"
    )
    retries: int | None = Field(None, ge=0, le=100, description="Refused replies per turn; default: the game's")
    error_penalty: float = Field(0.0, ge=0, description="Penalty for each refused reply")
    table: str | None = Field(None, description="Format of tables, in games that show some; default: the game's")

    @property
    def settings(self) -> dict[str, Any]:
        """Those of the rules that were given; a game refuses what it has not."""
        given = {name: value for name, value in self.model_dump(exclude={"type"}).items() if value is not None}
        if not self.error_penalty:
            del given["error_penalty"]
        return given


class ModelConfig(Group):
    """Model."""

    name: str = Field(TINY, description="`tiny`, a Hugging Face name, or a folder")
    bf16: bool = Field(False, description="Forward passes in bfloat16; trained parameters stay float32")
    rows: Literal["conversation", "turn"] = Field(
        "conversation",
        description="A row per `conversation` or `turn`; the latter for chat templates that change earlier messages",
    )
    lora_rank: int = Field(0, ge=0, le=4096, description="Rank of an adapter, trained in place of the model; 0 = none")
    lora_alpha: Positive = Field(32, description="Weight of the adapter times its rank")
    lora_targets: str = Field("all-linear", description="Adapted modules: `all-linear`, or names separated by commas")


class SamplingConfig(Group):
    """Sampling of replies."""

    temperature: float = Field(1.0, gt=0, le=10, description="Temperature")
    top_p: float = Field(1.0, gt=0, le=1, description="Probability mass of the nucleus; 1 = all tokens")
    max_new_tokens: int | None = Field(
        None,
        ge=2,
        le=32768,
        description="Tokens per reply; longer ones fail. Default 24 with the embedded model, else 512",
    )


class ServerConfig(Group):
    """Inference server."""

    url: Annotated[str | None, Mark.STARTS_PROGRAM] = Field(
        None, description="Server that writes the replies; SGLang or OpenAI-compatible"
    )
    frozen: Changeable[bool] = Field(False, description="Never send the trained weights to --server-url")
    program: Annotated[Literal["sglang", "vllm"] | None, Mark.STARTS_PROGRAM] = Field(
        None, description="Start `sglang` or `vllm` to write the replies; with the model"
    )
    arguments: Annotated[str, Mark.STARTS_PROGRAM] = Field(
        "", description="More arguments of that program, as one string"
    )
    memory_share: float | None = Field(None, gt=0, lt=1, description="Share of the learner's device for that program")
    start_timeout: float = Field(600.0, gt=0, description="Seconds until it is started, or has loaded a generation")
    in_flight: Positive = Field(64, description="Concurrent requests per runner")
    timeout: float = Field(120.0, gt=0, description="Seconds until the last byte of a response")
    retries: int = Field(
        5, ge=0, le=1000, description="Retries of a request, with increasing delays, before its game is lost"
    )
    failures: Positive = Field(16, description="Consecutive lost replies that end the run")
    truncate: float = Field(2.0, ge=1, description="Maximum importance weight of tokens that a server sampled")

    @property
    def remote(self) -> bool:
        return self.url is not None or self.program is not None


class GRPOConfig(Group):
    """Learner."""

    games_per_state: Positive = Field(8, description="Games per initial state; their rewards are compared")
    advantage: Literal["grpo", "dr_grpo", "rloo"] = Field(
        "dr_grpo", description="`dr_grpo`, `grpo` or `rloo`; reward minus the group's mean, that divided by its "
        "deviation, or reward minus the mean of the others"
    )  # fmt: skip
    baseline: Literal["group", "role-ema"] = Field(
        "group", description="`group` or `role-ema`; the baseline of rewards, which may be a moving average of the seat"
    )
    loss_agg: Literal["constant", "seq-mean", "token-mean"] = Field(
        "constant",
        description="`constant`, `seq-mean` or `token-mean`; equal weight of all tokens, all rows, or a batch's tokens",
    )
    learning_rate: float | None = Field(
        None, gt=0, le=1, description="Learning rate of AdamW; default 1e-4 for the embedded model, else 1e-6"
    )
    clip_low: float = Field(0.2, gt=0, lt=1, description="Clip range of the ratio, below 1")
    clip_high: float = Field(0.2, gt=0, lt=10, description="Clip range of the ratio, above 1")
    kl: float | None = Field(
        None, ge=0, description="Weight of KL to the initial model; default 0 for the embedded model, else 0.001"
    )
    entropy: float = Field(0.0, ge=0, description="Weight of the entropy bonus")
    epochs: Positive = Field(1, description="Passes over an iteration's games")
    batch_rows: Positive = Field(512, description="Rows per optimiser step; a row is one seat of a game")
    micro_rows: Natural = Field(0, description="Rows per forward pass at most; 0 = any number")
    micro_tokens: Positive | None = Field(None, description="Tokens per forward pass; default: what fits into memory")
    checkpointing: bool | None = Field(None, description="Compute activations again; default: if they do not fit")
    max_grad_norm: float = Field(1.0, gt=0, description="Maximum gradient norm, of the mean over tokens")
    anneal: bool = Field(False, description="Lower the learning rate linearly to a tenth over the run")


def refuse_single_games(games_per_state: int, baseline: Literal["group", "role-ema"]) -> None:
    """Refuse one game per state without a baseline across states (ConfigError): nothing could be compared."""
    if games_per_state < 2 and baseline == "group":
        raise ConfigError(
            f"--games-per-state {games_per_state}: one game's pair has one reward, and so advantage zero, always; "
            "play 2 or more games on each state, or compare across states with --baseline role-ema"
        )


class StartConfig(Group):
    """Training of the embedded model before self-play."""

    tokens: Natural = Field(4_000_000, description="Training tokens; 0: random weights")
    learning_rate: float = Field(2e-3, gt=0, le=1, description="Learning rate")
    batch_rows: Positive = Field(32, description="Rows per optimiser step")
    drills: Fraction = Field(0.25, description="Share of the tokens for initial exercises of one reply")
    mixed: tuple[Fraction, Fraction] = Field(
        (0.6, 0.2), description="Share of exercises among later rows: at first, and at the end"
    )
    temperature: float = Field(
        1.0, gt=0, le=10, description="Temperature at which the taught model plays; it becomes part of the weights"
    )
    fresh: bool = Field(False, description="Train it again, even if it exists")


class DialogueRunConfig(SelfPlaySettings):
    """Length, place and reproducibility of the run."""

    timesteps: Changeable[Positive | None] = Field(None, description="Total turns of the run, over all games")
    games: Changeable[Positive | None] = Field(10_240, description="Total games of the run")
    num_games: Positive = Field(256, description="Games at once, and per iteration; whole groups")
    host: Changeable[Literal["thread", "ray"]] = Field(
        "thread", description="`thread` or `ray`; where games are played: in threads, or on CPUs of a Ray cluster"
    )
    runners: Changeable[Natural] = Field(
        0, description="Threads, or actors of Ray, that play games; 0 = by cores; an actor takes a CPU"
    )
    evaluation_states: Changeable[Natural] = Field(256, description="Held-out states of the evaluation at the end")
    chaos: Changeable[str | None] = Field(
        None,
        description="Fault injection, such as `crash=1e-3,nan=1e-3`; probabilities per order of `crash`, `nan`, `slow`",
    )


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
        return self.model.name == TINY

    @property
    def states_per_iteration(self) -> int:
        return self.run.num_games // self.grpo.games_per_state

    @property
    def iterations(self) -> int | None:
        """Planned iterations; None if only turns or time limit the run."""
        return None if self.run.games is None else max(1, -(-self.run.games // self.run.num_games))

    @model_validator(mode="before")
    @classmethod
    def _with_game_defaults(cls, values: Any) -> Any:  # noqa: ANN401
        if not isinstance(values, dict):
            return values
        given = {name: _given(part) for name, part in values.items()}
        game, model = given.get("game", {}), given.get("model", {})
        embedded = isinstance(model, dict) and model.get("name", TINY) == TINY
        known = isinstance(game, dict) and embedded
        kind = text_kind(str(game.get("type", DEFAULT))) if known else None
        for name, part in kind.defaults.items() if kind is not None else ():
            mine = given.get(name, {})
            given[name] = {**part, **mine} if isinstance(mine, dict) else mine
        return given

    @model_validator(mode="after")
    def _agree(self, info: ValidationInfo) -> DialogueConfig:
        if info.context == PARTIAL:
            return self
        if self.run.num_games % self.grpo.games_per_state:
            raise ValueError(
                f"--num-games {self.run.num_games} must be a multiple of --games-per-state "
                f"{self.grpo.games_per_state}: an iteration plays whole groups"
            )
        if self.run.keep_best and not self.league.track_elo:
            raise ValueError("--set run.keep_best=true keeps the best by rating games: add --track-elo")
        if self.server.url is not None and self.server.program is not None:
            raise ValueError("--server-url and --server exclude each other: one names a server, the other starts one")
        if self.server.remote and self.embedded:
            flag = "--server-url" if self.server.program is None else "--server"
            raise ValueError(f"{flag} needs --model NAME or FOLDER: `{TINY}` is made here, and writes its own replies")
        if self.run.host == "ray" and not self.league.mirrors_only:
            raise ValueError("--host ray plays both seats with the newest weights: no --opponent, and --mode latest")
        if self.server.remote and self.run.host == "ray":
            raise ValueError("--host ray places the model that writes the replies, and with a server there is none")
        if self.server.program is None and (self.server.arguments or self.server.memory_share):
            raise ValueError("--server-args and server.memory_share are of a program that --server starts")
        return self


def _given(part: Any) -> Any:  # noqa: ANN401
    return part.model_dump(exclude_unset=True) if isinstance(part, Group) else part


OPTIONS: Final = options(
    DialogueConfig,
    {
        "Core": (
            ("--game-type", "game.type", "TYPE"),
            ("--model", "model.name", "NAME"),
            *flags("model", rows="NAME", lora_rank="N", bf16=""),
            *flags("run", games="N"),
            *LENGTH_FLAGS,
        ),
        "GRPO": (
            *flags("grpo", games_per_state="N", advantage="NAME", baseline="NAME", loss_agg="NAME", learning_rate="F"),
            *flags("grpo", clip_low="F", clip_high="F", kl="F", entropy="F", epochs="N"),
            ("--batch-size", "grpo.batch_rows", "N"),
        ),
        "Game and replies": (
            ("--game-size", "game.size", "N"),
            *flags("game", max_turns="N", retries="N", error_penalty="F", table="NAME"),
            *flags("sampling", temperature="F", top_p="F", max_new_tokens="N"),
        ),
        "Servers": (
            ("--server-url", "server.url", "URL"),
            ("--server-frozen", "server.frozen", ""),
            ("--server", "server.program", "NAME"),
            ("--server-args", "server.arguments", "TEXT"),
        ),
        "The embedded model": (
            ("--start-tokens", "start.tokens", "N"),
            ("--fresh-start", "start.fresh", ""),
        ),
        "Opponents and ratings": LEAGUE_FLAGS,
        "Run": (*PLACE_FLAGS, *flags("run", evaluation_states="N"), *FAULT_FLAGS),
    },
)
