import dataclasses
import json
from html.parser import HTMLParser

import pytest

from selfplay.games.columns import NONE, Column, Columns, Rate
from selfplay.league.games import GameTable
from selfplay.league.leaderboard import analyse
from selfplay.league.result_files import read_results
from selfplay.report.health import Health
from selfplay.report.leaderboard_page.curves import MOST, POINTS, SHARES, TOP, cycles, maps, rating_curve, training
from selfplay.report.leaderboard_page.facts import health, settings
from selfplay.report.leaderboard_page.page import PageContent, page
from selfplay.report.leaderboard_page.records import RunRecords
from selfplay_melee.show.columns import COLUMNS
from selfplay_melee.show.health import BEGINNING, rules
from tests.dialogue.report.talks import talked
from tests.league.pools import series
from tests.league.test_rewards import compared
from tests.report.boards import folder, metrics, paid, stepped, studied, subject


class Parsed(HTMLParser):
    """Elements of a page, its text, and its data by id."""

    def __init__(self, text):
        super().__init__()
        self.elements, self.text, self.data, self.open = [], "", {}, None
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attributes):
        self.open = dict(attributes).get("id") if tag == "script" else None
        self.elements.append((tag, dict(attributes)))

    def handle_endtag(self, tag):
        self.open = None

    def handle_data(self, data):
        if self.open:
            self.data[self.open] = json.loads(data)
        else:
            self.text += data


def test_the_page_holds_all_and_names_nothing_outside(tmp_path):
    parsed = Parsed(page(subject(tmp_path / "run")))
    assert [a[k] for _, a in parsed.elements for k in ("src", "href") if k in a] == ["data:,"]
    assert parsed.data.keys() == {"data-curve", "data-maps", "data-training", "film-0", "film-1"}
    assert not [a for _, a in parsed.elements if "style" in a or any(name.startswith("on") for name in a)]
    ids = [a["id"] for _, a in parsed.elements if "id" in a]
    assert len(ids) == len(set(ids))
    for words in ("run-7", "gen_50 is +", "random = 1500", "--game 1", "A note.", "rollout length", "torch"):
        assert words in parsed.text, words
    assert "one rating per player (p = " in parsed.text
    (policy,) = [a["content"] for _, a in parsed.elements if a.get("http-equiv") == "Content-Security-Policy"]
    assert policy.startswith("default-src 'none'; ")
    assert "unsafe" not in policy


def test_games_that_are_no_fights_are_data_of_the_page_beside_one_stepper(tmp_path):
    hostile = "</script><img src=x>"
    parsed = Parsed(page(stepped(tmp_path / "run", hostile)))
    assert parsed.data["film-0"]["names"] == ["gen_10", f"random{hostile}"]
    assert parsed.data["film-1"]["first"] == 40
    ids = [a["id"] for _, a in parsed.elements if "id" in a]
    assert len(ids) == len(set(ids))
    assert "stepper" in ids
    assert "player" not in ids
    assert [tag for tag, _ in parsed.elements if tag in ("img", "code")] == ["img"]
    assert "It was." in parsed.text


def test_texts_are_those_of_the_kind_of_game(tmp_path):
    """Fights, games that are neither fights nor dialogues, dialogues with a partner, and those of two opponents."""
    poker = analyse(GameTable.of([compared("gen_1", "random", (2.0, -2.0))]))
    fight, game = Parsed(page(subject(tmp_path / "a"))), Parsed(page(stepped(tmp_path / "b")))
    talk = talked(tmp_path / "c")
    shared, opposed = (Parsed(page(dataclasses.replace(talk, study=study))) for study in (talk.study, poker))
    assert [_winner(parsed) for parsed in (fight, game, shared, opposed)] == [
        None,
        "the player with the larger sum of rewards in the game",
        "the player with the higher reward on the same state, in the same seat",
        "the player with the larger sum of rewards in the game",
    ]
    assert ["Mean reward" in parsed.text for parsed in (fight, game, shared, opposed)] == [False, False, True, True]
    assert "training games never count" in fight.text
    lengths = [
        [one["name"] for one in parsed.data["data-training"]["play"] if one["name"].startswith("Length")]
        for parsed in (fight, game)
    ]
    assert lengths == [["Length of an episode, frames"], ["Length of an episode, steps"]]


def _winner(parsed):
    told = parsed.text.partition("Winner")[2]
    return told.partition("Anchors")[0] or None


