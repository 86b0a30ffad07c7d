import pytest

from selfplay.errors import ConfigError, IncompatibleError, NotARunError
from selfplay.evaluation.named_players import choices
from selfplay.evaluation.players import chosen_rules, contender, contenders, home_rules
from selfplay.runner.match import Contender, Rules
from selfplay_melee import bots
from tests.run.policies import save


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
    assert home_rules((ours, theirs)) == (("fox", "fox"), Rules("battlefield", 120))
    assert home_rules((theirs, ours)) == (("mewtwo", "fox"), Rules())
    assert home_rules((scripted, ours), greedy=True) == (("fox", "fox"), Rules("battlefield", 120, greedy=True))
    assert home_rules((scripted, scripted)) == (("mewtwo", "mewtwo"), Rules())


def test_what_a_person_chooses_goes_before_what_a_policy_is_used_to(run):
    ours = (contender(str(run.path)), contender("random"))
    assert chosen_rules(ours, choices()) == home_rules(ours)
    assert chosen_rules(ours, choices("mewtwo"))[0] == ("mewtwo", "mewtwo")
    assert chosen_rules(ours, choices("mewtwo", "fox"))[0] == ("mewtwo", "fox")
    assert chosen_rules(ours, choices(None, "mewtwo"))[0] == ("fox", "mewtwo")
    chosen = choices(None, None, "dreamland", 7)
    assert chosen_rules(ours, chosen, greedy=True)[1] == Rules("dreamland", 7, greedy=True)


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


@pytest.mark.parametrize(
    ("flag", "given"),
    [
        ("--character", {"character": "fox"}),
        ("--opponent-character", {"opponent_character": "fox"}),
        ("--stage", {"stage": "battlefield"}),
        ("--max-episode-frames", {"max_episode_frames": 60}),
    ],
)
def test_settings_of_fights_are_refused_elsewhere(flag, given):
    players = (Contender("random"), Contender("equilibrium"))
    assert home_rules(players, "kuhn") == (("mewtwo", "mewtwo"), Rules(game="kuhn"))
    with pytest.raises(ConfigError, match=f"^{flag} goes with .* mock or dolphin; --game-type kuhn has"):
        choices(**given, game="kuhn")
