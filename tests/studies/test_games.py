"""The pages of docs/games: one for each game of this project, with tables that follow from the code."""

import re

import numpy as np
import pytest

from scripts.studies import ROOT
from scripts.studies.games import fights, solved, texts
from scripts.studies.games.__main__ import PAGES, write
from selfplay.dialogue.find import find_dialogue
from selfplay.games import plugins
from selfplay.games.registry import games_of, known_games
from selfplay.games.solved.kuhn import Kuhn
from selfplay_melee import bot_names
from selfplay_melee.features import PENDING, PENDING_PARTS, PLAYER, feature_names
from selfplay_melee.mock import MockMelee
from selfplay_melee.observation import encode
from selfplay_melee.play.content import SCRIPTED
from selfplay_melee.rated import MOCK
from selfplay_melee.tables import load_tables


def test_every_game_of_the_project_has_a_page():
    games = {name for name in known_games() if plugins.is_own(name)}
    assert games - {"dolphin"} == set(PAGES)
    assert {path.stem for path in (ROOT / "docs/games").glob("*.md")} - {"README"} == set(PAGES)


def test_the_tables_stand_between_the_markers(tmp_path):
    (tmp_path / "docs/games").mkdir(parents=True)
    page = tmp_path / "docs/games/kuhn.md"
    page.write_text("rules\n<!-- game: begin -->\n<!-- game: end -->\n")
    write(tmp_path)
    text = page.read_text()
    assert text.startswith("rules\n")
    assert "| 0 | own card: jack; moves: none |" in text
    assert "| 12 | seat: 0 |" in text


def test_a_feature_means_what_its_states_share():
    rules = Kuhn()
    found = solved.meanings(rules, lambda state, seat: {"first": "yes" if state.cards[0] == 0 else "no"})
    assert found[0] == "all states"  # seats 0 and 1 have the jack in turn
    assert set(found) == set(range(13))


def test_every_feature_and_player_of_a_fight_is_explained():
    text = fights.text()
    assert all(name.startswith("is_") or f"`{name}`" in text for name in PLAYER)
    names = feature_names()
    pending = names.index("pending_0_A")
    assert all(f"`{name}`" in text for name in names[2 * len(PLAYER) : pending])
    assert names[pending:] == [f"pending_{part}_{name}" for part in range(PENDING_PARTS) for name in PENDING]
    assert f"{pending} + {len(PENDING)} P on | `pending_P_...`" in text
    assert set(SCRIPTED) | set(bot_names.SLOW) == set(MOCK.players)


def test_every_setting_and_player_of_a_text_game_is_explained():
    for name in games_of("dialogue"):
        entry = find_dialogue(name)
        assert set(entry.players) == set(texts.PLAYERS[name])
        texts.text(name)


@pytest.mark.parametrize(
    ("feature", "field", "low", "high"),
    [
        ("x", "x", -20.0, -10.0),
        ("y", "y", 0.0, 10.0),
        ("speed_y", "speed_y", 0.0, 1.0),
        ("knockback_y", "speed_attack_y", 0.0, 1.0),
        ("percent", "percent", 10.0, 20.0),
        ("hitlag", "hitlag", 2.0, 3.0),
        ("hitstun", "hitstun", 2.0, 3.0),
        ("stocks", "stocks", 2, 3),
        ("jumps_left", "jumps_left", 0, 1),
        ("edge_distance", "x", -20.0, -10.0),
    ],
)
def test_the_factors_are_those_of_the_encoder(feature, field, low, high):
    block = MockMelee(1, max_episode_frames=60)
    block.reset(np.zeros(1, np.uint64))
    seen = []
    for value in (low, high):
        block.state.players["x"][0, 1] = 50.0  # to the right, so that nothing is mirrored
        block.state.players[field][0, 0] = value
        seen.append(encode(block.state, load_tables())[0][0, 0, PLAYER.index(feature)])
    factor = float(re.search(r"× ([\d.]+)", fights.MEANINGS[feature])[1])
    assert seen[1] - seen[0] == pytest.approx(factor * (high - low), rel=1e-4)
