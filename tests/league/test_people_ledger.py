"""People in the ladder: ids, their ledger, and ratings that leave those of all others as they are."""

import itertools
import json
import os
import threading
import time

import numpy as np
import pytest

from selfplay.errors import LeagueError
from selfplay.league.diagnosis import diagnose
from selfplay.league.games import GameTable
from selfplay.league.leaderboard import Leaderboard, analyse, build
from selfplay.league.ledger import FILE_NAME as LEDGER
from selfplay.league.ledger import Ledger, read_games, read_records
from selfplay.league.nash import nash_weights
from selfplay.league.people_ledger import FILE_NAME, person_id, record_game, run_games
from selfplay.league.ratings import rate, sequential_elo
from selfplay.league.records import check_player, generation_id, person_name
from selfplay.league.render import PEOPLE, to_csv, to_json, to_table, to_text
from selfplay.report.leaderboard_page.page import PageContent, page
from tests.league.pools import record, seat, series, tournament

ANNA = "person-anna"
TRAINED = series(
    [(generation_id(i), other, "win" if number % 3 else "loss")
     for i in range(4) for other in ("random", "rusher", *map(generation_id, range(i))) for number in range(6)]
)  # fmt: skip


def played(opponent="gen_3", result="win", seed=0, person=ANNA, **changes):
    stocks = {"win": (2, 0), "loss": (0, 2), "draw": (1, 1)}[result]
    return record(seat(person, version="person"), opponent, stocks, seed=10_000 + seed, **changes)


def run_of(folder, people, trained=TRAINED):
    folder.mkdir(exist_ok=True)
    for name, records in ((LEDGER, trained), (FILE_NAME, people)):
        if records:
            with Ledger.open(folder / name) as ledger:
                ledger.append(records)
    return folder


@pytest.mark.parametrize(
    ("name", "player"),
    [
        ("anna", "person-anna"),
        ("  Anna ", "person-anna"),
        ("Zoë K.", "person-zoe-k"),
        ("\uff21\uff4e\uff4e\uff41", "person-anna"),  # wide letters
        ("../../etc/passwd", "person-etc-passwd"),
        ("<b>x</b>", "person-b-x-b"),
        ("7", "person-7"),
        ("person-anna", "person-person-anna"),
        ("a" * 1_000_000, "person-" + "a" * 40),
        ("-_-x-_-", "person-x"),
        ("straße", "person-strasse"),
    ],
)
def test_any_name_with_a_letter_or_a_digit_gives_an_id(name, player):
    assert person_id(name) == player == check_player(player)
    assert person_name(player) == player.removeprefix("person-")


@pytest.mark.parametrize("name", ["", "   ", "-_-", "アンナ", "💥" * 1000, "́"])
def test_a_name_without_either_is_refused_in_one_printable_line(name):
    with pytest.raises(LeagueError, match="it needs a letter from a to z, or a digit") as error:
        person_id(name)
    assert str(error.value).isprintable()
    assert len(str(error.value)) < 500


@pytest.mark.parametrize("player", ["person-", "person--x", "person-Anna", "person-" + "a" * 41, "person-a b"])
def test_other_ids_of_people_are_no_players(player):
    assert person_name(player) is None
    with pytest.raises(ValueError, match="is neither a generation"):
        check_player(player)


def test_the_ratings_of_all_others_stay_as_they_are_to_the_last_bit(tmp_path):
    people = [played(result=result, seed=i) for i, result in enumerate(["win"] * 9 + ["loss"])]
    run = run_of(tmp_path, [*people, played("random", "loss", 99)])
    alone, both = rate(read_games(run / LEDGER)), rate(run_games(run))
    assert set(both.players) == {*alone.players, ANNA}
    at = [both.index(name) for name in alone.players]
    for name in ("rating", "floor", "ceiling", "pinned"):
        assert np.array_equal(getattr(both, name)[at], getattr(alone, name)), name
    assert np.allclose(both.cov[np.ix_(at, at)], alone.cov, rtol=1e-9)
    me = both.index(ANNA)
    assert both.people.tolist() == [name == ANNA for name in both.players]
    assert both.games[me] == 11
    assert both.games[both.index("gen_3")] == alone.games[alone.index("gen_3")] + 10
    assert both.rating[me] > both.rating[both.index("gen_3")]
    assert both.floor[me]
    assert both.ceiling[me]


