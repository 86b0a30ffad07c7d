"""Files of recorded games: JSON lines, one game a line. A game repeats itself from its seed and its actions.

N decisions, D features, L logits, A parts of an action.
"""

from __future__ import annotations

import io
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import numpy as np
from pydantic import BaseModel, ConfigDict, Field

from envs.errors import GameError
from envs.vector import action_spec
from selfplay.checkpoint.documents import decode_json, parse
from selfplay.errors import CorruptError
from selfplay.files import read_file

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from envs.api import Actions, ActionSpec, Bool
    from envs.game import Game

MAX_BYTES: Final = 2**27  # of a file; what its lines stand for is not kept
Part = Annotated[int, Field(ge=0, lt=2**7)]
Chosen = Part | tuple[Part, ...]
Name = Annotated[str, Field(min_length=1, max_length=200)]


class RecordedGame(BaseModel):
    """A line. ``actions`` are those of both seats in each step, lists where an action has several parts."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    game: Name
    version: int  # of the game
    seed: Annotated[int, Field(ge=0, lt=2**31)]  # that the game was reset with
    players: tuple[Name, Name]  # of the seats
    actions: tuple[tuple[Chosen, Chosen], ...]  # 0 of a seat that waits
    rewards: tuple[float, float]  # sums of the seats


@dataclass(frozen=True, slots=True)
class Decisions:
    """What players saw, could do and did."""

    obs: NDArray[np.float32]  # [N, D]
    legal: Bool  # [N, L]
    action: Actions  # [N, A]

    def __len__(self) -> int:
        return len(self.obs)

    @staticmethod
    def joined(parts: list[Decisions]) -> Decisions:
        return Decisions(*(np.concatenate([getattr(part, name) for part in parts]) for name in Decisions.__slots__))


def read_games(path: Path) -> Iterator[tuple[str, RecordedGame]]:
    """The games of a file, each with its place, ``FILE:LINE``.

    Raises:
        CorruptError: the file cannot be read, has more than ``MAX_BYTES`` or no game, or a line is invalid.
    """
    empty = True
    for number, line in enumerate(io.BytesIO(read_file(path, MAX_BYTES, follow=True)), 1):
        if line.strip():
            empty, place = False, f"{path}:{number}"
            yield place, parse(RecordedGame, decode_json(line, place), place, CorruptError)
    if empty:
        raise CorruptError(f"{path} has no game")


def decisions_of(game: Game, record: RecordedGame) -> tuple[Decisions, Decisions]:
    """The decisions of both seats where they had a choice, from a game that is played again.

    Raises:
        GameError: the game goes another way than in the record, or fails.
    """
    spec = action_spec(game)
    none = Decisions(
        np.zeros((0, game.obs_width), np.float32), np.zeros((0, spec.logits), bool), np.zeros((0, spec.width), np.int8)
    )
    rows, total, over = ([none], [none]), np.zeros(2), False
    try:
        game.reset(record.seed)
        for number, chosen in enumerate(record.actions, 1):
            if over:
                raise GameError(f"it is over after step {number - 1} of {len(record.actions)}")
            for seat in game.to_act():
                decision = _decision(game, spec, seat, chosen[seat])
                if decision is None:
                    raise GameError(f"step {number}: the action {str(chosen[seat])[:50]} of seat {seat} is not legal")
                if spec.choices(decision.legal)[0]:
                    rows[seat].append(decision)
            rewards, terminated, truncated = game.step([_as_taken(game, part, spec.width) for part in chosen])
            total += rewards
            over = terminated or truncated or number >= game.max_steps
    except GameError:
        raise
    except Exception as error:
        raise GameError(f"it failed: {type(error).__name__}: {error}") from error
    if not over:
        raise GameError(f"it is not over after its {len(record.actions)} steps")
    if not np.allclose(total, record.rewards, rtol=1e-6, atol=1e-9):
        raise GameError(f"it ends with the rewards {total.tolist()}, not {list(record.rewards)}")
    return Decisions.joined(rows[0]), Decisions.joined(rows[1])


def _as_taken(game: Game, chosen: Chosen, width: int) -> Chosen:
    """An action as ``step`` takes it; that of a seat that waits may be one number in place of several."""
    if isinstance(game.num_actions, int) or isinstance(chosen, tuple):
        return chosen
    return (chosen,) * width


def _decision(game: Game, spec: ActionSpec, seat: int, chosen: Chosen) -> Decisions | None:
    """What a seat sees, may do and does; None where it may not."""
    mask = game.legal(seat)
    legal = np.ones(spec.logits, bool) if mask is None else np.asarray(mask, bool)
    action = (chosen,) if isinstance(chosen, int) else chosen
    if not spec.allows(legal, action):
        return None
    obs = np.asarray(game.observe(seat), np.float32)
    if not np.isfinite(obs).all():
        raise GameError("an observation has numbers that are not finite")
    return Decisions(obs[None], legal[None], np.array([action], np.int8))
