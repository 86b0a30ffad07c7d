"""A ``rollout_func`` for TRL's ``GRPOTrainer`` (1.16) that plays whole games with the trained model in both seats.

    model = load_model("Qwen/Qwen2.5-0.5B-Instruct", rows="conversation")
    rollout = SelfPlayRollout(rows, model)
    GRPOTrainer(
        model=model.module, processing_class=model.chat.tokenizer, args=GRPOConfig(num_generations=16, ...),
        train_dataset=Dataset.from_list(rollout.prompts), reward_funcs=shared_reward, rollout_func=rollout,
    )

TRL groups rows by position: ``num_generations`` consecutive rows are one group. Here a group is the two seats of half
as many games on one state. Both seats of a game have the same reward, so the mean of a group is that of its games.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import contextmanager
from itertools import groupby
from typing import TYPE_CHECKING, Any, Final, Protocol, final

from selfplay.dialogue.contract import SEATS
from selfplay.dialogue.integrations.initial_states import InitialState, initial_state
from selfplay.dialogue.integrations.seats import SeatTokens, seat_tokens
from selfplay.dialogue.language.writer import LocalWriter
from selfplay.dialogue.runner import GameSpec, Lost, Played, play_games
from selfplay.errors import ConfigError, RunnerError
from selfplay.learner.sampling import Sampling
from selfplay.seeding import derive

if TYPE_CHECKING:
    from collections.abc import Iterator

    from selfplay.dialogue.language.conversation import Writer
    from selfplay.dialogue.language.model import LanguageModel


COLUMNS: Final = ("prompt_ids", "completion_ids", "logprobs", "env_mask", "game_reward")
"""Columns of the rollout, as TRL expects them; the last one is for ``shared_reward``."""


class GRPOTrainerLike(Protocol):
    """The attributes of ``GRPOTrainer`` that are used."""

    args: Any
    accelerator: Any


@final
class SelfPlayRollout:
    """Plays the games of a batch of prompts; a prompt is the id of a state.

    Args:
        rows: states as written by ``selfplay initial-states``.
        model: the trained model; its ``module`` and tokenizer are the trainer's.
        max_new_tokens: limit per reply.
        seed: seed of all games; a repeated batch gets new seeds.
        writer: used instead of the model, for instance a server with its weights.

    Raises:
        ConfigError: invalid row, separate rewards, or duplicate ids.
    """

    def __init__(
        self,
        rows: Sequence[Mapping[str, Any]],
        model: LanguageModel,
        max_new_tokens: int = 256,
        seed: int = 0,
        writer: Writer | None = None,
    ) -> None:
        self._begun = {begun.game_id: begun for begun in map(initial_state, rows)}
        if len(self._begun) != len(rows):
            raise ConfigError("two rows of states have the same game_id; valid: one row per state")
        self._model = model
        self._max_new_tokens = max_new_tokens
        self._seed = seed
        self._writer = writer
        self._calls = 0
        self.lost = 0  # failed games, which do not train
        self.prompts = [{"prompt": name} for name in self._begun]

    def __call__(self, prompts: list[str], trainer: GRPOTrainerLike) -> dict[str, Any]:
        """Play the games: two rows, the seats of one game, for every two prompts.

        Raises:
            ConfigError: incomplete games or unknown states.
            RunnerError: all games are lost.
        """
        args = trainer.args
        sampling = Sampling(args.temperature, args.top_p, self._max_new_tokens)
        writer = self._writer or LocalWriter(self._model, sampling)
        specs = self._specs(prompts, writer, int(trainer.accelerator.process_index))
        self._calls += 1
        with _eval_mode(self._model.module):
            games = play_games(specs)
        lost = [game for game in games if isinstance(game, Lost)]
        self.lost += len(lost)
        if games and len(lost) == len(games):
            raise RunnerError(f"all {len(games)} games are lost; game {lost[0].game_id}: {lost[0].why}")
        rows = [row for game in games for row in _rows(game, self._model.chat.end)]
        return {name: [row[name] for row in rows] for name in COLUMNS}

    def _specs(self, prompts: Sequence[str], writer: Writer, rank: int) -> list[GameSpec]:
        found = []
        for name, repeated in groupby(prompts):
            games, left = divmod(len(list(repeated)), SEATS)
            if left:
                raise ConfigError(
                    f"prompt {name}: an odd number of rows in a row; num_generations (and the rows of a process) must "
                    "be even, two for each game"
                )
            begun = self._state(name)
            for replica in range(games):
                seed = derive(self._seed, name, self._calls, rank, replica)
                game_id = f"{name}/{replica}"
                found.append(GameSpec(0, game_id, begun.start(), seed, (writer, writer)))
        return found

    def _state(self, name: str) -> InitialState:
        if name not in self._begun:
            raise ConfigError(f"prompt {name}: no such state; train on the prompts of this rollout")
        return self._begun[name]


def shared_reward(completions: Sequence[Any], game_reward: Sequence[float | None], **_: object) -> list[float | None]:
    """TRL reward function: the rewards of the games, None for lost ones.

    Raises:
        ConfigError: the rows are not from this rollout.
    """
    if len(completions) != len(game_reward):
        raise ConfigError(f"{len(game_reward)} rewards for {len(completions)} completions: not from this rollout")
    return list(game_reward)


def _rows(game: Played | Lost, end: int) -> list[dict[str, Any]]:
    """Rows of both seats. Seats without sampled tokens, and lost games, get rows that do not train."""
    if isinstance(game, Lost):
        return [_row(_untrained([end], end), None)] * SEATS
    rows = [
        _row(seat_tokens(instance) or _untrained(instance.ids.tolist(), end), instance.reward)
        for instance in game.instances
    ]
    silent = range(len(game.instances), SEATS)  # seats without a turn
    return rows + [_row(_untrained([end], end), game.outcome.rewards[seat]) for seat in silent]


def _row(row: SeatTokens, reward: float | None) -> dict[str, Any]:
    """The columns of a row; reward None excludes it from its group."""
    logprobs = row.logprobs or [float("nan")] * len(row.response)
    return dict(zip(COLUMNS, (row.prompt, row.response, logprobs, row.mask, reward), strict=True))


def _untrained(read: list[int], end: int) -> SeatTokens:
    """A row with one token that is masked out."""
    return SeatTokens(0, read, [end], [0], [0.0], 0.0)


@contextmanager
def _eval_mode(module: Any) -> Iterator[None]:  # noqa: ANN401
    """Switch the module to eval mode within the block."""
    training = module.training
    module.eval()
    try:
        yield
    finally:
        module.train(training)
