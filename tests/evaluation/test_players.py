import sys
from dataclasses import replace

import pytest

from selfplay.commands.cli import evaluate as evaluate_cli
from selfplay.errors import ConfigError, IncompatibleError, NotARunError
from selfplay.evaluation.players import contender, contenders, home_rules
from selfplay.runner.match import Contender, Rules
from selfplay_melee import bots
from selfplay_melee.choices import choices
from tests.run.policies import save
from tests.support.fight_rules import fight_rules

HOME = fight_rules(characters=("fox", "fox"), stage="battlefield", max_episode_frames=120)


@pytest.fixture
def run(tmp_path):
    return save(tmp_path / "run", 0, 5)


@pytest.mark.parametrize("name", bots.NAMES)
def test_scripted_players_by_name(name):
    assert contender(name) == Contender(name)


def test_policies_by_generation_folder_and_run(run):
    found = [contender("gen_5", run), contender(str(run.generations / "gen_5")), contender(str(run.path))]
    assert {player.policy.meta.id for player in found} == {"gen_5"}
    assert len({player.policy.meta.weights_hash for player in found}) == 1
    assert contender("gen_0", run).policy.meta.weights_hash != found[0].policy.meta.weights_hash


@pytest.mark.parametrize(
    ("name", "kind", "words"),
    [
        ("rushr", ConfigError, "did you mean 'rusher'"),
        ("gen_7", ConfigError, "has no gen_7; its generations: gen_0, .*gen_5"),
        ("no/such/folder", NotARunError, "holds no policy"),
        ("old.bin", ConfigError, "predecessor"),
    ],
)
def test_nobody_of_that_name(run, name, kind, words):
    with pytest.raises(kind, match=words) as caught:
        contender(name, run)
    assert caught.value.exit_code == 2


def test_a_policy_for_other_observations_is_refused(tmp_path):
    run = save(tmp_path / "old", 0, encoder_version=999)
    with pytest.raises(IncompatibleError, match="observations of version 999"):
        contender(str(run.path))


def test_games_are_played_where_the_first_policy_is_at_home(run, tmp_path):
    other = save(
        tmp_path / "other",
        1,
        character="mewtwo",
        opponent_character="fox",
        stage="final_destination",
        max_episode_frames=3600,
    )
    ours, theirs, scripted = contender(str(run.path)), contender(str(other.path)), contender("random")
    assert home_rules((ours, theirs)) == HOME
    assert home_rules((theirs, ours)) == fight_rules(characters=("mewtwo", "fox"))
    assert home_rules((scripted, ours), greedy=True) == replace(HOME, greedy=True)
    assert home_rules((scripted, scripted)) == fight_rules()


def test_what_a_person_chooses_goes_before_what_a_policy_is_used_to():
    home = HOME.conditions
    assert choices()(home) == home
    assert choices("mewtwo")(home).characters == ("mewtwo", "mewtwo")
    assert choices("mewtwo", "fox")(home).characters == ("mewtwo", "fox")
    assert choices(None, "mewtwo")(home).characters == ("fox", "mewtwo")
    chosen = choices(None, None, "dreamland", 7, "stocks")(home)
    assert chosen == replace(home, stage="dreamland", max_episode_frames=7, result_rule="stocks")


def test_the_first_policy_says_which_game_is_played(run, tmp_path):
    kuhn = save(tmp_path / "kuhn", 0, game="kuhn", encoder_version=1)
    real = save(tmp_path / "real", 0, game="dolphin")
    fight, poker = str(run.path), str(kuhn.path)
    assert contenders(["random", fight])[1] == contenders([str(real.path), fight])[1] == "mock"
    players, game = contenders(["equilibrium", poker])
    assert ([player.id for player in players], game) == (["equilibrium", poker], "kuhn")
    assert contenders(["random", "attack"], "mixup") == ([Contender("random"), Contender("attack")], "mixup")
    for names, words in (((fight, poker), "plays kuhn, not mock"), ((poker, fight), "plays mock, not kuhn")):
        with pytest.raises(ConfigError, match=words):
            contenders(names)
    with pytest.raises(ConfigError, match="plays mock, not kuhn"):
        contenders([fight, "random"], "kuhn")
    with pytest.raises(ConfigError, match=r"unknown player 'rusher' \(valid: always_bet, equilibrium, random\)"):
        contenders([poker, "rusher"])
    with pytest.raises(ConfigError, match="--game-type dolphin: its policies are compared in the mock"):
        contenders(["random", "cpu_1"], "dolphin")


def test_other_games_are_played_without_conditions():
    assert home_rules((Contender("random"), Contender("equilibrium")), "kuhn") == Rules("kuhn")


@pytest.mark.parametrize(
    "flag", ["--character fox", "--opponent-character fox", "--stage battlefield", "--result-rule stocks"]
)
def test_conditions_of_fights_are_refused_elsewhere(flag, monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["evaluate", "random", "equilibrium", "--game-type", "kuhn", *flag.split()])
    with pytest.raises(SystemExit):
        evaluate_cli.main()
    assert f"{flag.split()[0]} is a flag of --game-type mock" in capsys.readouterr().err
