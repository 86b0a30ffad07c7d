import json
from functools import partial

import numpy as np
import pytest

from selfplay.checkpoint import RunDir
from selfplay.dialogue.commands.rate import calibrate_dialogue, rate_dialogue
from selfplay.dialogue.find import find_dialogue
from selfplay.dialogue.rating import FrozenPlayers, _parts, play_dialogues, rating_of
from selfplay.dialogue.settings import DialogueConfig, DialogueGameConfig
from selfplay.errors import ConfigError
from selfplay.league.games import GameTable
from selfplay.league.ledger import read_games
from selfplay.league.records import Seat
from selfplay.league.schedule import Matchup
from tests.dialogue.models import model_folder

MATCHING = rating_of(DialogueConfig(game=DialogueGameConfig(type="matching")))
KUHN = rating_of(DialogueConfig(game=DialogueGameConfig(type="kuhn_text")))


class Scripts:
    """FrozenPlayers without models: generations play as named scripted players do."""

    max_models = 64

    def __init__(self, rating, **styles):
        self.rating = rating
        self._styles = styles

    def side(self, name):
        return Seat(player=name, version="v1")

    def player(self, name):
        return partial(self.rating.entry.players[self._styles.get(name, name)], self.rating.rules)


def fixtures(a, b, count):
    return [Matchup((a, b), seed=seed) for seed in range(count)]


def test_both_play_one_state_in_one_seat_with_one_partner():
    rows = play_dialogues(fixtures("gen_1", "gen_0", 30), Scripts(MATCHING, gen_1="pooling", gen_0="greedy"), 4)
    assert len(rows) == 60
    assert {row.facts["seat"] for row in rows} == {0, 1}
    partners = {row.facts["partner"]["player"] for row in rows}
    assert partners == {"gen_0", "gen_1", "greedy", "teacher", "pooling", "pooling_best"}
    by_state = {}
    for row in rows:
        by_state.setdefault(row.seed, set()).add(row.facts["partner"]["player"])
    assert all(len(names) == 1 for names in by_state.values())
    assert [row.seats[0].player for row in rows[:2]] == ["gen_1", "gen_0"]  # each is first once
    assert len(np.unique(GameTable.of(rows).pairs)) == 30


def test_the_same_player_twice_is_paid_the_same_where_luck_is_the_same():
    rows = play_dialogues(fixtures("gen_1", "gen_0", 20), Scripts(MATCHING, gen_1="teacher", gen_0="teacher"), 4)
    assert all(row.rewards[0] == row.rewards[1] for row in rows)


def test_opposite_each_other_where_rewards_are_not_shared():
    rows = play_dialogues(fixtures("gen_1", "random", 20), Scripts(KUHN, gen_1="equilibrium"), 0)
    assert len(rows) == 40
    assert all(row.facts["partner"] is None and sum(row.rewards) == 0 for row in rows)
    assert [row.seats[0].player for row in rows[:2]] == ["gen_1", "random"]
    assert all(row.facts["reasons"] in (["fold"] * 2, ["showdown"] * 2) for row in rows)


def test_the_same_fixtures_give_the_same_rows():
    one, other = (play_dialogues(fixtures("honest", "random", 5), Scripts(KUHN), 0) for _ in range(2))
    assert [row.model_dump(exclude={"wall"}) for row in one] == [row.model_dump(exclude={"wall"}) for row in other]


def test_so_many_models_are_in_memory_at_once():
    names = [f"gen_{i}" for i in range(8)]
    pairs = [Matchup((a, b), seed=seed) for seed, (a, b) in enumerate((a, b) for a in names for b in names if a < b)]
    parts = list(_parts(pairs, MATCHING, 3))
    assert sum(map(len, parts)) == len(pairs)
    for part in parts:
        assert len({name for matchup in part for name in matchup.players}) <= 3
    assert list(_parts(pairs, MATCHING, 64)) == [pairs]


def test_rules_and_players_make_the_settings():
    other = rating_of(DialogueConfig.model_validate({"game": {"type": "kuhn_text", "retries": 2}}))
    assert other.settings != KUHN.settings
    cold = rating_of(DialogueConfig.model_validate({"game": {"type": "kuhn_text"}, "sampling": {"temperature": 0.5}}))
    assert cold.settings == KUHN.settings  # rated at temperature 1, however it trains
    assert cold.sampling.temperature == 1.0


@pytest.fixture
def run(tmp_path):
    """Folder of a run of Kuhn with two untaught generations."""
    made = RunDir(tmp_path / "run")
    made.generations.mkdir(parents=True)
    config = DialogueConfig.model_validate(
        {"game": {"type": "kuhn_text"}, "sampling": {"max_new_tokens": 4}, "run": {"num_games": 8}}
    )
    made.run_json.write_text(json.dumps({"format": 1, "family": "dialogue", "config": config.model_dump(mode="json")}))
    for name, seed in (("gen_0", 1), ("gen_2", 2)):
        model_folder(made.generations / name, seed=seed)
    return made


def test_a_run_is_rated_afterwards(run):
    told = []
    assert rate_dialogue(run, 24, 0, told.append) == 24
    games = read_games(run.ledger)
    assert len(games) == 24
    assert {"gen_0", "gen_2", "random"} <= set(games.players)
    assert told[-1] == "24 of 24 games"
    assert rate_dialogue(run, 8, 0, told.append) == 8
    assert len(read_games(run.ledger)) == 32


def test_weights_are_told_apart(run):
    contenders = FrozenPlayers(DialogueConfig.model_validate(run.read_run()["config"]), run, "cpu")
    assert contenders.side("gen_0").version != contenders.side("gen_2").version
    assert contenders.side("random").version == "scripted-1"


def test_scripted_players_are_measured(run):
    table = calibrate_dialogue(run, 200, 0, lambda _: None)
    assert table.rating["random"] == 0.0
    assert table.rating.keys() == find_dialogue("kuhn_text").players.keys()
    assert table.settings == rating_of(DialogueConfig.model_validate(run.read_run()["config"])).settings
    with pytest.raises(ConfigError, match="at least 2"):
        calibrate_dialogue(run, 1, 0, lambda _: None)
