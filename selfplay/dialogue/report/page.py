"""The games to read on the page of a run, as HTML."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Final

from selfplay.dialogue.report.health import DialogueHealth
from selfplay.dialogue.report.transcripts import LATEST, read_transcripts
from selfplay.games.columns import Column, Columns
from selfplay.report.leaderboard_page.page import TrainingView

if TYPE_CHECKING:
    from selfplay.dialogue.report.transcripts import Said, Transcript

SHOWN: Final = 24  # maximum number of games: the newest, and those of the first iteration with transcripts
_KINDS: Final = {"best": "Best game", "worst": "Worst game", "random": "One game"}
COLUMNS: Final = Columns(
    (
        Column("reward", chart="Reward, mean of both seats"),
        Column("reward_seat_0", chart="Reward of seat 0"),
        Column("agreement", chart="Games with an agreement, share"),
        Column("refused", chart="Refused replies a game"),
        Column("turns", chart="Turns a game"),
        Column("tokens", chart="Sampled tokens a game"),
    )
)
"""Those of ``DialogueReport`` that the page has charts of."""


def view(folder: Path, _: str) -> TrainingView:
    """What the page of a run shows."""
    saved = read_transcripts(folder)
    last = read_transcripts(folder, LATEST)
    newest = [game for game in last if game.iteration > max((g.iteration for g in saved), default=0)]
    return TrainingView(COLUMNS, DialogueHealth(), transcripts((*saved, *newest)), transcripts(last))


def transcripts(games: Sequence[Transcript]) -> str:
    """Games by iteration, newest first; empty without games."""
    if not games:
        return ""
    first = [game for game in games if game.iteration == games[0].iteration]
    chosen = list(games) if len(games) <= SHOWN else [*first, *games[len(first) - SHOWN :]]
    latest = max(game.iteration for game in chosen)
    ordered = sorted(chosen, key=lambda game: -game.iteration)
    note = (
        '<p class="quiet">Training games: the best, the worst and a random one of the last iteration, and before each '
        "saved generation. An opponent has its name at its seat. Text in italics was private to its writer.</p>"
    )
    return note + "".join(_game(game, is_open=game.iteration == latest and game.kind == "best") for game in ordered)


def _game(game: Transcript, *, is_open: bool) -> str:
    paid = " and ".join(f"{reward:.3f}" for reward in game.rewards)
    title = (
        f"{_KINDS[game.kind]} of iteration {game.iteration}: {game.reason}, {len(game.turns) + game.left_out} turns, "
        f"rewards {paid}"
    )
    told = "".join(_told(_seat(game, seat), seat, text) for seat, text in enumerate(game.told) if text)
    said = "".join(_said(_seat(game, turn.seat), turn) for turn in game.turns)
    more = f'<p class="quiet">{game.left_out} more turns are left out.</p>' if game.left_out else ""
    opened = " open" if is_open else ""
    return f'<details class="talk"{opened}><summary>{escape(title)}</summary><ol>{told}{said}</ol>{more}</details>'


def _seat(game: Transcript, seat: int) -> str:
    name = game.opponents[seat]
    return escape(f"seat {seat} ({name})" if name else f"seat {seat}")


def _told(who: str, seat: int, text: str) -> str:
    who = f'<span class="who">{who} was told privately</span>'
    return f'<li class="seat-{seat}">{who}{_text(text, "private")}</li>'


def _said(who: str, turn: Said) -> str:
    private = _text(turn.private, "private") if turn.private else ""
    public = _text(turn.public, "") if turn.public else ""
    if turn.error is None:
        return f'<li class="seat-{turn.seat}"><span class="who">{who}</span>{private}{public}</li>'
    who = f'<span class="who">{who}, refused: {escape(turn.error)}</span>'
    return f'<li class="seat-{turn.seat} refused">{who}{private}{public}</li>'


def _text(text: str, kind: str) -> str:
    return f'<pre class="{kind}">{escape(text)}</pre>' if kind else f"<pre>{escape(text)}</pre>"
