import io
import itertools
import json
import re

import numpy as np
import pytest

from selfplay.errors import LeagueError
from selfplay.league.games import GameTable
from selfplay.league.leaderboard import TOP, Leaderboard, analyse, build
from selfplay.league.ledger import read_games
from selfplay.league.records import generation_id
from selfplay.league.render import agreement, title, to_json, to_table, to_text
from selfplay.report.leaderboard_page.facts import headline
from tests.league.pools import record, series, tournament

MANY = {"random": 1500.0, "rusher": 1550.0} | {generation_id(i): 1500.0 + 20 * i for i in range(30)}


@pytest.fixture(scope="module")
def many():
    return build(tournament(MANY, itertools.combinations(MANY, 2), 2, np.random.default_rng(0), draws=0.2))


def cells(text):
    rows = [line.strip("|").split("|") for line in text.splitlines() if line.startswith("| ")]
    return [
        dict(zip((name.strip() for name in rows[0]), (cell.strip() for cell in row), strict=True)) for row in rows[1:]
    ]


def test_the_table_is_the_guide_s():
    text = to_text(build(GameTable.of(series([("gen_5", "gen_3", "win")] * 2 + [("gen_3", "random", "draw")]))))
    lines = text.splitlines()
    assert lines[0] == "═══ Elo Leaderboard ═══"
    assert [name.strip() for name in lines[1].strip("|").split("|")][:3] == ["Rank", "Policy", "Elo"]
    assert [row["Policy"] for row in cells(text)] == ["gen_5 (newest)", "random (bot)", "gen_3"]
    first = cells(text)[0]
    assert (first["Rank"], first["W"], first["L"], first["D"], first["Games"]) == ("1", "2", "0", "0", "2")


def test_the_top_the_anchors_the_start_and_the_newest_are_shown(many):
    shown = {row["Policy"].split()[0] for row in cells(to_text(many))}
    assert {"random", "rusher", "gen_0", "gen_29"} <= shown
    assert {row.policy for row in many.rows if row.rank <= TOP} <= shown
    assert len(shown) < len(many.rows) == 32
    assert f"{32 - len(shown)} more players: --all" in to_text(many)
    assert len(cells(to_text(many, show_all=True))) == 32
    assert "--all" not in to_text(many, show_all=True)


def test_the_run_comes_first_and_stronger_players_are_one_line():
    results = [("gen_1", "walker", "win")] * 12 + [("gen_1", "walker", "loss")]
    results += [("gen_0", "random", outcome) for outcome in ("win", "loss") for _ in range(4)]
    results += [("expert", "gen_1", "win")] * 4 + [("gen_1", "expert", "win")] + [("strong", "expert", "win")] * 9
    results += [("walker", "random", "win")] * 20 + [("rusher", "idler", "win")]
    study = analyse(GameTable.of(series(results)))
    board = study.board
    assert board.rows[0].policy == "strong"
    text = to_text(board)
    assert next(row["Policy"] for row in cells(text)) == "gen_1 (newest)"
    assert re.search(
        r"^stronger than every generation: strong \(\d+\), expert \(\d+, won 4 of 14\); --all lists", text, re.M
    )
    assert not {"rusher", "idler"} & {row.policy for row in board.top()}, "they met no generation"
    assert "2 more players: --all" in text
    assert "gen_1 beats walker (92% of 13 games), and the weaker random" in text
    assert {row["Policy"].split()[0] for row in cells(to_text(board, True))} == set(study.ratings.players)
    without_idler = [*results[:-1], ("walker", "rusher", "win")]
    assert "\n1 more player: --all" in to_text(build(GameTable.of(series(without_idler))))


def test_the_anchor_has_a_row_above_all_generations_too():
    board = build(GameTable.of(series([("random", "gen_1", "win")] * 8 + [("gen_1", "random", "win")])))
    assert board.stronger() == ()
    assert [row["Policy"].split()[0] for row in cells(to_text(board))] == ["random", "gen_1"]
    assert "stronger than every generation" not in to_text(board)


def test_nobody_is_beaten_whose_rating_is_not_clearly_lower_or_who_won_the_games_of_the_two():
    even = [("gen_1", "random", outcome) for outcome in ("win", "win", "win", "loss")]
    assert build(GameTable.of(series(even))).beats == ()
    lost = [("random", "walker", "win")] * 30 + [("gen_1", "random", "win")] * 30 + [("walker", "gen_1", "win")]
    board = build(GameTable.of(series([*lost, ("random", "gen_1", "win")])))
    assert [row.policy for row in board.rows] == ["gen_1", "random", "walker"]
    assert [each.text(board.scale) for each in board.beats] == ["random (97% of 31 games)"]


