import io
from dataclasses import replace
from pathlib import Path

import pytest

from selfplay.imitation.report import EpochReport, Reports, table, warnings
from selfplay.imitation.training_state import Sums
from selfplay.learner.imitation_metrics import ImitationMetrics, Mean
from selfplay.report import ticker
from selfplay.report.ticker import Ticker
from selfplay_melee.controller import BUTTONS, FIELDS
from selfplay_melee.imitation.hook import rates

FOUND = ImitationMetrics(
    rows=1000,
    changed_rows=100,
    model=Mean(1.0, 3.0),
    marginals=Mean(2.0, 5.0),
    repeat=Mean(1.5, 6.0),
    parts=(0.5,) * len(FIELDS),
    pressed=((0.1, 0.1),) * len(BUTTONS),
    off_centre={"main": (0.4, 0.5), "c": (0.0, 0.0)},
    accuracy=0.5,
    distinct=(80, 100),
)
SUMS = Sums(
    loss=20.0, changed=9.0, changed_rows=3, rows=10, seen=12, minibatches=3, skipped=1, grad_norm=4.0, seconds=2.0
)
EPOCH = EpochReport(
    iteration=2, total_steps=20, epochs=5, sums=SUMS, metrics=FOUND, validated=True, learning_rate=0.5, best=True,
    part_names=FIELDS, rates=rates(FOUND),
)  # fmt: skip


def test_figures_are_means_of_what_was_learned_from():
    flat = EPOCH.flat()
    assert (flat["losses/train"], flat["losses/train_changed"], flat["losses/grad_norm"]) == (2.0, 3.0, 2.0)
    assert (flat["charts/rows_per_s"], flat["losses/skipped"]) == (6.0, 1)
    assert (flat["validation/model"], flat["validation/repeat_changed"]) == (1.0, 6.0)
    assert (flat["rates/main_stick_out_predicted"], flat["rates/main_stick_out_played"]) == (0.4, 0.5)
    assert "losses/train_changed" not in replace(EPOCH, sums=Sums(rows=1)).flat()
    assert "check/model" in replace(EPOCH, validated=False).flat()


def test_the_line_of_an_epoch():
    assert EPOCH.line() == (
        "Epoch 2/5: train 2.000, validation 1.000, where the action changes 3.000, 2.0 s, 6 rows/s, "
        "1 minibatches skipped, their gradient was not finite, best so far"
    )
    assert "same games 1.000" in replace(EPOCH, validated=False).line()


def test_what_looks_collapsed_is_said():
    assert warnings(FOUND) == []
    assert warnings(replace(FOUND, distinct=(1, 100))) == [
        "Warning: the policy does 1 different things where the player did 100"
    ]
    assert warnings(replace(FOUND, distinct=(1, 10))) == []  # too little to tell
    forgotten = ((0.1, 0.1),) * 4 + ((0.001, 0.03), (0.0, 0.01)) + ((0.1, 0.1),) * 2
    assert warnings(FOUND, rates(FOUND)) == []
    assert warnings(FOUND, rates(replace(FOUND, pressed=forgotten))) == [
        "Warning: Z is pressed in 3.00% of the decisions, but the policy would in 0.10%"
    ]


def test_the_table_says_on_what():
    assert "The best policy on the validation games" in table(FOUND, "best", validated=True)
    assert "main stick out              40.00%    50.00%" in table(FOUND, "best", rates(FOUND), validated=True)
    text = table(replace(FOUND, model=Mean(1.0, None)), "latest", validated=False)
    assert "The latest policy on the games that it learned from" in text
    assert "policy                       1.000         -" in text


@pytest.mark.parametrize(("bad", "told"), [(0, []), (1, ["1"]), (3, ["3"]), (4, ["4; log.txt names every one"])])
def test_files_left_out_are_counted_and_named(tmp_path, bad, told):
    stream = io.StringIO()
    reports = Reports(tmp_path, stream)
    reports.bad_files([(Path(f"{i}.slp"), "no replay") for i in range(bad)])
    reports.close()
    lines = [line[11:] for line in stream.getvalue().splitlines()]
    assert lines[min(bad, 3) :] == [f"Left out: {words}" for words in told]
    assert lines[: min(bad, 3)] == [f"Left out {i}.slp: no replay" for i in range(min(bad, 3))]
    assert (tmp_path / "log.txt").read_text().count(": no replay") == bad


def test_without_a_terminal_a_line_comes_now_and_then(monkeypatch, tmp_path):
    monkeypatch.setattr(ticker, "FIRST_S", 0.0)
    monkeypatch.setattr(ticker, "EVERY_S", 0.0)
    stream = io.StringIO()
    with Ticker(stream, "Counting", 2000) as opened:
        opened.at(1000)
        opened.at(3, 4)
    assert [line[11:] for line in stream.getvalue().splitlines()] == [
        "Counting: 1,000 of 2,000, about 0 s left",
        "Counting: 3 of 4, about 0 s left",
    ]
    reports = Reports(tmp_path, stream)
    reports.epoch(replace(EPOCH, metrics=replace(FOUND, distinct=(1, 100))))
    reports.close()
    assert "Warning: the policy does 1 different things" in (tmp_path / "log.txt").read_text()
