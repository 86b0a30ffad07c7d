import dataclasses
import itertools
import json
from types import SimpleNamespace

import numpy as np
import pytest

from selfplay.errors import LeagueError
from selfplay.league import anchors
from selfplay.league.anchors import AnchorTable, find_table, read_table, strengths
from selfplay.league.games import GameTable
from selfplay.league.leaderboard import analyse, build
from selfplay.league.ratings import rate
from selfplay.league.records import settings_hash
from selfplay.league.render import to_text
from selfplay.run import rating_games
from selfplay_melee import bot_names, bots
from selfplay_melee.physics import RULES_VERSION
from tests.league.pools import record, seat, series, tournament

DESCRIBED = {"stage": "final_destination"}
HASH = settings_hash(DESCRIBED)
POOL = {"random": 1500.0, "rusher": 1800.0, "tank": 2000.0, "gen_0": 1600.0, "gen_1": 1900.0}

NOW = SimpleNamespace(iteration=1, elapsed_s=1.0)


def document(**changes):
    table = {
        "settings": HASH,
        "described": DESCRIBED,
        "rating": {"random": 1500.0, "rusher": 1810.0, "tank": 1990.0},
        "se": {"random": 0.0, "rusher": 9.0, "tank": 9.0},
        "games": 1000,
        "seed": 0,
        **changes,
    }
    return json.dumps(table)


def games(rounds=20, seed=0):
    found = tournament(POOL, itertools.combinations(POOL, 2), rounds, np.random.default_rng(seed))
    return dataclasses.replace(found, groups=(f"{HASH}/stochastic",))


def test_pinned_players_stand_where_they_were_put_and_narrow_the_intervals():
    pinned = rate(games(), anchors={"rusher": 1810.0, "tank": 1990.0})
    free = rate(games())
    assert [pinned.rating[pinned.index(name)] for name in ("random", "rusher", "tank")] == pytest.approx(
        [1500, 1810, 1990]
    )
    assert pinned.pinned.tolist() == [True, True, True, False, False]
    assert not pinned.cov[pinned.pinned].any()
    assert (pinned.se[3:] < free.se[3:]).all()
    assert pinned.rating[3:] == pytest.approx([1600, 1900], abs=120)


def test_pinned_anchors_hold_the_scale_where_random_cannot():
    """Nobody loses to ``random``: then the prior alone says how far it is, and the whole table sinks."""
    pool = {"random": 1500.0, "rusher": 2100.0, "tank": 2300.0, "gen_0": 1900.0, "gen_1": 2200.0}

    def error(anchors):
        ledgers = (tournament(pool, itertools.combinations(pool, 2), 3, np.random.default_rng(i)) for i in range(40))
        found = [rate(ledger, anchors=anchors) for ledger in ledgers]
        return float(np.sqrt(np.mean([(ratings.rating[ratings.index("gen_1")] - 2200.0) ** 2 for ratings in found])))

    assert error({"rusher": 2100.0, "tank": 2300.0}) < 0.6 * error(None)


def test_bounds_come_from_whoever_is_pinned():
    """Nobody loses to random; a loss to another pinned player bounds a rating all the same."""
    results = [("gen_0", "tank", "win")] * 5 + [("tank", "gen_0", "win")] * 5 + [("gen_0", "random", "win")] * 5
    free, pinned = (rate(GameTable.of(series(results)), anchors=known) for known in (None, {"tank": 2000.0}))
    assert not free.ceiling[free.index("gen_0")]
    assert pinned.ceiling[pinned.index("gen_0")]
    assert pinned.floor[pinned.index("gen_0")]


@pytest.fixture
def shipped(tmp_path, monkeypatch):
    monkeypatch.setattr(anchors, "policy_folders", lambda: (tmp_path,))
    (tmp_path / "anchor_tables").mkdir()
    return tmp_path / "anchor_tables" / f"{HASH}.json"


def test_the_projects_table_comes_before_the_runs_own(shipped, tmp_path):
    assert find_table(HASH, tmp_path) is None
    (tmp_path / "anchors.json").write_text(document(games=20))
    table, origin = find_table(HASH, tmp_path)
    assert (table.games, origin) == (20, "run")
    assert find_table("0" * 12, tmp_path) is None  # of other settings
    shipped.write_text(document())
    table, origin = find_table(HASH, tmp_path)
    assert (table.games, origin) == (1000, "shipped")