def test_json_holds_what_the_text_shows(many):
    board = Leaderboard.model_validate_json(to_json(many, show_all=True))
    assert board == many
    assert [row["policy"] for row in json.loads(to_json(many))["rows"]] == [row.policy for row in many.top()]


def test_rows_add_up(many):
    games = sum(row.games for row in many.rows)
    assert games == 2 * many.games
    assert sum(row.wins for row in many.rows) == sum(row.losses for row in many.rows)
    assert sum(row.draws for row in many.rows) == pytest.approx(2 * many.draw_share * many.games)
    assert all(row.wins + row.losses + row.draws == row.games for row in many.rows)
    assert all(row.low <= row.rating <= row.high for row in many.rows)
    assert [row.rank for row in many.rows] == list(range(1, 33))
    assert [row.rating for row in many.rows] == sorted((row.rating for row in many.rows), reverse=True)


def test_random_is_fixed_at_1500_and_marked(many):
    row = next(row for row in many.rows if row.policy == "random")
    assert (row.rating, row.low, row.high, row.fixed, row.scripted) == (1500.0, 1500.0, 1500.0, True, True)
    line = next(row for row in cells(to_text(many, True)) if row["Policy"] == "random (bot)")
    assert (line["Elo"], line["95% interval"]) == ("1500", "fixed")


def test_the_share_of_finished_games_is_of_all_games_of_a_player():
    board = build(
        GameTable.of(
            [
                record("gen_1", "random", (2, 0), seed=0),
                record("gen_1", "random", (2, 2), seed=1, percents=(0.0, 9.0), finished=False),
                record("gen_1", "random", (2, 2), seed=2, finished=False),
                record("random", "gen_1", (2, 1), seed=3, finished=False),
            ]
        )
    )
    first = board.rows[0]
    assert (first.wins, first.losses, first.draws, first.finished) == (2, 1, 1, 0.25)
    assert (board.draw_share, board.finished) == (0.25, 0.25)


def test_facts_and_what_was_left_out_are_said_in_words():
    games = GameTable.of(
        [record("gen_1", "random", settings="older", seed=i) for i in range(3)]
        + [record("gen_1", "random"), record("random", "gen_1"), record("gen_1", "idle")]
    )
    text = to_text(build(games))
    assert "2 games, 0% draws, 100% finished; at the time limit the player who is ahead wins" in text
    assert "Left out: 3 games under other settings." in text
    assert "Left out: 1 game against players outside the ladder." in text
    assert "idle" not in {row.policy for row in build(games).rows}
    assert analyse(games, settings="older").board.games == 3


def test_a_pool_without_ties_to_the_anchor_is_flagged():
    islands = build(GameTable.of(series([("gen_1", "random", "win"), ("gen_2", "gen_3", "win")])))
    assert "Warning: Not connected: no chain of games links these players to 'random'" in to_text(islands)
    assert "gen_2, gen_3." in to_text(islands)
    whole = build(GameTable.of(series([("gen_1", "random", "win"), ("gen_2", "gen_1", "win")])))
    assert whole.warnings == ()


def test_a_perfect_score_is_shown_as_a_bound():
    board = build(GameTable.of(series([("gen_1", "random", "win")] * 10 + [("gen_0", "random", "loss")] * 10)))
    bounds = {row["Policy"]: row["95% interval"] for row in cells(to_text(board))}
    assert bounds["gen_1 (newest)"].endswith(" or more")
    assert bounds["gen_0"].endswith(" or less")
    assert {row.policy: row.bound for row in board.rows} == {"gen_1": "below", "gen_0": "above", "random": "both"}
    assert [row.ends for row in board.rows] == [(board.rows[0].low, None), (1500.0, 1500.0), (None, board.rows[2].high)]
    (progress,) = (line for line in to_text(board).splitlines() if line.startswith("progress: gen_1 is "))
    assert " or more) from gen_0" in progress
    assert " or more) from gen_0" in headline(board)


def test_whom_nothing_ties_to_the_anchor_has_an_unknown_interval():
    board = build(GameTable.of(series([("gen_1", "random", "win"), ("gen_2", "gen_3", "win")])))
    intervals = {row["Policy"]: row["95% interval"] for row in cells(to_text(board))}
    assert intervals["gen_2"] == intervals["gen_3 (newest)"] == "unknown"


def test_a_torn_ledger_is_mentioned(tmp_path):
    path = tmp_path / "ledger.jsonl"
    path.write_text(record("gen_1", "random").row() + '\n{"format":1,')
    assert "Warning: The last row of the ledger is incomplete" in to_text(build(read_games(path)))


