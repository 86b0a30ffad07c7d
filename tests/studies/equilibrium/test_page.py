"""The tables of the page are made from cells."""

import pytest

from scripts.studies.equilibrium import page
from scripts.studies.equilibrium.cells import FOLDER, read_cells
from selfplay.errors import ConfigError
from tests.studies.equilibrium.examples import cell, point

SEEDS = [
    cell(
        seed=seed,
        points=[
            point(80.0, 9.0, 9.0),
            point(151.0, 1.0, quarter),
            point(300.0, 0.6, 0.6),
            point(600.0, 0.5, end, 2_000_000),
        ],
    )
    for seed, quarter, end in ((0, 0.9, 0.1), (1, 0.7, 0.3), (2, 0.8, 0.2))
]


def row(text, *starts):
    (found,) = [line for line in text.splitlines() if line.startswith(f"| {' | '.join(starts)} |")]
    return [word.strip() for word in found.strip("|").split("|")]


def test_the_worst_of_the_seeds_stands_first():
    text = page.text(SEEDS)
    assert row(text, "kuhn_poker", "cfr", "average")[3:] == ["10", "3", "**0.3**", "0.1", "0.9", "2"]
    assert row(text, "kuhn_poker", "cfr", "last")[5] == "**0.5**"
    assert row(text, "kuhn_poker", "`kuhn_poker`")[2:] == ["12", "58", "0.9167"]
    assert "Measured: 2030-01-02, a processor, 2 cores. open_spiel 2.0.2." in text


def test_a_policy_of_later_does_not_count_at_a_quarter_of_the_time():
    text = page.text([cell(method="ppo", points=[point(2.0, 0.9), point(170.0, 0.6), point(600.0, 0.5)])])
    assert row(text, "kuhn_poker", "ppo", "last")[7] == "0.9"


def test_a_method_without_an_average_policy_has_no_row_of_it():
    text = page.text([cell(method="ppo", points=[point(600.0, 0.5)])])
    assert row(text, "kuhn_poker", "ppo", "last")[5] == "**0.5**"
    assert "| average |" not in text


def test_games_and_methods_are_in_their_order_and_times_apart():
    cells = [
        cell(game="leduc_poker"),
        cell(method="selfplay-new"),
        cell(method="ppo"),
        cell(),
        cell(minutes=2.0, points=[point(120.0, 0.4)]),
    ]
    rows = [line.split(" | ") for line in page.text(cells).splitlines() if " | last | " in line]
    assert [(each[0].strip("| "), each[1], each[3]) for each in rows] == [
        ("kuhn_poker", "cfr", "2"),
        ("kuhn_poker", "cfr", "10"),
        ("kuhn_poker", "ppo", "10"),
        ("kuhn_poker", "selfplay-new", "10"),
        ("leduc_poker", "cfr", "10"),
    ]


@pytest.mark.parametrize(("value", "shown"), [(1.2345, "1.23"), (0.00123, "0.00123"), (1.2e-5, "1e-05"), (-1e-9, "0")])
def test_small_figures_are_told_apart_from_zero(value, shown):
    assert f"**{shown}**" in page.text([cell(points=[point(600.0, value)])])


def test_without_cells_there_is_no_page():
    with pytest.raises(ConfigError, match="there are no cells"):
        page.text([])


def test_the_page_shows_the_cells_that_are_stored():
    assert page.text(read_cells(FOLDER)) in page.PAGE.read_text(encoding="utf-8")