def test_names_are_text_and_nothing_else(tmp_path):
    hostile = "<img src=x onerror=alert(1)>"
    quoted = "\"'></script><b>&$title"
    for first, second, name in ((hostile, quoted, "bad.csv"), ("a", "b", "good.csv")):
        (tmp_path / name).write_text(f'first,second,score\n"{first}","{second.replace(chr(34), chr(34) * 2)}",1\n')
    bad, good = (
        Parsed(page(PageContent(f"{hostile} {name}", analyse(read_results(tmp_path / name), anchor=anchor))))
        for name, anchor in (("bad.csv", hostile), ("good.csv", "a"))
    )
    assert [tag for tag, _ in bad.elements] == [tag for tag, _ in good.elements]
    assert set(bad.data["data-maps"]["players"]) == {hostile, quoted}
    assert hostile in bad.text
    assert "training games never count" not in bad.text
    assert {"id": "learning"} not in [a for _, a in bad.elements]  # another program's games come without a run


def test_maps_are_over_the_top_of_a_large_ledger():
    strengths = {"random": 1500.0, **{f"gen_{n}": 1400.0 + 10 * n for n in range(60)}}
    made = maps(studied(strengths, rounds=1))
    assert len(made["players"]) == TOP + 2  # random and the start; the newest is among the top or beside it
    assert {"random", "gen_0", "gen_59"} <= set(made["players"])
    assert made["left_out"] == 61 - len(made["players"])
    assert max(max(pair[:2]) for pair in made["pairs"]) < len(made["players"]) <= MOST


def test_cells_are_the_points_of_the_row_s_player():
    rows = [("gen_10", "gen_0", "win")] * 3 + [("gen_0", "gen_10", "win"), ("gen_0", "random", "win")]
    of = analyse(GameTable.of(series(rows)))
    made = maps(of)
    ranks = {name: i for i, name in enumerate(made["players"])}
    (pair,) = [p for p in made["pairs"] if {p[0], p[1]} == {ranks["gen_10"], ranks["gen_0"]}]
    assert pair[0] < pair[1]
    assert pair[2:5] == [0.75 if ranks["gen_10"] < ranks["gen_0"] else 0.25, 4, 4]


def test_the_page_of_payoffs_has_their_unit():
    study = paid()
    parsed = Parsed(page(PageContent("run-9", study)))
    for words in ("random = 0", "played for chips: ratings and payoffs are chips a game", "least squares on payoffs"):
        assert parsed.text.count(words) == 1, words
    assert " Elo" not in parsed.text
    assert "% draws" not in parsed.text
    heads = [a["title"] for name, a in parsed.elements if name == "th" and a.get("scope") == "col" and a["title"]]
    assert "chips a game, see below; of its own games, with its 95% interval" in heads
    rows = {row.policy: row for row in study.board.rows}
    assert f"{rows['gen_50'].rating:+.2f}" in parsed.text
    curve = parsed.data["data-curve"]
    assert (curve["unit"], curve["decimals"], curve["payoff"]) == ("chips a game", 2, True)


def test_a_page_of_a_shared_reward_has_no_winners():
    parsed = Parsed(page(PageContent("run-9", paid("shared"))))
    heads = [a["title"] for name, a in parsed.elements if name == "th" and "title" in a]
    assert not {"wins", "losses", "draws"} & set(heads)
    assert not any("Nash" in head for head in heads)
    assert "two players are paid the mean of their ratings" in parsed.text
    assert parsed.data["data-maps"]["shared"] is True


def test_cells_are_the_mean_payoffs_of_the_row_s_player():
    study = paid()
    made = maps(study)
    games = {frozenset((met.a, met.b)): met for met in study.diagnosis.encounters}
    for i, j, payoff, count, _, expected, _ in made["pairs"]:
        a, b = made["players"][i], made["players"][j]
        met = games[frozenset((a, b))]
        side = 1.0 if met.a == a else -1.0
        assert (payoff, count) == (pytest.approx(side * met.score, abs=1e-4), met.games)
        gap = study.ratings.difference(a, b).rating
        assert expected == pytest.approx(gap, abs=1e-3)


def test_cycles_are_told_in_words():
    rows = [(a, b, "win") for a, b in (("rusher", "walker"), ("walker", "random"), ("random", "rusher"))] * 40
    (told, *_) = cycles(analyse(GameTable.of(series(rows))))
    assert "beats" in told
    assert "(100%)" in told


def test_the_curve_has_no_end_where_the_games_set_none():
    rows = [("gen_10", "random", "win")] * 5 + [("gen_0", "random", "win"), ("random", "gen_0", "win")]
    of = analyse(GameTable.of(series(rows)))
    curve = rating_curve(of.board, 1000)
    assert [(x, name) for x, *_, name in curve["points"]] == [(0, "gen_0"), (10_000, "gen_10")]
    (_, _, low, high, _) = curve["points"][1]
    assert low is not None
    assert high is None
    assert [name for name, _ in curve["levels"]] == ["random"]


