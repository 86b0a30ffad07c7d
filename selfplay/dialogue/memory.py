"""Estimate of the memory of a dialogue run, made before the run starts, and the settings that make it fit.

The teacher plays a few games, which gives the memory of a game and the length of a conversation. The model is measured
without memory (``footprint``).
"""

from __future__ import annotations

import shlex
import tracemalloc
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any, Final

import torch

from selfplay.dialogue.contract import SEATS
from selfplay.dialogue.embedded import taught_games
from selfplay.dialogue.language.chat import Chat
from selfplay.dialogue.language.decoding import FIRST_COLUMNS, FIRST_SLOTS, STORE_BYTES, rows_at_once
from selfplay.dialogue.language.footprint import Footprint, config_of
from selfplay.dialogue.language.loading import Lora, open_tokenizer
from selfplay.dialogue.language.tiny import make_tokenizer, tiny_config
from selfplay.dialogue.opponents import max_frozen
from selfplay.dialogue.players import MEMORY_FLAGS, sampling_of
from selfplay.dialogue.recipe import Recipe, spec_of
from selfplay.dialogue.rules import default_rate_and_kl, game_of, is_embedded
from selfplay.errors import ConfigError, boundary
from selfplay.learner.token_batch import MOST_PLACES, shared_length
from selfplay.machine import update_threads
from selfplay.memory_limits import as_size, available_memory, resident_memory

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerFast

    from selfplay.dialogue.contract import DialogueEntry
    from selfplay.dialogue.instances import Instance
    from selfplay.dialogue.settings import DialogueConfig

BASE_MB: Final = 600  # libraries
CUDA_MB: Final = 700  # of a device: context, kernels and workspaces of libraries
SAMPLE: Final = 4  # games
MICRO_TOKENS: Final = {"cpu": 2048, "cuda": 16384}
LEAST_TOKENS: Final = 256
LORA_RANK: Final = 16  # that is suggested


@dataclass(frozen=True, slots=True)
class Talk:
    """Conversations of a run, as the teacher has them; one seat of a game each."""

    tokens: int  # mean length
    shared: int  # mean number of tokens that a row and others of its state begin with
    share: float  # of tokens that train
    longest: int
    reply: int  # longest reply
    game: int  # bytes of a game


@dataclass(frozen=True, slots=True)
class Need:
    """Bytes of a run at its peak, by what takes them."""

    libraries: int
    games: int
    weights: int
    opponents: int  # frozen models
    reference: int
    optimizer: int
    cache: int  # keys and values, and the logits of a batch of replies
    update: int  # gradients and activations
    saving: int  # copies while a state is saved

    @property
    def total(self) -> int:
        """Updates and saving follow each other."""
        steady = self.libraries + self.games + self.weights + self.opponents + self.reference + self.optimizer
        return steady + self.cache + max(self.update, self.saving)

    def __str__(self) -> str:
        parts = {field.name: getattr(self, field.name) for field in fields(self)}
        if parts["update"] >= parts["saving"]:
            del parts["saving"]
        else:
            del parts["update"]
        shown = ", ".join(f"{name} {as_size(size)}" for name, size in parts.items() if size >= 1 << 20)
        return f"about {as_size(self.total)}: {shown}"


@dataclass(frozen=True, slots=True)
class Choice:
    """Settings of the update that change its memory."""

    micro_tokens: int
    checkpointing: bool


