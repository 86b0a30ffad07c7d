"""A ``rollout_func`` for TRL's ``GRPOTrainer`` (1.16) that plays whole games, both seats by the model that learns.

    model = load_model("Qwen/Qwen2.5-0.5B-Instruct", rows="conversation")
    rollout = SelfPlayRollout(rows, model)
    GRPOTrainer(
        model=model.module, processing_class=model.chat.tokenizer, args=GRPOConfig(num_generations=16, ...),
        train_dataset=Dataset.from_list(rollout.prompts), reward_funcs=shared_reward, rollout_func=rollout,
    )

TRL groups by position: ``num_generations`` rows that follow on each other are one group. Here they are the two seats
of half as many games on one state. Both seats of a game have the same reward, so that a group's mean is that of its
games.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import groupby
from typing import TYPE_CHECKING, Any, Protocol, final

from envs.dialogue.contract import SEATS
from selfplay.errors import ConfigError, RunnerError
from selfplay.integrations.beginnings import Beginning, beginning
from selfplay.integrations.seats import SeatRow, seat_row
from selfplay.policy.language.sampling import Sampling
from selfplay.policy.language.writer import LocalWriter
from selfplay.runner.dialogue import Fixture, Lost, Played, play_games
from selfplay.seeding import derive

if TYPE_CHECKING:
    from collections.abc import Iterator

    from selfplay.policy.language.conversation import Writer
    from selfplay.policy.language.model import LanguageModel


class Trainer(Protocol):
    """What is asked of a ``GRPOTrainer``."""

    args: Any
    accelerator: Any


@dataclass(slots=True)
class _Columns:
    """Rows as TRL takes them, a list for each column."""

    prompt_ids: list[list[int]]
    completion_ids: list[list[int]]
    logprobs: list[list[float]]
    env_mask: list[list[int]]  # 1 where the model sampled
    game_reward: list[float | None]  # None: the game is lost, which TRL leaves out of its group


@final
class SelfPlayRollout:
    """Plays the games of a batch of prompts; a prompt is the name of a state.

    Args:
        rows: Of states, as ``dialop_game_init.py`` writes them.
        model: That TRL trains: its ``module`` is the trainer's model, its tokenizer the trainer's.
        max_new_tokens: Of a reply.
        seed: Of the luck in all games; a batch that comes again is played anew.
        writer: Who writes in the model's place, such as a server that has its weights.

    Raises:
        ConfigError: a row cannot be played, its seats do not share their reward, or two rows have one name.
    """

    def __init__(
        self,
        rows: Sequence[Mapping[str, Any]],
        model: LanguageModel,
        max_new_tokens: int = 256,
        seed: int = 0,
        writer: Writer | None = None,
    ) -> None:
        self._begun = {begun.game_id: begun for begun in map(beginning, rows)}
        if len(self._begun) != len(rows):
            raise ConfigError("two rows of states have the same game_id; a row for each state is needed, not each seat")
        self._model = model
        self._max_new_tokens = max_new_tokens
        self._seed = seed
        self._writer = writer
        self._calls = 0
        self.lost = 0  # games that raised, or whose reply could not be had; nothing of them trains
        self.prompts = [{"prompt": name} for name in self._begun]

    def __call__(self, prompts: list[str], trainer: Trainer) -> dict[str, Any]:
        """Two rows for every two prompts: the seats of one game.

        Raises:
            ConfigError: the prompts are not whole games, or no states that were given.
            RunnerError: all games are lost; tells why the first is.
        """
        args = trainer.args
        sampling = Sampling(args.temperature, args.top_p, self._max_new_tokens)
        writer = self._writer or LocalWriter(self._model, sampling)
        fixtures = self._fixtures(prompts, writer, int(trainer.accelerator.process_index))
        self._calls += 1
        with _at_rest(self._model.module):
            games = play_games(fixtures)
        lost = [game for game in games if isinstance(game, Lost)]
        self.lost += len(lost)
        if games and len(lost) == len(games):
            raise RunnerError(f"all {len(games)} games are lost; game {lost[0].game_id}: {lost[0].why}")
        columns = _Columns([], [], [], [], [])
        for game in games:
            _add(columns, game, self._model.chat.end)
        return {name: getattr(columns, name) for name in columns.__slots__}

    def _fixtures(self, prompts: Sequence[str], writer: Writer, rank: int) -> list[Fixture]:
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
                found.append(Fixture(0, game_id, begun.start(), seed, (writer, writer)))
        return found

    def _state(self, name: str) -> Beginning:
        if name not in self._begun:
            raise ConfigError(f"prompt {name}: no such state; train on the prompts of this rollout")
        return self._begun[name]


def shared_reward(completions: Sequence[Any], game_reward: Sequence[float | None], **_: object) -> list[float | None]:
    """TRL's reward function: what the games gave; None for those that are lost.

    Raises:
        ConfigError: the rows are not those of a rollout.
    """
    if len(completions) != len(game_reward):
        raise ConfigError(f"{len(game_reward)} rewards for {len(completions)} completions: not from this rollout")
    return list(game_reward)


def _add(columns: _Columns, game: Played | Lost, end: int) -> None:
    """Both seats; one that wrote nothing has a row that does not train, and so have both of a game that is lost."""
    if isinstance(game, Lost):
        for _ in range(SEATS):
            _put(columns, _silent([end], end), None)
        return
    for instance in game.instances:
        _put(columns, seat_row(instance) or _silent(instance.ids.tolist(), end), instance.reward)
    for seat in range(len(game.instances), SEATS):  # it was never asked
        _put(columns, _silent([end], end), game.verdict.rewards[seat])


def _put(columns: _Columns, row: SeatRow, reward: float | None) -> None:
    columns.prompt_ids.append(row.prompt)
    columns.completion_ids.append(row.response)
    columns.env_mask.append(row.mask)
    columns.logprobs.append(row.logprobs or [float("nan")] * len(row.response))
    columns.game_reward.append(reward)


def _silent(read: list[int], end: int) -> SeatRow:
    """A row of one token that was not sampled."""
    return SeatRow(0, read, [end], [0], [0.0], 0.0)


@contextmanager
def _at_rest(module: Any) -> Iterator[None]:  # noqa: ANN401
    """A module that does not train for a while: no dropout, no recomputation, as what samples expects it."""
    training = module.training
    module.eval()
    try:
        yield
    finally:
        module.train(training)
