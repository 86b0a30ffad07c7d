import pytest

pytest.importorskip("transformers", reason="needs the extra: pip install -e '.[dialogue]'")

from selfplay.errors import ConfigError
from selfplay.trainer import cli as fights
from selfplay.trainer.dialogue.cli import parse

GAME = ["--game-type", "matching"]


def test_the_laptop_preset_is_the_committed_game():
    config = parse([*GAME, "--preset", "laptop"]).config
    assert config.iterations * config.run.num_games <= 45_000
    assert config.start.tokens <= 12_000_000
    assert config.run.evaluation_states == 1024
    assert config.embedded


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--character", "fox"], "--character is a flag of the other games: --game-type mock"),
        (["--games-per-state", "7"], "--num-games 256 must be a multiple of --games-per-state 7"),
        (["--temperature", "0"], "--temperature 0: "),
        (["--advantage", "ppo"], "--advantage ppo: "),
        (["--gamess", "3"], "did you mean --games"),
    ],
)
def test_mistakes_are_one_line(arguments, message):
    with pytest.raises(ConfigError) as error:
        parse([*GAME, *arguments])
    assert message in str(error.value)
    assert "\n" not in str(error.value)


def test_flags_of_words_are_none_of_fights():
    with pytest.raises(ConfigError, match="--games-per-state is a flag of the games of words: --game-type matching"):
        fights.parse(["--games-per-state", "8"])


def test_an_unknown_game_lists_all(capsys):
    with pytest.raises(ConfigError, match=r"did you mean matching\? \(valid: mock, .*kuhn_text\)"):
        fights.parse(["--game-type", "matchin"])


def test_a_limit_of_turns_or_time_ends_the_run_alone():
    assert parse([*GAME, "--timesteps", "1000"]).config.iterations is None
    assert parse([*GAME, "--max-minutes", "2"]).config.run.games is None
    assert parse([*GAME, "--timesteps", "1000", "--games", "512"]).config.iterations == 2
