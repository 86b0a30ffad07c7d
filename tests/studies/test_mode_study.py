import csv

import numpy as np
import pytest

from envs.melee import bots
from scripts.studies import cells, modes
from scripts.studies.modes import ModeStudy, between_runs, run_name
from selfplay.errors import ConfigError
from tests.train.runs import ITERATION, TINY

MODES, SEEDS = ("latest", "simple_mix"), (0, 1)
NAMES = [run_name(mode, seed) for mode in MODES for seed in SEEDS]
PAGE = "".join(
    f"<!-- {name}: begin -->\n<!-- {name}: end -->\n"
    for name in ("modes", "modes_cross", "modes_scripted", "modes_exploits")
)


@pytest.fixture(scope="module")
def study(tmp_path_factory):
    folder = tmp_path_factory.mktemp("study")
    options = [*map(str, TINY), "--pretrained", "none"]
    made = ModeStudy(folder / "runs", folder / "out", ITERATION, lambda _: None, options)
    for mode in MODES:
        for seed in SEEDS:
            made.train(mode, seed)
    made.meet(NAMES, 2, 4)
    made.exploit("latest-0", ITERATION, ("victim",), (0,), 2)
    made.exploit("latest-0", ITERATION, ("scratch", "victim"), (0, 1), 2)
    return made, folder


def games(folder):
    with (folder / "out" / "games.csv").open() as file:
        return list(csv.DictReader(file))


def test_every_two_have_met_and_the_scripted_players_too(study):
    _, folder = study
    pairs = {frozenset((row["first"], row["second"])) for row in games(folder)}
    assert len(pairs) == 6 + 4 * len(bots.LADDER)
    assert len(games(folder)) == 2 * 6 + 4 * 4 * len(bots.LADDER)
    assert frozenset(("latest-0", "simple_mix-1")) in pairs


def test_what_is_there_is_not_made_again(study, monkeypatch):
    made, folder = study
    before = games(folder)
    for module, name in ((cells, "finish"), (modes, "play_matchups"), (modes, "exploit")):
        monkeypatch.setattr(module, name, lambda *_, **__: pytest.fail("made again"))
    made.train("latest", 0)
    made.meet(NAMES, 2, 4)
    made.exploit("latest-0", ITERATION, ("victim",), (0,), 2)
    assert games(folder) == before
    with pytest.raises(ConfigError, match=r"exploit_latest-0_victim_1\.json was measured with other steps, games"):
        made.exploit("latest-0", 2 * ITERATION, ("victim",), (0,), 4)


def test_the_page_has_every_mode_with_intervals(study):
    made, folder = study
    page = folder / "page.md"
    page.write_text(PAGE)
    made.write(page, MODES, SEEDS, ["latest"])
    text = page.read_text()
    assert text.count("\n| `latest` | ") == 3
    assert text.count("\n| `simple_mix` | ") == 3
    assert "| `latest-0` |" not in text  # three exploiters a start were asked for, two were made
    assert made.exploits(["latest"], SEEDS, (0, 1)).count("| `latest-0` |") == 1


def test_a_score_counts_the_games_of_the_row(study):
    made, folder = study
    mine = [row for row in games(folder) if {row["first"], row["second"]} == {"latest-0", "simple_mix-0"}]
    points = sum(float(row["score"]) if row["first"] == "latest-0" else 1 - float(row["score"]) for row in mine)
    assert made._score(["latest-0"], ["simple_mix-0"]).startswith(f"{points / len(mine):.0%} [")


def test_intervals_are_those_of_other_seeds():
    """Seeds that differ by chance alone: an interval from the games would be far too narrow."""
    rng, inside = np.random.default_rng(0), 0
    for _ in range(400):
        mine, others = rng.normal(0, 60, 3), rng.normal(0, 60, 3)
        expected = 1 / (1 + 10 ** (-(mine[:, None] - others[None]) / 400))
        low, _, high = between_runs(rng.binomial(20, expected) / 20)
        inside += low <= 0.5 <= high
    assert inside / 400 > 0.92


def test_a_run_of_another_length_is_not_taken_for_one_of_the_study(study):
    _, folder = study
    longer = ModeStudy(folder / "runs", folder / "out", 2 * ITERATION, lambda _: None, [str(word) for word in TINY])
    with pytest.raises(ConfigError, match="name another folder"):
        longer.train("latest", 0)