def test_the_interval_of_a_person_holds_the_error_of_the_opponent():
    """Against a pinned player the error is the games' own; against a fitted one its error is added."""
    results = [played("gen_1", result, seed) for seed, result in enumerate(["win", "loss"] * 20)]
    few = GameTable.of([*series([("gen_1", "random", "win"), ("gen_1", "random", "loss")]), *results])
    fitted = rate(few)
    pinned = rate(few, anchors={"gen_1": float(fitted.rating[fitted.index("gen_1")])})
    own, theirs, all_of_it = (
        ratings.se[ratings.index(name)] for ratings, name in ((pinned, ANNA), (fitted, "gen_1"), (fitted, ANNA))
    )
    assert own < 120 < theirs
    assert all_of_it == pytest.approx(np.hypot(own, theirs), rel=0.05)
    gap = fitted.difference(ANNA, "gen_1")
    assert gap.high - gap.low == pytest.approx(2 * 1.96 * own, rel=0.1)  # the two move together


def test_intervals_of_people_hold_their_strength_as_often_as_they_say():
    ladder = {"random": 1500.0, "rusher": 1550.0} | {generation_id(i): 1500.0 + 45 * i for i in range(1, 7)}
    pairs = [*itertools.combinations(ladder, 2)] * 2 + [(ANNA, "gen_2"), (ANNA, "gen_5")] * 5
    rng, inside = np.random.default_rng(4), []
    for _ in range(60):
        ratings = rate(tournament(ladder | {ANNA: 1700.0}, pairs, 1, rng, draws=0.2))
        me = ratings.index(ANNA)
        inside.append(ratings.low[me] <= 1700.0 <= ratings.high[me])
    assert 0.9 <= np.mean(inside) <= 0.99


def test_a_run_whose_only_games_are_those_of_people_rates_them_and_their_opponents(tmp_path):
    run = run_of(tmp_path, [played("random", "win"), played("gen_3", "win", 1), played("gen_3", "loss", 2)], trained=[])
    board = build(run_games(run))
    assert {row.policy for row in board.rows} == {ANNA, "gen_3", "random"}
    assert (board.newest, board.games) == ("gen_3", 3)
    assert build(run_games(run_of(tmp_path / "none", [], trained=[]))).rows == ()


def test_people_stay_out_of_nash_weights_cycles_fit_and_alarms():
    beats = [("gen_1", "gen_2"), ("gen_2", ANNA), (ANNA, "gen_1")]
    ring = GameTable.of([record(a, b, seed=i) for a, b in beats for i in range(30)])
    ratings = rate(ring)
    assert nash_weights(ratings)[ratings.index(ANNA)] == 0.0
    found = diagnose(ratings, ring)
    assert found.cycles == ()
    assert {(met.a, met.b) for met in found.encounters} == {("gen_1", "gen_2"), (ANNA, "gen_1"), (ANNA, "gen_2")}
    only = GameTable.of([played("random", "win")])
    assert diagnose(rate(only), only).misfit is None

    chain = series([(generation_id(i + 1), generation_id(i), "win") for i in range(4)])
    assert any("Chained" in text for text in build(GameTable.of(chain)).warnings)
    social = [played(generation_id(i), seed=i) for i in range(5)]
    assert any("Chained" in text for text in build(GameTable.of([*social, *chain])).warnings)


def test_sequential_elo_moves_people_alone():
    before = sequential_elo(GameTable.of(TRAINED))
    after = sequential_elo(GameTable.of([played(seed=0), *TRAINED, played(seed=1)]))
    assert {name: elo for name, elo in after.items() if name != ANNA} == before
    assert after[ANNA] > 1500.0


