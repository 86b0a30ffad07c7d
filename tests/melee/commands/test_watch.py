import re
import shutil
from pathlib import Path

import numpy as np
import pytest

from selfplay.checkpoint import create_run, shipped_policies
from selfplay.errors import ConfigError, NotARunError
from selfplay.league.anchors import FILE_NAME, AnchorTable
from selfplay.league.leaderboard import build
from selfplay.league.ledger import Ledger, read_games
from selfplay_melee.commands.cli import watch as cli
from selfplay_melee.commands.watch import GAMES, fixture, highlight, opponent_of
from selfplay_melee.tables import CHARACTERS, STAGES
from tests.league.pools import record
from tests.run.policies import save, save_imitation


def fight(folder, named, seed, seconds=None):
    return fixture(folder, named).film(seed, seconds)


def test_a_fight_is_recorded_frame_by_frame(tmp_path):
    film = fight(save(tmp_path / "run", 0, 10).path, ["gen_0", "random"], seed=3)
    assert film.names == ("gen_0", "random")
    assert film.title == "run, seed 3"
    assert np.diff(film.frames).tolist() == [1] * (len(film) - 1)
    assert len(film) == 120  # the cap that the run played with
    assert np.ptp(film.players["x"][:, 1]) > 0


def test_estimates_are_made_when_a_policy_decides(tmp_path):
    film = fight(save(tmp_path / "run", 0).path, ["gen_0", "random"], seed=3)
    values = film.values[:, 0]
    assert np.isfinite(values).all()
    assert np.isnan(film.values[:, 1]).all()
    changes = np.flatnonzero(np.diff(values)) + 1
    assert len(changes) > 10
    assert (changes % 4 == 0).all()  # its frame skip


def test_scripted_players_estimate_nothing(tmp_path):
    assert fight(save(tmp_path / "run", 0).path, ["idle", "random"], seed=0, seconds=0.5).values is None


def test_the_newest_generation_stands_in(tmp_path):
    folder = save(tmp_path / "run", 0, 10).path
    assert fight(folder, [], seed=0, seconds=0.1).names == ("gen_10", "gen_10")
    assert fight(folder, ["random"], seed=0, seconds=0.1).names == ("gen_10", "random")
    assert len(fight(folder, ["random"], seed=0, seconds=0.1)) == 6


def test_a_policy_folder_fights_under_its_own_rules(tmp_path):
    mine = save_imitation(tmp_path / "mine", "gru", stage="dreamland")
    other = save_imitation(tmp_path / "other")
    assert fight(mine, [], seed=3, seconds=0.1).names == ("mine", "all_rounder")
    film = fight(mine, [str(mine)], seed=3, seconds=0.5)
    assert film.names == ("mine", "mine")
    assert film.title == "mine, seed 3"
    assert (film.stage, film.players["character"][0].tolist()) == (STAGES["dreamland"], [CHARACTERS["fox"]] * 2)
    assert np.isfinite(film.values).all()
    assert fight(mine, [str(other)], seed=3, seconds=0.5).names == ("mine", "other")
    assert fight(mine, ["random", str(other)], seed=3, seconds=0.5).names == ("random", "other")
    generation = save(tmp_path / "run", 0).generations / "gen_0"
    assert len(fight(generation, ["random"], seed=0)) == 120


def test_who_cannot_fight(tmp_path):
    with pytest.raises(NotARunError, match="no generation yet"):
        fight(save(tmp_path / "empty").path, [], seed=0)
    folder = save(tmp_path / "run", 0).path
    with pytest.raises(ConfigError, match="gen_7"):
        fight(folder, ["gen_7"], seed=0)


def rated(run, *results, settings="abc"):
    """Write a ledger with these games: winner, loser and how many."""
    games = [
        record(a, b, seed=100 * place + i, settings=settings)
        for place, (a, b, count) in enumerate(results)
        for i in range(count)
    ]
    with Ledger.open(run.ledger) as ledger:
        ledger.append(games)
    return run


def test_the_newest_generation_meets_the_strongest_player_that_stands_clearly_below_it(tmp_path):
    run = save(tmp_path / "run", 0, 10)
    results = [
        ("gen_10", "random", 12),
        ("gen_10", "walker", 12),
        ("walker", "gen_10", 1),
        ("walker", "random", 8),
        ("rusher", "walker", 8),
        ("rusher", "gen_10", 3),
        ("gen_10", "rusher", 4),  # more than half, and yet not clearly
        ("gen_10", "gen_0", 2),
    ]
    rated(run, *results)
    name, why = opponent_of(run, "gen_10")
    assert name == "walker"
    elo = {row.policy: row.rating for row in build(read_games(run.ledger)).rows}
    assert why.startswith(f"gen_10 is rated {elo['gen_10']:.0f} (")
    assert why.endswith(f"the strongest player that it beats is walker (92% of 13 games), rated {elo['walker']:.0f}.")
    meeting = fixture(run.path, [])
    assert (meeting.seats, meeting.why) == (("gen_10", "walker"), why)
    assert fixture(run.path, ["random"]).seats == ("gen_10", "random")
    assert fixture(run.path, ["gen_0", "random"]).why == ""


