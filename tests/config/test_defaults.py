from selfplay.cli.ppo import parse
from selfplay.config.resolve import with_defaults
from selfplay_melee.tables import CHARACTERS


def test_what_is_left_to_the_machine_is_settled_once(monkeypatch):
    monkeypatch.setattr("selfplay.config.resolve.usable_cores", lambda: 2)
    plain = with_defaults(parse(["--num-games", "64"]).config)
    exact = with_defaults(parse(["--num-games", "64", "--deterministic"]).config)
    assert (plain.run.runners, exact.run.runners) == (2, 4)
    assert (plain.run.threads, exact.run.threads) == (0, 4)  # their number changes the last bits of a sum
    monkeypatch.setattr("selfplay.config.resolve.usable_cores", lambda: 16)
    assert with_defaults(exact) == exact == with_defaults(parse(["--num-games", "64", "--deterministic"]).config)
    assert with_defaults(parse(["--runners", "1", "--set", "run.threads=3"]).config).run.threads == 3


def test_a_random_character_and_stage_are_drawn_by_the_runs_seed():
    arguments = ("--character", "random", "--opponent-character", "random", "--stage", "random", "--seed")
    drawn = [with_defaults(parse([*arguments, str(seed)]).config).game for seed in range(20)]
    assert drawn[0] == with_defaults(parse([*arguments, "0"]).config).game
    assert {game.character for game in drawn} <= set(CHARACTERS)
    assert len({game.character for game in drawn}) > 3
    assert len({game.stage for game in drawn}) > 2
    assert any(game.character != game.opponent_character for game in drawn)
    fixed = with_defaults(parse(["--stage", "battlefield"]).config).game
    assert (fixed.character, fixed.opponent_character, fixed.stage) == ("mewtwo", None, "battlefield")


def test_the_game_says_who_is_held_out():
    held_out = {
        arguments: with_defaults(parse(list(arguments)).config).league.held_out
        for arguments in ((), ("--game-type", "kuhn"), ("--held-out", "rusher,walker"), ("--held-out", ""))
    }
    assert list(held_out.values()) == [("counter_hitter", "all_rounder"), (), ("rusher", "walker"), ()]
