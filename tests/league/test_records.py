import itertools

import pytest
from pydantic import ValidationError

from selfplay.errors import LeagueError
from selfplay.league.records import (
    GameRecord,
    generation_id,
    generation_number,
    ladder_key,
    settings_hash,
)
from tests.league.pools import record, seat


def test_a_mirror_match_is_no_record():
    with pytest.raises(ValidationError, match="mirror match"):
        record("gen_3", "gen_3")


@pytest.mark.parametrize(
    "player", ["current", "latest", "gen_", "gen_007", "gen_-1", "gen_x", "", "Random", "a b", "../x"]
)
def test_only_players_of_fixed_strength_sit_down(player):
    with pytest.raises(ValidationError, match=r"changes while|neither a generation"):
        seat(player)


@pytest.mark.parametrize(
    "change",
    [
        {"colour": "red"},
        {"score": 0.7},
        {"score": "1"},
        {"rewards": (float("nan"), 0.0)},
        {"steps": -1},
        {"facts": [1]},
        {"format": 1},
    ],
)
def test_a_record_refuses_what_it_does_not_know(change):
    with pytest.raises(ValidationError):
        record("gen_1", "random", **change)


def test_records_survive_json():
    game = record("gen_1", "random", percents=(12.3456789, 0.1))
    assert GameRecord.model_validate_json(game.row()) == game
    assert "\n" not in game.row()


def test_match_ids_tell_apart_what_differs_and_nothing_else():
    def swapped(**changes):
        return record("random", "gen_1", **changes)

    base = record("gen_1", "random")
    assert record("gen_1", "random", wall=0.0, stocks=(0, 4), iteration=9).match == base.match
    others = [
        swapped(),
        record("gen_1", "random", characters=("fox", "mewtwo")),
        record("gen_1", "random", seed=1),
        record("gen_1", "random", round=1),
        record("gen_1", "random", settings="abd"),
        record(seat("gen_1", "v2"), "random"),
        record("gen_2", "random"),
    ]
    ids = [game.match for game in [base, *others]]
    assert len(set(ids)) == len(ids)
    pair = [match.partition("-")[0] for match in ids]
    assert pair[0] == pair[1] == pair[2], "games on one seed form one cluster"
    assert len(set(pair)) == len(ids) - 2


def test_match_ids_are_the_same_on_every_machine():
    assert record("gen_1", "random", seed=7).match == "e5ee518753ba5830-52d926f6"


def test_settings_hash_depends_on_content_not_on_order():
    settings = {"stage": "battlefield", "cap": 3600, "ratio": 0.1, "nested": {"a": [1, 2]}}
    keys = [dict(order) for order in itertools.permutations(settings.items())]
    assert len({settings_hash(order) for order in keys}) == 1
    assert settings_hash(settings | {"cap": 3601}) != settings_hash(settings)
    assert settings_hash({"cap": 1}) != settings_hash({"cap": "1"})


@pytest.mark.parametrize("value", [float("nan"), object(), b"x"])
def test_settings_that_json_cannot_hold_are_refused(value):
    with pytest.raises(LeagueError, match="cannot be hashed"):
        settings_hash({"cap": value})


def test_generations_sort_by_age_behind_scripted_players():
    names = ["gen_10", "rusher", "gen_9", "random", "gen_0"]
    assert sorted(names, key=ladder_key) == ["random", "rusher", "gen_0", "gen_9", "gen_10"]
    assert generation_number(generation_id(12)) == 12
    assert generation_number("random") is None