def test_games_of_other_programs_have_players_of_any_name_and_no_people():
    table = GameTable.of(series([(ANNA, "gen_1", "win"), ("gen_1", "random", "win")]))
    external = GameTable(**{f: getattr(table, f) for f in table.__slots__} | {"external": True})
    assert not external.of_people.any()
    assert not rate(external).people.any()
    assert not any(row.person for row in build(external).rows)


@pytest.fixture(scope="module")
def study(tmp_path_factory):
    results = ["win", "win", "loss"]
    people = [played(result=result, seed=i) for i, result in enumerate(results)]
    bert = [played("rusher", "loss", 50, person="person-bert-7")]
    return analyse(run_games(run_of(tmp_path_factory.mktemp("run"), [*people, *bert])))


def test_tables_name_a_person_and_rate_them_as_everybody(study):
    text = to_text(study.board)
    line = next(line for line in text.splitlines() if "anna" in line)
    cells = [cell.strip() for cell in line.strip("|").split("|")]
    assert cells[1] == "anna (person)"
    assert cells[4:8] == ["2", "1", "0", "3"]
    assert " to " in cells[3]
    bert = next(line for line in text.splitlines() if "bert" in line)
    assert "bert-7 (person)" in bert
    assert " or less" in bert
    assert f"people: {PEOPLE}" in text.splitlines()
    assert "person-" not in text
    assert "rusher (bot)" in text
    assert PEOPLE not in to_text(build(GameTable.of(TRAINED)))

    from rich.console import Console

    console = Console(width=100, record=True, file=open(os.devnull, "w"))  # noqa: SIM115
    with console.file:
        console.print(to_table(study.board, width=100))
    assert "anna (person)" in console.export_text()


def test_json_and_csv_say_who_is_a_person(study):
    rows = {row["policy"]: row for row in json.loads(to_json(study.board))["rows"]}
    assert (rows[ANNA]["person"], rows[ANNA]["scripted"], rows[ANNA]["nash"]) == (True, False, 0.0)
    assert not rows["random"]["person"]
    assert not rows["gen_3"]["person"]
    assert Leaderboard.model_validate_json(to_json(study.board, True)) == study.board
    head, *lines = (line.split(",") for line in to_csv(study.board).splitlines())
    assert {line[head.index("policy")] for line in lines if line[head.index("person")] == "True"} == {
        ANNA,
        "person-bert-7",
    }


def test_people_are_shown_however_low_they_stand():
    many = [record(generation_id(i), "random", seed=j) for i in range(30) for j in range(4)]
    board = build(GameTable.of([*many, *(played("random", "loss", i) for i in range(4))]))
    row = next(row for row in board.rows if row.person)
    assert row.rank > 20
    assert row in board.top()


def test_the_page_shows_people_in_table_curve_and_maps(study):
    text = page(PageContent("run", study))
    assert '<tr data-kind="person"' in text
    assert "anna <small>person</small>" in text
    assert '<option value="person">people</option>' in text
    assert PEOPLE in text
    parts = {name: json.loads(text.split(f'id="data-{name}"')[1].split(">", 1)[1].split("<")[0])
             for name in ("curve", "maps")}  # fmt: skip
    assert "anna" in [name for name, _ in parts["curve"]["levels"]]
    assert not any(point[-1] == ANNA for point in parts["curve"]["points"])
    players = parts["maps"]["players"]
    pair = {players.index("anna"), players.index("gen_3")}
    assert any({i, j} == pair for i, j, *_ in parts["maps"]["pairs"])
    assert "person</option>" not in page(PageContent("run", analyse(GameTable.of(TRAINED))))