def test_training_is_thinned_and_shares_add_up(tmp_path):
    made = training(RunRecords.of(folder(tmp_path, metrics(5000))), NONE)
    assert len(made["x"]) == POINTS
    opponents = made["opponents"]
    assert len(opponents["x"]) == SHARES
    assert [one["name"] for one in opponents["series"]] == ["current", "past generations", "rusher"]
    assert all(abs(sum(shares) - 1) < 1e-3 for shares in zip(*(one["y"] for one in opponents["series"]), strict=True))
    assert [one["name"] for one in made["phases"]["series"]] == ["collect", "update"]
    assert all(len(one["y"]) == POINTS for one in made["losses"])


def test_figures_that_are_missing_or_torn_are_left_out(tmp_path):
    run = folder(tmp_path, [{**row, "losses/value": None, "time/collect_s": None} for row in metrics(3)])
    with (run / "metrics.jsonl").open("a") as file:
        file.write('{"iteration": 4, "tot')
    made = training(RunRecords.of(run), NONE)
    assert made["x"] == [1000, 2000, 3000]
    assert "Value loss" not in [one["name"] for one in made["losses"]]
    (run / "metrics.jsonl").unlink()
    assert training(RunRecords.of(run), NONE) is None


@pytest.mark.parametrize("huge", [1.7e308, -1.7e308, 2**70])
def test_rows_of_others_with_figures_whose_sums_are_not_finite_are_left_out(tmp_path, huge):
    huge_rows = [{**row, "losses/entropy": huge, "time/collect_s": huge} for row in metrics(60)]
    text = page(dataclasses.replace(subject(tmp_path, films=0), records=RunRecords.of(folder(tmp_path, huge_rows))))
    assert "no metrics" in text


@pytest.mark.parametrize(
    ("lost", "said"),
    [
        ((), None),
        ((16,), "leave out 1 iteration without metrics: 16."),
        ((1, 2, 7, 8, 9, 20), "leave out 6 iterations without metrics: 1 to 2, 7 to 9, 20."),
        (range(1, 25, 2), "leave out 12 iterations without metrics: 1, 3, 5, 7, 9, 11, 13, 15, 17, 19 and others."),
    ],
)
def test_iterations_whose_figures_a_kill_has_lost_are_told_below_the_curves(tmp_path, lost, said):
    made = subject(tmp_path, films=0)
    run = folder(tmp_path, [row for row in metrics(30) if row["iteration"] not in lost])
    text = page(dataclasses.replace(made, records=RunRecords.of(run)))
    assert ("The curves leave out" in text) == (said is not None)
    assert said is None or said in text


def test_health_is_what_the_summary_says_or_what_the_metrics_show(tmp_path):
    said = [{"name": "few_results", "text": "Few results & a remedy"}]
    ended = RunRecords.of(folder(tmp_path / "ended", summary={"iteration": 60, "health": said}))
    assert "Few results &amp; a remedy" in health(ended, Health())
    dull = [{**row, "losses/entropy": 0.1} for row in metrics()]
    for summary in (None, {"iteration": 30, "health": []}):  # never ended; resumed since
        text = health(RunRecords.of(folder(tmp_path / "going", dull, summary)), Health(rules()))
        assert "Entropy collapse" in text
        assert "has not ended" in text
    pace = {"games/mirror": 2, "minutes/mirror": 8.0, "finished/mirror": 0.0, "stocks_per_minute/mirror": 0.1}
    pace |= {"damage_per_minute/mirror": 3.0, "seconds_without_hit/mirror": 200.0}
    later = [row | pace | {"iteration": row["iteration"] + BEGINNING} for row in metrics()]
    stalling = RunRecords.of(folder(tmp_path / "stalling", later))
    assert "0% of the last 100 mirror games ended" in health(stalling, Health(rules()))
    assert {"Finished mirror games, share"} <= {curve["name"] for curve in training(stalling, COLUMNS)["play"]}
    assert "No problems found" in health(RunRecords.of(folder(tmp_path / "well")), Health(rules()))
    assert "no metrics" in health(RunRecords.of(tmp_path / "nowhere"), Health())


def test_figures_of_a_game_have_charts_beside_those_of_every_game(tmp_path):
    rows = [{**row, "play/mood": 0.5, "cheers/mirror": 2.0} for row in metrics()]
    cheers = Rate("cheers", ("cheers",), 1.0, "games", "cheers", "{:.0f}", "Cheers in mirror games")
    columns = Columns((Column("mood", chart="Mood"), Column("hidden")), (cheers,), unit="moves")
    made = training(RunRecords.of(folder(tmp_path, rows)), columns)
    assert [curve["name"] for curve in made["play"]] == [
        "Mood", "Steps a second", "Length of an episode, moves", "Cheers in mirror games",
    ]  # fmt: skip


def test_settings_that_are_not_set_are_not_shown(tmp_path):
    ((group, pairs), _) = settings(RunRecords.of(folder(tmp_path)).run)
    assert group == "Run"
    assert pairs == [("num games", "10"), ("seed", "3")]
