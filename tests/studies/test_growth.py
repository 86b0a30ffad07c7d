"""The study of growth: its judgement on made-up series, and all of its parts at small sizes."""

import json
import math

import numpy as np
import pytest

from scripts.studies.growth import invented
from scripts.studies.growth import series as module
from scripts.studies.growth.page import chart, document, shown, table, write
from scripts.studies.growth.parts import PARTS, choose, measured
from scripts.studies.growth.series import Series
from selfplay.errors import ConfigError
from selfplay.league.games import GameTable
from selfplay.league.records import ANCHOR

SIZES = [10, 30, 100, 300, 1000, 3000, 10_000]


@pytest.fixture
def once(monkeypatch):
    """Each part is called once: that it works is enough here."""
    monkeypatch.setattr(module, "LONG_S", 0.0)


def series(grows, bar="n log n", constant=0.0, sizes=SIZES):
    made = Series("rows", "an operation", bar)
    for size in sizes:
        made.add(size, constant + 1e-6 * grows(size))
    return made


@pytest.mark.parametrize(
    ("grows", "bar", "holds"),
    [
        (lambda n: 1.0, "n log n", True),
        (lambda n: n, "n log n", True),
        (lambda n: n * math.log(n), "n log n", True),
        (lambda n: n**1.5, "n log n", False),
        (lambda n: n * n, "n log n", False),
        (lambda n: 1.0, "log n", True),
        (math.log, "log n", True),
        (lambda n: n, "log n", False),
    ],
)
def test_a_verdict(grows, bar, holds):
    assert series(grows, bar).holds is holds
    assert series(lambda n: 3.0 * grows(n), bar).exponent == pytest.approx(series(grows, bar).exponent)


def test_small_sizes_do_not_count():
    assert series(lambda n: n * n, constant=1e-3).exponent > 1.5, "a constant hides the growth of small sizes only"
    assert not series(lambda n: n * n, constant=1e-3).holds


def test_one_size_has_no_exponent():
    assert math.isnan(series(lambda n: n, sizes=[5]).exponent)
    assert series(lambda n: n, sizes=[5]).holds


def test_invented_games_are_those_of_a_ladder_on_which_the_newer_are_stronger():
    assert invented.ladder(3) == [ANCHOR, "gen_0", "gen_10"]
    records = list(invented.games(invented.ladder(200), 1000, np.random.default_rng(0)))
    assert len({record.match for record in records}) == 1000
    rows = GameTable.of(records)
    assert rows.groups == (invented.GROUP,)
    assert len(set(rows.pairs.tolist())) == 500, "two games on each seed"
    won = rows.stocks[:, 0] > rows.stocks[:, 1]
    elo = np.array([invented.strength(name) for name in rows.players])[rows.seats]
    far = np.abs(elo[:, 0] - elo[:, 1]) > 300
    assert ((elo[:, 0] > elo[:, 1]) == won)[far].mean() > 0.7


def test_every_part_is_measured(tmp_path, once):
    found = measured({name: PARTS[name] for name in ("players", "generations", "ledger")}, quick=True, tell=print)
    for name, part in PARTS.items():
        assert all(one.sizes == list(part.quick) for one in found if one.axis == name)
    names = {(one.axis, one.name) for one in found}
    assert len(names) == len(found) > 20
    assert all(value > 0 for one in found for value in one.values)
    (tmp_path / "performance.md").write_text("a\n<!-- growth: begin -->\nof last year\n<!-- growth: end -->\nb\n")
    write(tmp_path, found)
    page = (tmp_path / "performance.md").read_text()
    assert all(f"| {axis} | {name} |" in page for axis, name in names)
    assert "of last year" not in page
    assert json.loads((tmp_path / "data" / "growth.json").read_text()) == json.loads(json.dumps(document(found)))
    assert (tmp_path / "data" / "growth.svg").read_text().count("processor time, s") == 3


def test_games_of_a_block_are_measured(once):
    found = {one.name: one for one in measured(choose("games"), quick=True, tell=print)}
    assert set(found) == {"collecting, a step", "update", "report of an iteration", "opponents, and results of them"}
    assert all(one.sizes == list(PARTS["games"].quick) for one in found.values())


def test_the_chart_has_a_plot_for_each_axis_and_a_line_for_each_series():
    line = series(lambda n: n)
    other = Series("games", "another", "n log n", "s", line.sizes, line.values)
    picture = chart([line, other])
    assert picture.count("processor time, s") == picture.count("n log n") == 2
    assert all(f">{name}<" in picture for name in ("rows", "an operation (1.00)", "games in a block", "another (1.00)"))


def test_what_grows_too_fast_is_marked():
    assert "| **no** |" in table([series(lambda n: n**2)])


def test_figures_for_people():
    assert [shown(0.0000123, "s"), shown(0.5, "s"), shown(12.0, "s")] == ["12.3 µs", "500 ms", "12 s"]
    assert [shown(512, "bytes"), shown(2_500_000, "bytes")] == ["512 B", "2.5 MB"]


def test_an_unknown_part_is_refused():
    assert list(choose("ledger,games")) == ["ledger", "games"]
    with pytest.raises(ConfigError, match=r"--only rows: unknown \(valid: games, players, generations, ledger\)"):
        choose("games,rows")