def test_the_leaderboard_says_which_it_used(shipped, tmp_path):
    assert "only random is pinned" in to_text(build(games()))
    (tmp_path / "anchors.json").write_text(document())
    board = build(games(), run=tmp_path)
    assert board.anchors == "run"
    assert "this run's own calibration" in to_text(board)
    shipped.write_text(document())
    board = build(games())
    assert "the project's table" in to_text(board)
    assert {row.policy for row in board.rows if row.fixed} == {"random", "rusher", "tank"}
    assert analyse(games(), method="sequential").board.rows  # which pins nobody but random


def test_a_pinned_player_without_games_has_a_row(shipped):
    elo = {"random": 1500.0, "rusher": 1810.0, "tank": 1990.0, "counter": 2500.0}
    shipped.write_text(document(rating=elo, se=dict.fromkeys(elo, 5.0)))
    board = build(games())
    row = board.rows[0]
    assert (row.policy, row.rating, row.fixed, row.bound) == ("counter", 2500.0, True, "both")
    assert (row.wins, row.losses, row.draws, row.games, row.finished, row.nash) == (0, 0, 0, 0, None, 0.0)
    assert sum(row.nash for row in board.rows) == pytest.approx(1.0)
    assert "stronger than every generation: counter (2500)" in to_text(board)
    assert "counter (bot)" in to_text(board, show_all=True)


def test_games_against_other_weights_of_a_pinned_policy_do_not_count(shipped):
    found = GameTable.of(series([("gen_0", "tank", "win"), ("gen_0", "random", "win")]))
    played = dataclasses.replace(found, groups=(f"{HASH}/stochastic",))
    version = found.version_names[found.versions[0, 1]]
    for pinned, counted in ((version, True), ("0" * 64, False)):
        shipped.write_text(document(policies={"tank": pinned}))
        board = build(played)
        tank = next(row for row in board.rows if row.policy == "tank")
        assert (tank.games > 0) == counted
        assert ("of weights since replaced" in board.left_out) != counted


def test_a_generation_with_the_weights_of_a_pinned_policy_is_that_player(shipped):
    """A run with ``--pretrained strong`` starts from such a one; all that it has played may be lost."""
    strong = "a" * 64
    beaten = record(seat("gen_0", version=strong), "rusher", (0, 2))
    newer = record("gen_1", seat("gen_0", version=strong), (2, 0))
    elo = {"random": 1500.0, "rusher": 1810.0, "strong": 4000.0}
    shipped.write_text(document(rating=elo, se=dict.fromkeys(elo, 5.0), policies={"strong": strong}))
    played = dataclasses.replace(GameTable.of([beaten, newer]), groups=(f"{HASH}/stochastic",))
    rows = {row.policy: row for row in build(played).rows}
    assert (rows["gen_0"].rating, rows["gen_0"].fixed, rows["gen_1"].fixed) == (4000.0, True, False)
    assert rows["gen_1"].ends[0] > 3000
    settings = SimpleNamespace(settings=HASH, group=played.groups[0])
    assert strengths(played, settings)["gen_0"] == pytest.approx(4000.0)
    assert rating_games._rating(build(played.take(np.array([0]))), (), NOW).ends == (4000.0, 4000.0)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "JSON"),
        (document(settings="abc"), "settings"),
        (document(rating={"rusher": 1.0}, se={"rusher": 1.0}), "'random' is missing"),
        (document(se={"random": 0.0}), "different players"),
        (
            document(rating={"random": 1500.0, "gen_1": 1.0}, se={"random": 0.0, "gen_1": 1.0}),
            "is a generation of a run",
        ),
        (document(policies={"strong": "0" * 64}), "a policy has no rating"),
        (document(games=0), "games"),
        (document(extra=1), "extra"),
    ],
)
def test_what_is_no_table_is_named(text, message, tmp_path):
    path = tmp_path / "anchors.json"
    path.write_text(text)
    with pytest.raises(LeagueError, match=message) as caught:
        read_table(path)
    assert str(path) in str(caught.value)


def test_the_tables_of_the_project_are_of_its_rules_and_players():
    tables = [read_table(path) for path in anchors.shipped_tables()]
    assert tables
    for path, table in zip(anchors.shipped_tables(), tables, strict=True):
        assert path.stem == table.settings == settings_hash(table.described)
        assert (table.described["rules"], table.described["bots"]) == (RULES_VERSION, bots.VERSION), "make figures"
        slow = bot_names.SLOW if any(name in bot_names.SLOW for name in table.rating) else ()
        assert set(table.rating) == {*bots.LADDER, *slow, *table.policies}
        assert table.games >= 1000
        order = [name for name in table.by_strength() if name not in table.policies]
        assert order[0] == "random"
        assert order[-1] == bots.LADDER[-1]
    assert AnchorTable.model_validate_json(document()).games == 1000
