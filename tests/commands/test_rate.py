import json
import math

import numpy as np
import pytest

from selfplay.checkpoint import RunDir, list_generations
from selfplay.cli.ppo import parse
from selfplay.commands.rate import calibrate, player_on_cluster, rate_run, save_table
from selfplay.errors import ConfigError, IncompatibleError
from selfplay.league.anchors import FILE_NAME, find_table
from selfplay.league.games import GameTable
from selfplay.league.ledger import read_games
from selfplay.league.records import OUTSIDE
from selfplay.league.schedule import Matchup, plan_games
from selfplay.ppo.rating import RatingSettings, config_of, settings_of
from selfplay.runner.match import Contender, Rules, play
from selfplay_melee import bots
from tests.run.runs import CAP, train
from tests.support.fight_rules import fight_rules

SETTINGS = RatingSettings(fight_rules(max_episode_frames=300), ("random", "walker", "rusher"))


@pytest.fixture(scope="module")
def table():
    return calibrate(SETTINGS, games=20)


def test_every_pair_meets_and_the_table_says_under_which_settings(table):
    assert table.settings == SETTINGS.settings
    assert table.described == SETTINGS.described
    assert set(table.rating) == set(SETTINGS.anchors)
    assert (table.rating["random"], table.se["random"]) == (1500.0, 0.0)
    assert table.rating["rusher"] > 1500
    assert table.games == 20 * 3  # of three pairs


def test_the_same_seed_gives_the_same_table(table):
    assert calibrate(SETTINGS, games=20) == table
    assert calibrate(SETTINGS, games=20, seed=1) != table


def test_a_pair_plays_from_both_seats():
    with pytest.raises(ConfigError, match="at least 2"):
        calibrate(SETTINGS, games=1)
    assert calibrate(SETTINGS, games=3).games == 2 * 3  # whole fixtures


def test_a_table_is_read_as_it_was_written(table, tmp_path):
    save_table(table, tmp_path / "made" / FILE_NAME)
    assert find_table(SETTINGS.settings, tmp_path / "made") == (table, "run")


def test_fixtures_are_planned_with_the_runs_own_anchors(table, tmp_path, monkeypatch):
    """A far-off table moves the expected scores and with them the fixtures that tell most."""
    seen = []
    monkeypatch.setattr("selfplay.league.schedule.plan", lambda ratings, *_: seen.append(ratings) or [])
    rng = np.random.default_rng(0)
    plan_games(GameTable.of([]), SETTINGS, ("gen_0", *SETTINGS.anchors), 10, rng)
    save_table(table.model_copy(update={"rating": {**table.rating, "rusher": 2345.0}}), tmp_path / FILE_NAME)
    plan_games(GameTable.of([]), SETTINGS, ("gen_0", *SETTINGS.anchors), 10, rng, tmp_path)
    free, pinned = seen
    assert free.rating[free.index("rusher")] == pytest.approx(1500)
    assert pinned.rating[pinned.index("rusher")] == pytest.approx(2345)


@pytest.fixture
def run(tmp_path):
    code, text = train(tmp_path / "run", "--timesteps", 1024, "--save-interval", 2)
    assert code == 0, text
    return RunDir(tmp_path / "run")


def test_settings_of_a_run_are_those_it_was_trained_with(run):
    settings = settings_of(config_of(run))
    assert settings.rules.conditions.max_episode_frames == CAP
    assert settings.anchors == bots.LADDER == tuple(name for name in bots.NAMES if name not in OUTSIDE)
    assert "idle" not in settings.anchors


def test_a_run_of_another_time_is_refused(run):
    saved = json.loads((run.path / "run.json").read_text())
    saved["config"]["game"]["gravity"] = 3
    (run.path / "run.json").write_text(json.dumps(saved))
    with pytest.raises(IncompatibleError, match="configuration cannot be used"):
        config_of(run)


def test_a_budget_is_spent_and_the_ledger_keeps_it(run):
    generations = [generation.id for generation in list_generations(run)]
    assert len(generations) > 1
    said = []
    settings = settings_of(config_of(run))
    assert rate_run(run, settings, generations, 41, seed=0, notice=said.append) == 40
    games = read_games(run.ledger)
    assert len(games) == 40
    assert {*generations, "random"} <= set(games.players)
    assert said == ["41 games, 256 side by side", "40 of 41 games"]
    assert rate_run(run, settings, generations, 10, seed=0) == 10  # other games, though the seed is the same
    assert len(read_games(run.ledger)) == 50


@pytest.mark.parametrize(
    "arguments",
    [
        ("--preset", "laptop"),
        ("--preset", "human"),
        ("--preset", "human", "--character", "marth", "--opponent-character", "marth"),
    ],
)
def test_the_main_jobs_have_a_table(arguments):
    config = parse(["--game-type", "mock", *arguments]).config
    _, origin = find_table(settings_of(config).settings)
    assert origin == "shipped"


def test_games_in_real_time_are_not_rated_on_a_cluster():
    config = parse(["--game-type", "dolphin", "--dolphin", "x", "--iso", "y", "--preset", "none"]).config
    with pytest.raises(ConfigError, match="--host ray: games of dolphin are played in real time, on this machine only"):
        player_on_cluster(config, None, 2, 400, print).__enter__()


def test_players_of_solved_games_are_rated_by_the_same_code():
    attacks = RatingSettings(Rules(game="mixup"), ("random", "attack", "shield", "grab"))
    table = calibrate(attacks, games=40)
    ring = [Matchup(("attack", "grab")), Matchup(("shield", "attack"))]
    results = play(ring, {name: Contender(name) for name in attacks.anchors}, attacks.rules)
    assert [result.score for result in results] == [(1.0, 0.0), (1.0, 0.0)]
    assert table.rating["random"] == 0.0
    assert all(math.isfinite(elo) for elo in table.rating.values())
    assert table.settings == attacks.settings
    assert calibrate(attacks, games=40) == table
