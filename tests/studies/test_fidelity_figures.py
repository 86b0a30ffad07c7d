from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from scripts.studies.fidelity.contacts import CONTACT
from scripts.studies.fidelity.figures import HEADLINE, Figure, cap, file_weights, pooled
from scripts.studies.fidelity.groups import contact_rows, landing_rows
from scripts.studies.fidelity.hits import HIT
from scripts.studies.fidelity.landings import LANDING, landings
from scripts.studies.fidelity.measure import WINDOW, Measured
from scripts.studies.fidelity.table import headline
from scripts.studies.fidelity.windows import LENGTH, Windows


def measured(**fields):
    empty = {name: np.zeros(0, kind) for name, kind in (("windows", WINDOW), ("landings", LANDING), ("hits", HIT))}
    made = Measured("a.slp", (3, 9, 0), True, 100, 90, {}, {}, contacts=np.zeros(0, CONTACT), **empty)
    return replace(made, **fields)


def figure(key):
    return next(one for one in HEADLINE if one.key == key)


def shares(*parts):
    """Files that have so many landings, with so many on the same frame."""
    files = []
    for count, exact in parts:
        rows = np.zeros(count, LANDING)
        rows["exact"][:exact] = 1.0
        files.append(measured(landings=rows))
    return files


def test_no_file_gives_more_than_a_tenth():
    counts = np.array([5000.0, *([100.0] * 24)])
    weighed = counts * file_weights(counts)
    assert weighed.max() / weighed.sum() == pytest.approx(0.1)
    assert (weighed[1:] == 100.0).all()


def test_files_of_like_size_are_not_weighed_down():
    assert cap(np.full(30, 50.0)) >= 50.0


def test_of_few_files_none_gives_more_than_twice_its_part():
    counts = np.array([900.0, 10.0, 10.0, 10.0])
    weighed = counts * file_weights(counts)
    assert weighed.max() / weighed.sum() == pytest.approx(0.5)


def test_one_file_counts_in_full():
    assert pooled(figure("landing_exact"), shares((30, 15)))["value"] == pytest.approx(0.5)


def test_a_pooled_figure_shows_how_files_differ():
    made = pooled(figure("landing_exact"), shares((100, 100), (100, 50), (100, 90), (5, 0)))
    assert made["low"] <= made["value"] <= made["high"]
    assert made["high"] - made["low"] > 0.05
    assert made["median_file"] == pytest.approx(0.9)  # the last one has too few
    assert (made["files"], made["items"]) == (3, 305)
    assert not made["holds"]


def test_the_interval_is_the_same_each_time():
    files = shares((100, 100), (100, 50), (100, 90))
    assert pooled(figure("landing_exact"), files) == pooled(figure("landing_exact"), files)


def test_a_quantile_weighs_files_too():
    big, small = np.zeros(1000), np.full(100, 7.0)
    median = Figure("e", "e", lambda file: file.hits, 1.0, 0.5)
    made = pooled(median, [measured(hits=big), measured(hits=small)])
    assert made["value"] == 0.0
    assert made["holds"]
    assert pooled(median, [measured(hits=big), *(measured(hits=small) for _ in range(20))])["value"] == 7.0


def test_without_a_case_there_is_no_figure():
    assert pooled(figure("landing_exact"), shares((0, 0))) is None


def contact_table(**counts):
    """Contacts: so many found, missed, invented and early."""
    rows = np.zeros(sum(counts.values()), CONTACT)
    kinds = np.repeat(list(counts), list(counts.values()))
    rows["real"] = np.isin(kinds, ["found", "missed"])
    rows["found"] = kinds != "missed"
    rows["early"] = kinds == "early"
    rows["character"] = rows["attacker_character"] = 1
    return rows


def met(folds, **values):
    """What the page says of each bar, by key of the figure."""
    entry = {"low": 0.0, "high": 1.0, "median_file": 0.5, "quantiles_of_files": {}, "items": 1}
    entries = {
        figure.key: entry | {"value": value, "bar": figure.bar, "holds": figure.holds(value)}
        for figure in HEADLINE
        for value in [values.get(figure.key, 0.5)]
    }
    rows = [line.split(" | ") for line in headline({"folds": folds, "headline": entries}).splitlines()[2:]]
    return {figure.key: (row[5], row[7]) for figure, row in zip(HEADLINE, rows, strict=True)}


def test_only_a_figure_that_is_held_out_meets_its_bar():
    good = {"landing_exact": 0.99, "same_actions": 0.99, "held_same_actions": 0.99}
    shown = met(5, **good)
    assert shown["landing_exact"] == ("yes", "yes")
    assert shown["same_actions"] == ("in part", "not shown")
    assert shown["held_same_actions"] == ("no", "not shown")
    assert shown["ledge_same_actions"] == ("no", "no")
    assert shown["grabs_recall"] == ("no", "")  # no bar
    assert met(0, **good)["landing_exact"] == ("no", "not shown")


def test_contacts_are_found_missed_invented_or_early():
    file = measured(contacts=contact_table(found=16, missed=4, invented=4, early=2))
    assert pooled(figure("contacts_recall"), [file])["value"] == pytest.approx(0.8)
    assert pooled(figure("contacts_precision"), [file])["value"] == pytest.approx(0.8)
    row = contact_rows([file])[0]
    assert (row["name"], row["contacts"], row["missed"], row["invented"], row["early"]) == ("all attacks", 20, 4, 4, 2)


def test_a_landing_is_judged_while_the_actions_are_the_same():
    """A fall from frame 1 to a landing on frame 10; each window is another case."""
    players = np.zeros((60, 2), [("action", "i4"), ("on_ground", "i4"), ("character", "i4")])
    players["action"], players["on_ground"], players["character"] = 29, 1, 1
    players["on_ground"][1:10, 0] = 0
    windows = Windows(*np.zeros((4, 60 - LENGTH, 2), int))
    windows.same[:, 0] = LENGTH
    windows.lands[:10, 0] = 10 - np.arange(10)  # on the same frame
    windows.lands[3, 0] = 9  # two frames late
    windows.same[4, 0], windows.lands[4, 0] = 2, 9  # something else before
    windows.same[5, 0], windows.lands[5, 0] = 2, 3  # two frames early, the actions differ from then on
    memory = np.zeros((60, 2), [("surface", "i4"), ("stage_row", "i4")])
    replay = SimpleNamespace(state=SimpleNamespace(players=players))
    rows = landings(replay, memory, windows, np.ones(60, bool), SimpleNamespace())
    assert rows["t"].tolist() == [10]
    assert rows["exact"][0] == pytest.approx(7 / 9)
    assert landing_rows([measured(landings=np.repeat(rows, 10))])[0]["exact"] == pytest.approx(7 / 9)
