import pytest

pytest.importorskip("transformers", reason="needs the extra: pip install -e '.[dialogue]'")

from selfplay.cli import ppo as fights
from selfplay.dialogue.cli.flags import parse
from selfplay.dialogue.settings import DialogueConfig
from selfplay.errors import ConfigError

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
    with pytest.raises(ConfigError, match="--games-per-state is a flag of the dialogue games: --game-type kuhn_text"):
        fights.parse(["--games-per-state", "8"])


def test_an_unknown_game_lists_all(capsys):
    with pytest.raises(ConfigError, match=r"did you mean matching\? \(valid: mock, .*kuhn_text, leduc, matching, "):
        fights.parse(["--game-type", "matchin"])


def test_a_limit_of_turns_or_time_ends_the_run_alone():
    assert parse([*GAME, "--timesteps", "1000"]).config.iterations is None
    assert parse([*GAME, "--max-minutes", "2"]).config.run.games is None
    assert parse([*GAME, "--timesteps", "1000", "--games", "512"]).config.iterations == 2


def test_poker_has_defaults_of_its_own_which_flags_and_other_models_win_over():
    usual = parse(["--game-type", "kuhn_text"]).config
    assert usual.start.tokens < 1_000_000
    assert usual.grpo.entropy > 0
    assert usual.sampling.max_new_tokens == 2
    assert usual.iterations >= 2 * 20 * usual.run.save_interval / 2
    given = parse(["--game-type", "kuhn_text", "--start-tokens", "5000", "--entropy", "0", "--games", "512"]).config
    assert (given.start.tokens, given.grpo.entropy, given.run.games) == (5000, 0.0, 512)
    assert given.run.num_games == usual.run.num_games
    other = parse(["--game-type", "kuhn_text", "--model", "somebody/else"]).config
    assert other.grpo.learning_rate is None
    assert other.sampling.max_new_tokens is None
    assert parse(["--game-type", "kuhn_text", "--max-minutes", "1"]).config.run.games is None


def test_what_was_written_down_is_read_as_it_was():
    config = parse(["--game-type", "kuhn_text", "--entropy", "0.25"]).config
    assert DialogueConfig.model_validate(config.model_dump(mode="json")) == config
    old = config.model_dump(mode="json") | {"grpo": parse(GAME).config.grpo.model_dump(mode="json")}
    assert DialogueConfig.model_validate(old).grpo.entropy == 0.0