def test_the_choice_says_what_it_lacks(tmp_path):
    run = save(tmp_path / "run", 0, 10)
    assert opponent_of(run, "gen_10")[0] == "gen_10"
    assert "--track-elo" in fixture(run.path, []).why
    older = rated(save(tmp_path / "older", 5, 10), ("gen_5", "random", 12))
    name, why = opponent_of(older, "gen_10")
    assert name == "random"
    assert why.startswith("gen_10 has no rated game. gen_5 is rated ")
    assert " or more): the strongest player that it beats is random (100% of 12 games), rated 1500." in why
    for results in ([("gen_10", "gen_0", 2)], [("random", "gen_10", 3), ("gen_10", "random", 1)]):
        weak = rated(save(tmp_path / f"weak {len(results)}", 0, 10), *results, ("walker", "random", 4))
        name, why = opponent_of(weak, "gen_10")
        assert name == "random"
        assert why.endswith(" and stands clearly above no player: it meets the weakest, random, rated 1500.")


def test_a_rating_that_rests_on_games_of_others_chooses_too(tmp_path):
    """The newest generation has met no scripted player, and a shipped policy is among the pinned ones."""
    run = save(tmp_path / "run", 0, 10)
    games = (("gen_10", "gen_0", 20), ("gen_0", "gen_10", 6), ("gen_0", "weak", 30), ("weak", "gen_0", 3))
    rated(run, *games, settings="0" * 12)
    elo = {"random": 1500.0, "weak": 2500.0, "all_rounder": 2400.0, "strong": 4000.0}
    anchors = AnchorTable(settings="0" * 12, described={}, rating=elo, se=dict.fromkeys(elo, 0.0), games=2, seed=0)
    (run.path / FILE_NAME).write_text(anchors.model_dump_json())
    name, why = opponent_of(run, "gen_10")
    assert (name, "the strongest player that it beats is weak (by rating), rated 2500." in why) == ("weak", True)


def test_a_moment_is_one_of_the_run_not_of_the_policy_that_it_meets(tmp_path):
    run = save(tmp_path / "run", 0, 10)
    assert fixture(run.path, ["weak"]).heroes == (0,)
    assert fixture(run.path, ["weak", "gen_0"]).heroes == (1,)
    assert fixture(run.path, ["gen_0", "gen_10"]).heroes == (0, 1)
    assert fixture(run.path, ["weak", "random"]).heroes == (0,)
    assert fixture(run.path, ["walker", "random"]).heroes == (0, 1)
    assert fixture(shipped_policies()["strong"], ["weak"]).heroes == (0,)


def test_the_first_picture_shows_a_stock_that_the_run_takes_from_a_player_that_it_beats(tmp_path):
    """From a stored ledger to the frames: what is said is what is seen."""
    run = create_run(tmp_path / "run")
    run.write_run({})
    shutil.copytree(shipped_policies()["strong"], run.generations / "gen_10")
    rated(run, ("gen_10", "rusher", 12), ("rusher", "random", 12), ("random", "rusher", 1), ("expert", "gen_10", 12))
    options = cli.parser().parse_args([str(run.path), "--seed", "0", "--out", str(tmp_path / "fight.gif")])
    film, _, (chosen, shown) = cli.film_and_path(options)
    assert film.names == ("gen_10", "rusher")
    assert "the strongest player that it beats is rusher (100% of 12 games)" in chosen
    assert re.search(r"gen_10 deals \d+% and takes (a stock|\d stocks)", shown)
    stocks = film.players["stocks"]
    assert stocks[-1, 1] < stocks[0, 1]
    assert stocks[-60, 1] == stocks[-1, 1], "its dot is gone for a second"
    assert (film.players["stocks"][:60, 0] == stocks[0, 0]).all()


def test_a_policy_meets_the_strongest_scripted_player():
    meeting = fixture(shipped_policies()["expert"], [])
    assert [Path(name).name for name in meeting.seats] == ["expert", "all_rounder"]
    assert meeting.rules.conditions.characters == ("mewtwo", "mewtwo")
    assert fixture(shipped_policies()["champion"], []).seats[1] == "all_rounder_15"


def test_without_any_run_a_shipped_policy_is_shown(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    options = cli.parser().parse_args(["--seconds", "1", "--seed", "0", "--out", str(tmp_path / "fight.html")])
    film, _, lines = cli.film_and_path(options)
    assert film.names == ("champion", "all_rounder_15")
    assert "no run yet" in lines[0]


def test_a_highlight_is_the_best_of_a_few_games(tmp_path):
    meeting = fixture(save(tmp_path / "run", 0).path, ["random"])
    film, moment, why = highlight(meeting, 1.0)
    assert f"the best of {GAMES} games" in why
    assert film.title in why
    gains = [highlight(meeting, 1.0, seed)[1].gain for seed in range(GAMES)]
    assert moment.gain == max(gains)
    assert "best of" not in highlight(meeting, 1.0, 3)[2]