def test_a_game_counts_once_and_the_trainer_s_ledger_is_not_touched(tmp_path):
    run = run_of(tmp_path, [])
    before = (run / LEDGER).read_bytes()
    with Ledger.open(run / LEDGER):  # a trainer runs
        assert record_game(run, played(seed=1))
        assert record_game(run, played(seed=2))
        assert not record_game(run, played(seed=1, wall=5.0))
    assert (run / LEDGER).read_bytes() == before
    assert [row.seed for row in read_records(run / FILE_NAME)] == [10_001, 10_002]
    with pytest.raises(LeagueError, match="no person played gen_1 against random"):
        record_game(run, record("gen_1", "random"))


def test_a_writer_waits_a_short_time_for_another(tmp_path):
    with Ledger.open(tmp_path / FILE_NAME):
        started = time.monotonic()
        with pytest.raises(LeagueError, match="is being written by another"):
            record_game(tmp_path, played(), wait_s=0.1)
        assert time.monotonic() - started >= 0.1

    def write(first):
        assert all(record_game(tmp_path, played(seed=first + i), wait_s=60.0) for i in range(8))

    writers = [threading.Thread(target=write, args=(100 * number,)) for number in range(2)]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join()
    assert len(read_games(tmp_path / FILE_NAME)) == 16


def test_a_torn_line_is_ignored_and_removed_by_the_next_writer(tmp_path):
    run = run_of(tmp_path, [played(seed=1)])
    with (run / FILE_NAME).open("a") as file:
        file.write('{"format":1,"match":"00')
    games = run_games(run)
    assert games.torn
    assert len(games) == len(TRAINED) + 1
    assert record_game(run, played(seed=2))
    assert not run_games(run).torn
    assert len(run_games(run)) == len(TRAINED) + 2


def test_rows_that_would_move_others_are_refused(tmp_path):
    run = run_of(tmp_path, [played(), record("gen_3", "gen_0", seed=77)])
    with pytest.raises(LeagueError, match="is for games of people, and has one of gen_3 against gen_0"):
        run_games(run)
    (run / FILE_NAME).write_text(played().row().replace("person-anna", "person-<script>") + "\n")
    with pytest.raises(LeagueError, match=r"people\.jsonl:1: not a game record"):
        run_games(run)


def test_rows_of_other_settings_or_weights_do_not_change_which_are_the_newest(tmp_path):
    other = [
        played(settings="other", seed=1),
        played(seat("gen_3", version="v0"), seed=2),
        played(seat("gen_3", version="v1"), seed=3),
    ]
    board = build(run_games(run_of(tmp_path, other)))
    assert board.settings == "abc/stochastic"
    assert board.left_out == {"under other settings": 1, "of weights since replaced": 1}
    assert next(row.games for row in board.rows if row.person) == 1


def test_a_row_with_the_id_of_a_trainer_s_game_does_not_replace_it(tmp_path):
    run = run_of(tmp_path, [])
    forged = played().row().replace(played().match, TRAINED[0].match)
    (run / FILE_NAME).write_text(forged + "\n")
    games = run_games(run)
    assert len(games) == len(TRAINED)
    assert games.duplicates == 1
    assert not games.of_people.any()


def test_links_are_not_followed(tmp_path):
    (tmp_path / "run").mkdir()
    run = run_of(tmp_path / "run", [])
    target = tmp_path / "target"
    target.write_bytes(b"precious")
    (run / FILE_NAME).symlink_to(target)
    with pytest.raises(LeagueError, match=r"people\.jsonl"):
        run_games(run)
    with pytest.raises(LeagueError, match=r"people\.jsonl"):
        record_game(run, played())
    (run / FILE_NAME).unlink()
    (run / FILE_NAME).symlink_to(tmp_path / "missing")
    with pytest.raises(LeagueError, match=r"people\.jsonl"):
        run_games(run)
    assert target.read_bytes() == b"precious"
    assert not (tmp_path / "missing").exists()


def test_ranks_hold_for_any_two_players_of_a_pool_with_people(study):
    rows = study.board.rows
    assert [row.rank for row in rows] == list(range(1, len(rows) + 1))
    assert all(row.ranks[0] <= row.rank <= row.ranks[1] for row in rows)
    assert all(one.rating >= other.rating for one, other in itertools.pairwise(rows))
