import csv

import pytest

from selfplay.trainer.mode_study import ModeStudy, run_name
from tests.trainer.runs import ITERATION, TINY

MODES, SEEDS = ("latest", "simple_mix"), (0, 1)
NAMES = [run_name(mode, seed) for mode in MODES for seed in SEEDS]
PAGE = "".join(f"<!-- {name}: begin -->\n<!-- {name}: end -->\n" for name in ("modes", "modes_cross", "modes_exploits"))


@pytest.fixture(scope="module")
def study(tmp_path_factory):
    folder = tmp_path_factory.mktemp("study")
    options = [str(word) for word in TINY]
    made = ModeStudy(folder / "runs", folder / "out", ITERATION, lambda _: None, options)
    for mode in MODES:
        for seed in SEEDS:
            made.train(mode, seed)
    made.meet(NAMES, 2)
    made.exploit("latest-0", ITERATION, ("victim",), (0,), 2)
    made.exploit("latest-0", ITERATION, ("scratch", "victim"), (0, 1), 2)
    return made, folder


def games(folder):
    with (folder / "out" / "games.csv").open() as file:
        return list(csv.DictReader(file))


def test_every_two_have_met_and_the_scripted_players_too(study):
    _, folder = study
    pairs = {frozenset((row["first"], row["second"])) for row in games(folder)}
    assert len(pairs) == 6 + 4 * 6
    assert len(games(folder)) == 2 * len(pairs)
    assert frozenset(("latest-0", "simple_mix-1")) in pairs


def test_what_is_there_is_not_made_again(study, monkeypatch):
    made, folder = study
    before = games(folder)
    for name in ("train", "play_fixtures", "exploit"):
        monkeypatch.setattr(f"selfplay.trainer.mode_study.{name}", lambda *_, **__: pytest.fail("made again"))
    made.train("latest", 0)
    made.meet(NAMES, 2)
    made.exploit("latest-0", ITERATION, ("victim",), (0,), 2)
    assert games(folder) == before


def test_the_page_has_every_mode_with_intervals(study):
    made, folder = study
    page = folder / "page.md"
    page.write_text(PAGE)
    made.write(page, MODES, SEEDS, ["latest"])
    text = page.read_text()
    assert text.count("\n| `latest` | ") == 2
    assert text.count("\n| `simple_mix` | ") == 2
    assert "| `latest-0` |" not in text  # three exploiters a start were asked for, two were made
    assert made.exploits(["latest"], SEEDS, (0, 1)).count("| `latest-0` |") == 1


def test_a_score_counts_the_games_of_the_row(study):
    made, folder = study
    mine = [row for row in games(folder) if {row["first"], row["second"]} == {"latest-0", "simple_mix-0"}]
    points = sum(float(row["score"]) if row["first"] == "latest-0" else 1 - float(row["score"]) for row in mine)
    assert made._score(["latest-0"], ["simple_mix-0"]).startswith(f"{points / len(mine):.0%} [")