def need_on_device(config: DialogueConfig, print_: Footprint, talk: Talk, choice: Choice, device: str) -> Need:
    """The need of the device that the model is on. On the CPU that is the whole run."""
    here = device == "cpu"
    embedded = is_embedded(config)
    conversations = SEATS * config.run.num_games
    threads = update_threads(config.run.threads) if here else 1
    alike = config.grpo.games_per_state
    packed = talk.tokens - talk.shared * (alike - 1) // alike
    step_tokens = min(config.grpo.batch_rows, conversations) * packed
    tokens = max(talk.longest, min(choice.micro_tokens, -(-step_tokens // threads)))
    busy = min(threads, max(1, -(-step_tokens // tokens)))
    rows = max(1, min(tokens // packed, MOST_PLACES * tokens // talk.longest))
    kl = default_rate_and_kl(embedded)[1] if config.grpo.kl is None else config.grpo.kl
    trained = 4 * print_.trained
    step = print_.step(choice.checkpointing, rows, talk.tokens, talk.shared, talk.share)
    return Need(
        libraries=(BASE_MB if here else CUDA_MB) << 20,
        games=config.run.num_games * talk.game if here else 0,
        weights=print_.weights,
        opponents=max_frozen(config) * print_.weights if config.league.meets_models else 0,
        reference=(trained if here else trained // 2) if kl and print_.whole else 0,
        optimizer=2 * trained,
        cache=0 if config.server.remote else _cache(print_, talk, conversations, threads if here else 1),
        update=busy * (trained + step),
        saving=saving(trained) + trained if here else trained,
    )


def saving(trained: int) -> int:
    """Bytes while a state is saved: copies of parameters and moments, and the contents of the largest file."""
    return 3 * trained + 2 * trained


def _cache(print_: Footprint, talk: Talk, conversations: int, writers: int) -> int:
    """Keys and values of the open conversations and, twice, of a batch, with its logits."""
    batch = min(rows_at_once(print_.cache), -(-conversations // writers))
    slots, columns = FIRST_SLOTS, FIRST_COLUMNS
    while slots * writers < conversations:
        slots *= 2
    while columns < talk.longest:
        columns *= 2
    kept = min(slots * columns * print_.cache, STORE_BYTES)
    numbers = batch * print_.vocabulary * (4 * 4 + 8)
    return writers * (kept + 2 * batch * (talk.longest + talk.reply) * print_.cache + numbers)


def fit(
    config: DialogueConfig, print_: Footprint, talk: Talk, device: str, there: int | None, where: str, *, resumed: bool
) -> tuple[DialogueConfig, Need]:
    """The configuration with settings of the update that fit, and what it needs.

    Settings that the user gave are kept. A resumed run keeps all.

    Raises:
        ConfigError: nothing fits; says what does.
    """
    grpo = config.grpo
    most = grpo.micro_tokens or MICRO_TOKENS["cpu" if device == "cpu" else "cuda"]
    flags = (False, True) if grpo.checkpointing is None else (grpo.checkpointing,)
    choices = [Choice(most, flag) for flag in flags]
    while grpo.micro_tokens is None and most > max(LEAST_TOKENS, talk.longest):
        most = max(most // 2, LEAST_TOKENS, talk.longest)
        choices.append(Choice(most, flags[-1]))
    for choice in choices:
        need = need_on_device(config, print_, talk, choice, device)
        if there is None or need.total <= there:
            update = {"micro_tokens": choice.micro_tokens, "checkpointing": choice.checkpointing}
            return config.model_copy(update={"grpo": grpo.model_copy(update=update)}), need
    assert there is not None
    remedy = "resume it where there is more" if resumed else _remedy(config, print_, talk, device, there)
    raise ConfigError(
        f"the run needs at least {as_size(need.total)} of memory, and {where} has {as_size(there)} for it "
        f"({str(need).partition(': ')[2]}): {remedy}"
    )


def _remedy(config: DialogueConfig, print_: Footprint, talk: Talk, device: str, there: int) -> str:
    """The first change that makes the run fit."""
    least = Choice(max(LEAST_TOKENS, talk.longest), checkpointing=True)

    def fits(print_: Footprint = print_, **groups: dict[str, Any]) -> bool:
        update = {name: getattr(config, name).model_copy(update=values) for name, values in groups.items()}
        return need_on_device(config.model_copy(update=update), print_, talk, least, device).total <= there

    if fits():
        return f"set --set grpo.checkpointing=true and --set grpo.micro_tokens={least.micro_tokens}"
    if fits(grpo={"kl": 0.0}):
        return "set --kl 0, which needs no reference"
    if config.league.meets_models and fits(league={"max_frozen": 1}):
        return "set --set league.max_frozen=1, for fewer opponents at a time"
    games = config.run.num_games
    while games > config.grpo.games_per_state:
        games = max(
            config.grpo.games_per_state, games // 2 // config.grpo.games_per_state * config.grpo.games_per_state
        )
        if fits(run={"num_games": games}):
            return f"lower --num-games {config.run.num_games} to {games}"
    if print_.whole and not is_embedded(config):
        adapter = print_.with_adapter(LORA_RANK)
        if fits(adapter, model={"lora_rank": LORA_RANK}):
            return f"train an adapter, --lora-rank {LORA_RANK}"
    return "choose a smaller model"


def fitting(config: DialogueConfig, device: str, newest: str | None = None) -> tuple[DialogueConfig, Need]:
    """See ``fit``. Blocks: a model may be downloaded, without loading it.

    ``newest`` is the folder of the model that a resumed run goes on with.
    """
    entry, rules = game_of(config)
    model, resumed = config.model, newest is not None
    lora = Lora(model.lora_rank, model.lora_alpha, model.lora_targets) if model.lora_rank else None
    if newest is None and config.embedded:
        spec = spec_of(entry)
        tokenizer = make_tokenizer(entry.vocabulary(rules), spec.context)
        architecture = tiny_config(spec, tokenizer)
    else:
        tokenizer = open_tokenizer(newest or model.name)
        architecture, adapter = config_of(newest or model.name)
        lora = adapter or lora
    print_ = Footprint(architecture, lora, light=device != "cpu", bf16=model.bf16)
    talk = _talk(config, entry, rules, Chat(tokenizer, _ends(tokenizer), model.rows))
    if device == "cpu":
        left = available_memory()
        there, where = (None, "") if left is None else (left.amount + resident_memory(), left.where)
        return fit(config, print_, talk, device, there, where, resumed=resumed)
    free, total = torch.cuda.mem_get_info(device)
    share = server_share(config)
    if share is not None:
        free = min(free, round((1 - share) * total))
    fitted, need = fit(config, print_, talk, device, free, device, resumed=resumed)
    if config.server.program is not None and share is None:
        raise ConfigError(
            f"--server {config.server.program} and the learner are on {device}: set the share of its memory that the "
            f"server may fill, --set server.memory_share={max(1, 100 * (free - need.total) // total) / 100:g} at most"
        )
    return fitted, need


def server_share(config: DialogueConfig) -> float | None:
    """Share of the learner's device that a started server may fill; None if nothing says so."""
    program, words = config.server.program, shlex.split(config.server.arguments.replace("=", " "))
    flag = None if program is None else MEMORY_FLAGS[program]
    if flag in words[:-1]:
        with boundary(ConfigError, f"--server-args {flag}"):
            return float(words[words.index(flag) + 1])
    return config.server.memory_share


def _ends(tokenizer: PreTrainedTokenizerFast) -> frozenset[int]:
    """Enough to measure conversations; a loaded model may have more."""
    return frozenset() if tokenizer.eos_token_id is None else frozenset([int(tokenizer.eos_token_id)])


def _talk(config: DialogueConfig, entry: DialogueEntry, rules: Any, chat: Chat) -> Talk:  # noqa: ANN401
    """Games of the teacher with itself."""
    recipe = Recipe(config.game.type, rules, config.start, 0)
    taught_games(entry, recipe, chat, [0])  # loads what all games share, which is not counted
    traced = tracemalloc.is_tracing()
    tracemalloc.start()
    tracemalloc.reset_peak()
    before = tracemalloc.get_traced_memory()[0]
    rows = taught_games(entry, recipe, chat, range(SAMPLE))
    peak = tracemalloc.get_traced_memory()[1]
    if not traced:
        tracemalloc.stop()
    lengths = [len(row.ids) for row in rows]
    marked = sum(int(row.sampled.sum()) for row in rows)
    begun = sum(_begun(row) for row in rows)
    return Talk(
        tokens=max(2, round(sum(lengths) / len(lengths))), shared=begun // len(lengths), share=marked / sum(lengths),
        longest=max(lengths), reply=sampling_of(config).max_new_tokens, game=(peak - before) // SAMPLE,
    )  # fmt: skip


def _begun(row: Instance) -> int:
    """Tokens before the first reply, which the games of a state have in common; 0 if they are packed for each game."""
    return shared_length(row.ids[: row.sampled.argmax()], row.ids)
