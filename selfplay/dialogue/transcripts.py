"""Chooses the games of an iteration that are kept as transcripts: the best, the worst and a random one."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Literal

import numpy as np

from selfplay.checkpoint.store import write_file
from selfplay.dialogue.report.transcripts import (
    FILE_NAME,
    LATEST,
    LONGEST,
    SHORT,
    TURNS,
    Kind,
    Said,
    Transcript,
    kept,
    read_transcripts,
)
from selfplay.dialogue.runner import BOTH

if TYPE_CHECKING:
    from pathlib import Path

    from selfplay.dialogue.contract import Turn
    from selfplay.dialogue.runner import Played


def keep_transcripts(folder: Path, played: Sequence[Played], iteration: int, seed: int) -> None:
    """Add games of an iteration to the transcripts of a run; ``seed`` is of the random choice. Blocks."""
    chosen = kept(read_transcripts(folder), tuple(choose(played, iteration, seed)))
    write_file(folder / FILE_NAME, _lines(chosen))


def keep_latest(folder: Path, played: Sequence[Played], iteration: int, seed: int) -> None:
    """Replace the transcripts of the last iteration; arguments as of ``keep_transcripts``. Blocks."""
    write_file(folder / LATEST, _lines(choose(played, iteration, seed)))


def _lines(games: Iterable[Transcript]) -> bytes:
    return "".join(f"{one.row()}\n" for one in games).encode()


def choose(played: Sequence[Played], iteration: int, seed: int) -> list[Transcript]:
    """The best and the worst by the sum of rewards, then by seat 0's reward; and a random one of the others."""
    order = sorted(range(len(played)), key=lambda i: (sum(played[i].outcome.rewards), played[i].outcome.rewards[0], i))
    kinds: list[tuple[Kind, int]] = [("best", order[-1])] if order else []
    if len(order) > 1:
        kinds.append(("worst", order[0]))
    if len(order) > 2:
        kinds.append(("random", order[int(np.random.default_rng(seed).integers(1, len(order) - 1))]))
    return [_transcript(played[i], iteration, kind) for kind, i in kinds]


def _transcript(game: Played, iteration: int, kind: Kind) -> Transcript:
    first, second = ("" if seat in game.learner else game.opponent[:SHORT] for seat in BOTH)
    prompts = ["\n\n".join(text for text in read[:2] if text) for read in game.read]
    return Transcript(
        iteration=iteration,
        kind=kind,
        game=game.game_id[:SHORT],
        opponents=(first, second),
        rewards=game.outcome.rewards,
        reason=game.outcome.reason[:SHORT],
        told=(_cut(prompts[0]), _cut(prompts[1])),
        turns=tuple(_said(turn) for turn in game.turns[:TURNS]),
        left_out=max(0, len(game.turns) - TURNS),
    )


def _said(turn: Turn) -> Said:
    """A reply in its private and its public part."""
    public = turn.text.strip().removeprefix(turn.private).strip()
    seat: Literal[0, 1] = 1 if turn.seat else 0
    error = None if turn.error is None else _cut(turn.error)
    return Said(seat=seat, private=_cut(turn.private), public=_cut(public), error=error)


def _cut(text: str) -> str:
    return text if len(text) <= LONGEST else text[: LONGEST - 1] + "…"
