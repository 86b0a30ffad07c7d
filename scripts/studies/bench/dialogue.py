"""Benchmark of dialogue games: our writer beside ``transformers.generate``, on the same games.

Both sides use the same weights and dtype, in one process on the same cores, with one player a core or one player on all
cores; the fastest setting of each side counts. ``generate`` gets prompts padded on the left, read again in each turn;
its replies are cut at their end.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from statistics import median
from typing import TYPE_CHECKING, Any, Final

import torch
from transformers import AutoModelForCausalLM

from scripts.studies.pages import Figures, measured_here
from selfplay.checkpoint.run_dir import CHECKPOINTS
from selfplay.dialogue.embedded import embedded_model
from selfplay.dialogue.find import find_dialogue
from selfplay.dialogue.language.conversation import Conversation, Reply, Writer
from selfplay.dialogue.language.writer import LocalWriter
from selfplay.dialogue.players import EMBEDDED_REPLY
from selfplay.dialogue.recipe import Recipe
from selfplay.dialogue.runner import DialogueOrder, Played, game_specs, play_games
from selfplay.dialogue.settings import DialogueConfig, StartConfig
from selfplay.learner.sampling import Sampling
from selfplay.machine import usable_cores
from selfplay.seeding import derive

if TYPE_CHECKING:
    from pathlib import Path

    from selfplay.dialogue.contract import DialogueEntry
    from selfplay.dialogue.language.model import LanguageModel

GAMES, COMPARED = 256, 64
GAMES_PER_STATE: Final = DialogueConfig().grpo.games_per_state
BATCHES: Final = (64, 256)
START: Final = StartConfig(tokens=600_000)  # enough for games of the usual form


class GenerateWriter(Writer):
    """Replies by ``transformers.generate`` (``Writer``), which gives no log-probabilities.

    Args:
        model: Gives the chat template.
        module: The same weights in the model of ``transformers``.
        batch: Conversations at once.
        sampling: Greedy, or from the whole distribution.
    """

    def __init__(self, model: LanguageModel, module: Any, batch: int, sampling: Sampling) -> None:  # noqa: ANN401
        super().__init__(model.chat)
        self._module = module
        self._batch = batch
        how = {"do_sample": False} if sampling.greedy else {"do_sample": True, "temperature": sampling.temperature}
        self._how = how | {
            "max_new_tokens": sampling.max_new_tokens,
            "eos_token_id": sorted(model.chat.ends),
            "pad_token_id": model.chat.tokenizer.pad_token_id,
        }

    @torch.inference_mode()
    def reply(self, conversations: Sequence[Conversation]) -> list[Reply]:
        """See ``Writer``."""
        order = sorted(conversations, key=lambda c: len(c.ids))  # little padding
        replies: dict[int, Reply] = {}
        for start in range(0, len(order), self._batch):
            part = order[start : start + self._batch]
            ids = self._generate([c.ids for c in part])
            for conversation, written, text in zip(part, ids, self._chat.text_of(ids), strict=True):
                ended = written[-1] in self._chat.ends
                replies[id(conversation)] = Reply(text, written, [0.0] * len(written), ended)
        for conversation in conversations:
            conversation.write(replies[id(conversation)])
        return [replies[id(conversation)] for conversation in conversations]

    def _generate(self, prompts: list[list[int]]) -> list[list[int]]:
        longest = max(map(len, prompts))
        ids = torch.tensor([[self._how["pad_token_id"]] * (longest - len(prompt)) + prompt for prompt in prompts])
        lengths = torch.tensor([len(prompt) for prompt in prompts])
        seen = (torch.arange(longest) >= longest - lengths[:, None]).long()
        out = self._module.generate(input_ids=ids, attention_mask=seen, **self._how)[:, longest:].tolist()
        ends = self._chat.ends
        lasts = [next((i for i, token in enumerate(row) if token in ends), len(row) - 1) for row in out]
        return [row[: last + 1] for row, last in zip(out, lasts, strict=True)]


@dataclass(frozen=True, slots=True)
class Side:
    """A writer, its number of player threads, and torch threads of each."""

    make: Callable[[Sampling], Writer]
    players: int
    threads: int


class Contest:
    """Plays the same games on all sides."""

    def __init__(self, entry: DialogueEntry, rules: Any, model: LanguageModel, folder: Path) -> None:  # noqa: ANN401
        self._entry = entry
        self._rules = rules
        module: Any = AutoModelForCausalLM.from_pretrained(
            folder, dtype=torch.float32, local_files_only=True, use_safetensors=True
        )
        module.eval()
        cores = usable_cores()
        ways = dict.fromkeys(((cores, 1), (1, cores)))
        self.ours = {
            f"{players} x {threads} threads": Side(partial(LocalWriter, model), players, threads)
            for players, threads in ways
        }
        self.others = {
            f"batch {batch}, {players} x {threads} threads": Side(
                partial(GenerateWriter, model, module, batch), players, threads
            )
            for batch in BATCHES
            for players, threads in ways
        }
        self.sides = self.ours | self.others

    def play(self, side: Side, sampling: Sampling, games: int = GAMES) -> list[Played]:
        """Play so many games at once, split among the threads of the side."""
        states = games // GAMES_PER_STATE
        parts = [range(states * i // side.players, states * (i + 1) // side.players) for i in range(side.players)]

        def part(indices: range) -> list[Played]:
            writer = side.make(sampling)
            seeds = tuple(derive(0, "bench", index) for index in indices)
            order = DialogueOrder(tuple(indices), seeds, GAMES_PER_STATE)
            played = play_games(game_specs(self._entry, self._rules, order, (writer, writer)))
            return [game for game in played if isinstance(game, Played)]

        with ThreadPoolExecutor(side.players, initializer=torch.set_num_threads, initargs=(side.threads,)) as pool:
            return [game for games_of in pool.map(part, parts) for game in games_of]


def measure_dialogue(
    game: str, rounds: int, say: Callable[[str], object] = lambda _: None, root: Path = CHECKPOINTS
) -> Figures:
    """Games a second of both sides, medians of rounds in which every setting plays once."""
    entry = find_dialogue(game)
    rules = entry.configure(True, {})
    recipe = Recipe(game, rules, START, seed=0, max_new_tokens=EMBEDDED_REPLY)
    model, folder = embedded_model(entry, recipe, root, usable_cores(), say)
    contest = Contest(entry, rules, model, folder)
    sampled, greedy = (Sampling(temperature, 1.0, EMBEDDED_REPLY) for temperature in (1.0, 0.0))
    texts = [
        [[turn.text for turn in played.turns] for played in contest.play(side, greedy, COMPARED)]
        for side in contest.sides.values()
    ]
    speeds: dict[str, list[float]] = {name: [] for name in contest.sides}
    played: list[Played] = []
    for i in range(rounds):
        say(f"round {i + 1} of {rounds}")
        for name, side in contest.sides.items():
            started = time.perf_counter()
            played += contest.play(side, sampled)
            speeds[name].append(GAMES / (time.perf_counter() - started))
    medians = {name: median(values) for name, values in speeds.items()}
    ours, best = (max(sides, key=lambda name: medians[name]) for sides in (contest.ours, contest.others))
    return {
        **measured_here(),
        "dialogue_games_in_play": GAMES,
        "dialogue_turns_per_game": sum(len(game.turns) for game in played) / len(played),
        "dialogue_tokens_per_game": sum(each.written for game in played for each in game.instances) / len(played),
        "dialogue_games_per_s": medians[ours],
        "dialogue_best": ours,
        "transformers_games_per_s": medians[best],
        "transformers_best": best,
        "dialogue_over_transformers": medians[ours] / medians[best],
        "greedy_games_compared": COMPARED,
        "greedy_games_equal": sum(all(other == mine for other in others) for mine, *others in zip(*texts, strict=True)),
    }