def test_repeated_rows_are_mentioned():
    games = GameTable.of([record("gen_1", "random")] * 2)
    assert "Warning: 1 repeated rows of the ledger were ignored." in to_text(build(games))


def test_sequential_elo_is_labelled_and_claims_no_interval():
    games = GameTable.of(series([("gen_1", "gen_2", "win"), ("gen_2", "random", "win")]))
    board = analyse(games, "sequential").board
    assert "sequential Elo (depends on the order of the games)" in to_text(board)
    assert {row.policy: row.rating for row in board.rows}["gen_1"] == 1520.0
    assert all(row.low is None and row.high is None for row in board.rows)
    assert {row["95% interval"] for row in cells(to_text(board))} == {""}


@pytest.mark.parametrize("options", [{"method": "glicko"}, {"settings": "nowhere"}])
def test_what_cannot_be_asked_for_is_named(options):
    with pytest.raises(LeagueError, match=r"glicko|nowhere"):
        analyse(GameTable.of([record("gen_1", "random")]), **options)


def test_an_empty_ledger_gives_an_empty_table():
    board = build(GameTable.of([]))
    assert board.rows == ()
    assert "0 games" in to_text(board)


@pytest.mark.parametrize("show_all", [True, False])
def test_the_terminal_table_holds_the_same_cells(many, show_all):
    from rich.console import Console

    screen = io.StringIO()
    Console(file=screen, width=80).print(to_table(many, show_all))
    shown = screen.getvalue()
    assert ".." not in shown
    assert "…" not in shown, "nothing is cut off on a terminal of 80 columns"
    for row in cells(to_text(many, show_all)):
        assert row["Policy"] in shown
        assert row["95% interval"] in shown
    assert title(many) in shown


GUIDE = ("Rank", "Policy", "Elo", "W", "L", "D")
LONG = "a_policy_with_a_name_that_is_longer_than_a_line_" * 4
NAMES = ("gen_100", "counter_hitter", LONG, "random")


@pytest.fixture(scope="module")
def wide():
    """Names of any length, and more games than a run plays."""
    pairs = itertools.combinations(NAMES, 2)
    return build(tournament(dict.fromkeys(NAMES, 1500.0), pairs, 4000, np.random.default_rng(0), draws=0.2))


def drawn(board, width, rich):
    if not rich:
        return to_text(board, show_all=True, width=width)
    from rich.console import Console

    screen = io.StringIO()
    Console(file=screen, width=width).print(to_table(board, show_all=True, width=width))
    return screen.getvalue()


@pytest.mark.parametrize("rich", [True, False])
@pytest.mark.parametrize("width", [80, 100, 120, 200])
def test_the_columns_of_the_guide_always_fit(wide, width, rich):
    lines = drawn(wide, width, rich).splitlines()
    (head,) = (line for line in lines if "Policy" in line)
    table = lines[: lines.index(head) + 2 + len(NAMES)]
    assert max(map(len, table)) <= width
    assert set(GUIDE) <= set(head.replace("|", " ").split())
    assert "counter_hitter" in "".join(table)
    for row in wide.rows:
        assert any(
            row.policy[:5] in line and all(str(n) in line for n in (row.wins, row.losses, row.draws)) for line in table
        ), "a row stands in one line, with all its numbers"


def test_columns_are_left_out_before_names_are_clipped(many):
    full = list(cells(to_text(many))[0])
    width = max(len(line) for line in to_text(many).splitlines() if line.startswith("|"))
    shown = []
    for narrower in range(0, width, 5):
        (*names,) = cells(to_text(many, width=width - narrower))[0]
        if names not in shown:
            shown.append(names)
    assert shown == [
        full,
        [name for name in full if name != "Finished"],
        [name for name in full if name not in ("Finished", "Games")],
        list(GUIDE),
    ]


def test_the_test_of_the_fit_is_told_in_words():
    assert agreement(0.11) == "the results agree with one rating per player (p = 0.11, the limit is 0.001)"
    assert agreement(1e-5) == "the results do not agree with one rating per player (p = 1e-05, the limit is 0.001)"


def test_progress_is_the_newest_generations_lead_over_the_start(many):
    assert many.progress.rating == pytest.approx(580, abs=120)  # 29 steps of 20
    assert many.progress.low < many.progress.rating < many.progress.high
    assert many.progress.superiority > 0.99
    assert "progress: gen_29 is +" in to_text(many)
    assert build(GameTable.of(series([("gen_0", "random", "win")]))).progress is None
    assert build(GameTable.of(series([("gen_5", "random", "win"), ("gen_3", "random", "win")]))).progress is None
