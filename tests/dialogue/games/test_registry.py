"""The dialogue games by name."""

import json
import sys
from dataclasses import asdict
from pathlib import Path

import pytest

from selfplay.cli.game_type import training_of
from selfplay.dialogue.find import find_dialogue
from selfplay.dialogue.rules import game_of
from selfplay.dialogue.settings import DialogueConfig
from selfplay.games.errors import GameError, UnknownNameError
from selfplay.games.plugins import installed
from selfplay.games.registry import find_game, games_of, known_games, make_game
from selfplay_dialogue.registry import KUHN_TEXT, MATCHING
from selfplay_dialogue.states import LAPTOP, MatchingRules
from tests.dialogue.games.tables import self_play
from tests.support.processes import finish

ROOT = Path(__file__).parents[3]
ENTRIES = games_of("dialogue")


def test_the_names_are_known_without_the_entries():
    assert set(ENTRIES) == {"matching", "kuhn_text"}
    assert not set(games_of("ppo")) & set(ENTRIES)
    assert find_dialogue("matching") is MATCHING


@pytest.mark.parametrize("find", [find_game, find_dialogue, make_game])
def test_an_unknown_name_lists_both_families(find):
    with pytest.raises(UnknownNameError) as error:
        find("matchin")
    assert "did you mean 'matching'?" in str(error.value)
    assert all(name in str(error.value) for name in known_games())


def test_a_name_of_the_other_family_is_told_so():
    with pytest.raises(GameError, match=r"^matching is a text game, which is not played here \(valid: mock, "):
        find_game("matching")
    with pytest.raises(GameError, match=r"^kuhn is no dialogue game \(valid: kuhn_text, matching\)$"):
        find_dialogue("kuhn")


def test_without_the_extra_the_command_names_the_install_line():
    code = (
        "import sys; sys.modules['scipy'] = None\n"
        "from selfplay.dialogue.find import find_dialogue\n"
        "from selfplay.games.errors import GameError\n"
        "try: find_dialogue('matching')\n"
        "except GameError as error: print(error)\n"
    )
    done = finish([sys.executable, "-c", code], cwd=ROOT, check=True)
    assert done.stdout == "scipy is missing, which matching needs: pip install -e '.[dialogue]'\n"


def test_an_installed_package_brings_a_text_game(tmp_path, monkeypatch):
    info = tmp_path / "other_texts-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: other-texts\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[selfplay.games]\nriddle = other_texts:RIDDLE\n")
    (tmp_path / "other_texts.py").write_text(
        "from selfplay.games.kind import TextKind\n"
        "from selfplay_dialogue.registry import KUHN_TEXT\n"
        "RIDDLE = TextKind(lambda: KUHN_TEXT, defaults={'run': {'num_games': 16}})\n"
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    installed.cache_clear()
    try:
        assert training_of("riddle") == "dialogue"
        config = DialogueConfig.model_validate({"game": {"type": "riddle"}})
        assert config.run.num_games == 16
        assert game_of(config)[0] is KUHN_TEXT
    finally:
        installed.cache_clear()


@pytest.mark.parametrize("name", ENTRIES)
@pytest.mark.parametrize("embedded", [True, False])
def test_all_that_an_entry_says_fits_together(name, embedded):
    entry = find_dialogue(name)
    rules = entry.configure(embedded, {})
    assert type(rules) is entry.rules
    assert entry.rules(**json.loads(json.dumps(asdict(rules)))) == rules
    assert entry.teacher in entry.players
    assert next(iter(entry.players)) == "random"
    (state,) = entry.states(rules, [3])
    game, read = self_play(rules, state, [entry.players[entry.teacher](rules, seat) for seat in range(2)], entry.start)
    assert (game.outcome.rewards[0] == game.outcome.rewards[1]) == entry.shared_reward
    again = entry.start(rules, entry.load(json.loads(json.dumps(game.record()))))
    assert again.observe(0) == read[0]
    assert (game.system(0) == "") == embedded


@pytest.mark.parametrize(
    ("embedded", "settings", "rules"),
    [
        (True, {}, LAPTOP),
        (True, {"size": 4}, LAPTOP),
        (True, {"size": 8}, MatchingRules(table="triples", told="nothing")),
        (False, {}, MatchingRules()),
        (False, {"size": 6, "known": 1}, MatchingRules(size=6, known=1.0)),
    ],
)
def test_the_matching_is_that_of_the_laptop_at_its_size(embedded, settings, rules):
    assert find_dialogue("matching").configure(embedded, settings) == rules


def test_a_general_model_plays_the_small_game_with_rules_told():
    rules = find_dialogue("matching").configure(False, {"size": 4})
    assert (rules.values, rules.max_turns, rules.scaled) == (10, 8, False)
    assert (rules.table, rules.told, rules.retries) == ("csv", "full", 8)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"sise": 4}, "unknown setting of matching 'sise'; did you mean 'size'?"),
        ({"size": "4"}, "matching: size is '4' \\(valid: whole numbers\\)"),
        ({"size": True}, "matching: size is True \\(valid: whole numbers\\)"),
        ({"known": None}, "matching: known is None \\(valid: numbers\\)"),
        ({"table": 3}, "matching: table is 3 \\(valid: words\\)"),
        ({"size": 12}, "matching: size is 12 \\(valid: 2 to 8\\)"),
    ],
)
def test_settings_that_cannot_be_are_named(settings, message):
    with pytest.raises(GameError, match=message.replace("?", "\\?")):
        find_dialogue("matching").configure(True, settings)


def test_references_are_rewards_of_the_state():
    entry = find_dialogue("matching")
    (state,) = entry.states(LAPTOP, [0])
    known = entry.references(LAPTOP, state)
    assert known["random"] == pytest.approx(state.table.sum() / 4 / state.best)
    assert known["random"] < known["solo"] < 1
    assert known["optimum"] == 1.0
    kuhn = find_dialogue("kuhn_text")
    assert kuhn.references(kuhn.rules(), kuhn.states(kuhn.rules(), [0])[0]) == {}
