"""What pages of runs are made of, for tests: made-up ledgers, metrics and games to watch."""

import itertools
import json

import numpy as np

from selfplay.games.columns import NONE
from selfplay.league.games import GameTable
from selfplay.league.leaderboard import analyse
from selfplay.report.health import Health
from selfplay.report.leaderboard_page.page import PageContent, PageReplay, TrainingView, stepper
from selfplay.report.leaderboard_page.records import RunRecords
from selfplay_melee.show.columns import COLUMNS
from selfplay_melee.show.health import rules
from selfplay_melee.show.page import document, player
from tests.league import test_rewards
from tests.league.pools import payoff_tournament, tournament
from tests.melee.drawing.fights import film

STRENGTHS = {"random": 1500.0, "rusher": 1700.0, **{f"gen_{10 * n}": 1450.0 + 80.0 * n for n in range(6)}}


def studied(strengths=None, rounds=4):
    """Ratings of a round robin of players with known strengths."""
    strengths = strengths or STRENGTHS
    names = list(strengths)
    pairs = [(a, b) for i, a in enumerate(names) for b in names[:i]]
    return analyse(tournament(strengths, pairs, rounds, np.random.default_rng(0)))


def scored():
    """Ratings of a round robin of games that are neither fights nor dialogues, with random results."""
    pairs = [(a, b) for a in STRENGTHS for b in STRENGTHS if a != b]
    points = np.random.default_rng(0).choice([0.0, 0.5, 1.0], (4, len(pairs))).tolist()
    rows = [
        test_rewards.scored(*pair, (score, 1.0 - score), seed, steps=9)
        for seed, row in enumerate(points)
        for pair, score in zip(pairs, row, strict=True)
    ]
    return analyse(GameTable.of(rows))


def paid(kind="reward"):
    """Ratings of a round robin for chips, in which the players have the order of ``STRENGTHS``."""
    chips = {name: (strength - 1500.0) / 100.0 for name, strength in STRENGTHS.items()}
    return analyse(payoff_tournament(chips, itertools.combinations(chips, 2), 4, np.random.default_rng(0), kind))


def metrics(iterations=60):
    """Rows of metrics.jsonl of a run that is well, which a reporter could have written."""
    names = ("policy", "value", "total", "entropy", "approx_kl", "clip_fraction", "explained_variance", "grad_norm")
    return [
        {
            "iteration": i,
            "total_steps": 1000 * i,
            "charts/steps_per_s": 20_000.0 + i,
            "charts/learning_rate": 1e-3,
            **{f"losses/{name}": 5.0 if name == "entropy" else 0.02 for name in names},
            "losses/skipped": 0,
            "play/episodes": 4,
            "play/draws": 0,
            "play/episode_length": 9.0,
            "opponents/current": 3,
            "opponents/gen_0": 1,
            "opponents/gen_10": 1,
            "opponents/rusher": i % 2,
            "time/collect_s": 1.0,
            "time/update_s": 3.0,
        }
        for i in range(1, iterations + 1)
    ]


def folder(path, rows=None, summary=None):
    """A run's folder with these documents."""
    path.mkdir(exist_ok=True)
    config = {"run": {"num_games": 10, "seed": 3, "pretrained": None}, "ppo": {"rollout_length": 100}}
    (path / "run.json").write_text(json.dumps({"config": config, "versions": {"torch": "2.0"}, "cores": 2}))
    lines = [json.dumps(row) + "\n" for row in (metrics() if rows is None else rows)]
    (path / "metrics.jsonl").write_text("".join(lines))
    if summary is not None:
        (path / "summary.json").write_text(json.dumps(summary))
    return path


def stepped(path, hostile=""):
    """A page of games that are no fights: one of text, and one of a picture and both seats, cut at the start."""
    text = {"names": ["gen_10", f"random{hostile}"], "result": "gen_10 wins", "first": 0}
    text["moments"] = [
        {"text": "..."},
        {"text": f"x..{hostile}", "played": [[0, "0"]]},
        {"text": "xo.", "played": [[1, "1"]]},
    ]
    shown = {"names": ["gen_0", "random"], "result": "Draw", "first": 40}
    dot = "data:image/gif;base64,R0lGODlhAQABAAAAACwAAAAAAQABAAA="
    shown["moments"] = [{"picture": dot}, {"played": [[0, "1, 0"], [1, "2, 1"]]}]
    games = [PageReplay("Fastest win", "It was.", "", text), PageReplay("Longest game", "It lasted.", "", shown)]
    view = TrainingView(NONE, Health())
    return PageContent("run-8", scored(), RunRecords.of(folder(path)), view, stepper(), games, ("A note.",))


def subject(path, strengths=None, films=2, **parts):
    """Everything that a page can show."""
    replays = [
        PageReplay(f"Kind {n}", "a beat b.", f"selfplay watch RUN --game {n}", document(film(300 + n)))
        for n in range(films)
    ]
    view, part = TrainingView(COLUMNS, Health(rules())), player("h3", "board.js")
    records = RunRecords.of(folder(path))
    return PageContent("run-7", studied(strengths), records, view, part, replays, ("A note.",), **parts)
