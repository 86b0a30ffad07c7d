"""Reports, games and ledgers of words, for tests."""

from selfplay.dialogue.report.health import DialogueHealth
from selfplay.dialogue.report.page import COLUMNS
from selfplay.dialogue.report.page import transcripts as transcripts_html
from selfplay.dialogue.report.plain import DialogueReport
from selfplay.dialogue.report.transcripts import Said, Transcript
from selfplay.league.games import GameTable
from selfplay.league.leaderboard import analyse
from selfplay.report.leaderboard_page.page import PageContent, TrainingView
from selfplay.report.leaderboard_page.records import RunRecords
from tests.league.test_rewards import shared
from tests.report.boards import folder

UPDATE = {
    "loss": 0.0123, "entropy": 0.321, "kl": 0.0, "approx_kl": 0.004, "clip_fraction": 0.125, "grad_norm": 0.5,
    "drift": 1e-6, "importance": 1.0, "steps": 2, "skipped": 0,
}  # fmt: skip
HOSTILE = "</pre><script>alert(1)</script><img src=x onerror=alert(2)>"


def dialogue_report(iteration=3, **changes):
    """Iteration number ``iteration`` of ten, of 4 s."""
    fields = {
        "iteration": iteration, "iterations": 10, "games": 64, "total_games": 64 * iteration, "turns": 256,
        "total_steps": 256 * iteration, "tokens": 6400, "elapsed_s": 4.0 * iteration,
        "phase_s": {"collect": 2.0, "update": 2.0}, "reward": 0.75, "seat_rewards": (0.75, 0.75), "agreement": 0.875,
        "refused": 0.25, "endings": {"agreed": 56, "turns": 8}, "lost": 0, "rows": 128, "zero_variance": 0.25,
        "update": UPDATE,
    }  # fmt: skip
    return DialogueReport(**{**fields, **changes})


def transcript(iteration=10, kind="best", text="I would take it.", **changes):
    fields = {
        "iteration": iteration, "kind": kind, "game": "7-1", "rewards": (0.9, 0.9), "reason": "agreed",
        "told": ("Your table: 1 2 3", "Your table: 4 5 6"),
        "turns": (
            Said(seat=0, private="a secret thought", public=f"[message] {text}"),
            Said(seat=1, private="", public="[sing] la", error="Write a tag."),
        ),
    }  # fmt: skip
    return Transcript(**{**fields, **changes})


def rows(iterations=60, **changes):
    """Rows of metrics.jsonl of a run of words."""
    return [
        {"iteration": i, "total_steps": 256 * i, **dialogue_report(min(i, 10), **changes).flat()}
        for i in range(1, iterations + 1)
    ]


def talked(path, transcripts=(), summary=None, metrics=None):
    """Everything that a page of a run of words shows."""
    made = folder(path, rows() if metrics is None else metrics, summary)
    (made / "run.json").write_text('{"family": "dialogue", "config": {"run": {"num_games": 64}}}')
    view = TrainingView(COLUMNS, DialogueHealth(), transcripts_html(transcripts))
    return PageContent("talk-1", analyse(GameTable.of(shared())), RunRecords.of(made), view)
