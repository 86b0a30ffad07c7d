"""The settings that a header lists."""

from selfplay.cli.ppo import parse
from selfplay.config.options import listed
from selfplay.config.ppo import Config


def test_settings_that_differ_from_their_default_are_listed_as_set_takes_them():
    words = (
        "--num-games",
        "8",
        "--hidden",
        "64,64",
        "--track-elo",
        "--opponent-character",
        "fox",
        "--ppo-clip",
        "2e-1",
    )
    assert listed(Config(), ()) == []
    found = listed(parse([*words]).config, ("run.num_games",))
    assert found == [("game.opponent_character", "fox"), ("net.hidden", "64,64"), ("league.track_elo", "true")]
    again = [f"--set={path}={value}" for path, value in found]
    assert listed(parse(["--preset", "none", *again]).config, ()) == found


def test_an_empty_value_in_place_of_none_is_not_listed():
    config = parse(["--preset", "none", "--game-type", "kuhn"]).config
    league = config.league.model_copy(update={"held_out": ()})
    assert listed(config.model_copy(update={"league": league}), ("game.type",)) == []
