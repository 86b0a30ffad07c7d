import pytest
from pydantic import ValidationError

from selfplay.report.metrics import NEW, Play, Recent
from tests.dialogue.report.talks import dialogue_report
from tests.report.make import PACE, PLAY, finished, payoff_rating, rating, report

FASTER = finished(0.75)


def test_flat_has_every_figure_under_its_tag():
    flat = report(2, rating=rating(2, 1612.0), cuda_used=100, cuda_peak=200).flat()
    assert flat["losses/policy"] == 0.0456
    assert flat["losses/total"] == 0.1234
    assert flat["charts/steps_per_s"] == 256.0
    assert flat["charts/elo"] == 1612.0
    assert flat["winrate/random"] == 0.75
    assert flat["opponents/current"] == 6
    assert flat["time/update_s"] == 2.0
    assert flat["reward/damage"] == 0.5
    assert flat["memory/cuda_peak"] == 200
    assert {tag: value for tag, value in flat.items() if tag.endswith("/mirror")} == {
        "games/mirror": 4,
        "minutes/mirror": 8.0,
        "finished/mirror": 0.25,
        "stocks_per_minute/mirror": 0.75,
        "damage_per_minute/mirror": 40.0,
        "seconds_without_hit/mirror": 21.0,
    }


def test_a_rating_in_payoffs_is_no_point_of_elo():
    flat = report(3, rating=payoff_rating()).flat()
    assert flat["charts/payoff_rating"] == 0.645
    assert "charts/elo" not in flat


def test_the_curve_of_elo_has_one_point_for_each_rating():
    made = rating(2, 1612.0)
    flats = [report(i, rating=made).flat() for i in (2, 3, 4)]
    assert [flat.get("charts/elo") for flat in flats] == [1612.0, None, None]


def test_elo_is_the_first_card_of_tensorboard():
    """It sorts cards by tag."""
    assert min(report(2, rating=rating(2), cuda_used=1, exploiters={"main": 0.5}).flat()) == "charts/elo"
    assert min(dialogue_report(2, rating=rating(2)).flat()) == "charts/elo"


def test_flat_leaves_out_what_is_unknown():
    flat = report(play=Play()).flat()
    assert "play/return_mean" not in flat
    assert "memory/cuda_used" not in flat
    assert flat["play/episodes"] == 0


@pytest.mark.parametrize(
    ("changes", "done", "left"),
    [
        ({}, 0.1, 36.0),
        ({"iterations": None, "timesteps": None, "limit_s": 16.0}, 0.25, 12.0),
        ({"limit_s": 16.0}, 0.25, 12.0),
        ({"limit_s": 4000.0}, 0.1, 36.0),
        ({"limit_s": 1.0}, 1.0, 0.0),
        ({"iterations": None, "timesteps": None}, 0.0, None),
    ],
)
def test_whichever_limit_comes_first_ends_the_run(changes, done, left):
    this = report(**changes)
    assert this.done == pytest.approx(done)
    assert this.remaining_s(256.0) == (None if left is None else pytest.approx(left))


def test_nothing_is_known_before_time_has_passed():
    this = report(phase_s={"collect": 0.0})
    assert this.steps_per_s == 0.0
    assert this.remaining_s(this.steps_per_s) is None


def test_unknown_fields_are_refused():
    with pytest.raises(ValidationError, match="speed"):
        report(speed=3)


def test_recent_blends_what_is_known_and_keeps_what_is_missing():
    recent = Recent()
    recent.add(report(play=PLAY))
    assert (recent.steps_per_s, recent.play["return_mean"], recent.win_rate) == (256.0, 1.5, {"random": 0.75})
    later = {"return_mean": 2.5, "win_rate": {"gen_0": 1.0}, "pace": {"scripted": PACE, "mirror": FASTER}}
    recent.add(report(play=PLAY.model_copy(update=later), steps=2048))
    recent.add(report(play=Play(), steps=2048))
    assert recent.play["return_mean"] == 1.5 + NEW
    assert recent.win_rate == {"random": 0.75, "gen_0": 1.0}
    assert 256 < recent.steps_per_s < 512
    assert recent.pace["mirror"]["finished"] == 0.25 + NEW * 0.5
    assert recent.pace["scripted"]["finished"] == 0.25


def test_payoffs_have_tags_and_averages_of_their_own():
    first, second = (report(play=Play(payoff={"raiser": each})) for each in (-1.0, 1.0))
    assert first.flat()["payoff/raiser"] == -1.0
    assert "play/payoff" not in first.flat()
    recent = Recent()
    for each in (first, second):
        recent.add(each)
    assert recent.payoff == {"raiser": -1.0 + 2.0 * NEW}
