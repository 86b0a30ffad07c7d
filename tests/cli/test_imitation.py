import pytest

from selfplay.cli.imitation import parse
from selfplay.errors import ConfigError
from selfplay.games.registry import find_game
from selfplay.imitation.hook import imitation_of
from selfplay.imitation.settings import PRESETS, ImitationConfig
from selfplay.imitation.train import resolve_imitation
from selfplay_melee.imitation.settings import FightImitationConfig

TIC_TAC_TOE = "selfplay.examples.tic_tac_toe:TicTacToe"
OTHER = {
    "--replays": "games", "--character": "fox,marth", "--player": "2", "--max-files": "3", "--frame-skip": "2",
    "--delay": "5", "--val-split": "0.25", "--cache": "elsewhere", "--backbone": "gru",
    "--hidden": "64,64", "--epochs": "3", "--batch-size": "64", "--learning-rate": "3e-4",
    "--button-power": "0", "--change-weight": "2", "--patience": "0", "--checkpoint": "there",
    "--seed": "7", "--max-minutes": "2", "--device": "auto",
}  # fmt: skip
OPTIONS = {game: imitation_of(find_game(game)).program.options for game in ("mock", "kuhn")}
FLAGS = [(game, option) for game, options in OPTIONS.items() for option in options if option.path != "data.game"]


def values(config):
    return {f"{group}.{name}": value for group, part in config.model_dump().items() for name, value in part.items()}


def resolved(arguments):
    return resolve_imitation(parse(arguments).config)


def refusal(*arguments):
    with pytest.raises(ConfigError) as caught:
        resolved(arguments)
    assert caught.value.exit_code == 2
    assert "\n" not in str(caught.value)
    return str(caught.value)


@pytest.mark.parametrize(("game", "option"), FLAGS, ids=lambda part: getattr(part, "flag", part))
def test_every_flag_sets_its_setting_and_nothing_else(game, option):
    arguments = [option.flag] if option.is_switch else [option.flag, OTHER[option.flag]]
    replays = () if option.flag == "--replays" else ("--replays", "games")
    invocation = parse([*arguments, *replays, "--game-type", game])
    before, after = values(option.root()), values(invocation.config)
    changed = {name for name in before if before[name] != after[name]} - {"data.game"}
    assert changed == {option.path, "data.replays"}
    assert after["data.game"] == game
    assert invocation.explicit[option.path] == after[option.path]


def test_defaults():
    config = FightImitationConfig()
    assert (config.learn.epochs, config.learn.batch_size, config.learn.learning_rate) == (10, 1024, 1e-3)
    assert (config.data.frame_skip, config.data.delay, config.data.val_split) == (4, 0, 0.1)
    assert (config.net.backbone, config.net.window, config.temporal) == ("mlp", 60, False)
    assert (config.lanes, config.folds) == (17, 10)
    assert config.run.checkpoint == "checkpoints"


@pytest.mark.parametrize("name", PRESETS)
def test_presets_are_valid_and_flags_win(name):
    config = parse(["--replays", "games", "--preset", name, "--epochs", "77"]).config
    assert config.learn.epochs == 77
    assert config.net.hidden == PRESETS[name]["net"]["hidden"]


@pytest.mark.parametrize(
    ("share", "folds"), [("0.5", 2), ("0.333", 3), ("0.25", 4), ("0.2", 5), ("0.1", 10), ("0.01", 100)]
)
def test_the_share_that_judges_is_one_part_of_equal_ones(share, folds):
    assert parse(["--replays", "games", "--val-split", share]).config.folds == folds


def test_a_backbone_with_memory_learns_from_windows():
    assert parse(["--replays", "games", "--backbone", "gru"]).config.temporal
    assert not parse(["--replays", "games"]).config.temporal
    assert parse(["--replays", "games", "--temporal"]).config.temporal


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ([], ["--replays PATH is needed"]),
        (["--replay", "games"], ["unknown flag --replay", "did you mean --replays?"]),
        (["--backbone", "gruu"], ["--backbone gruu", "did you mean gru?", "mamba"]),
        (["--set", "net.backbone=mambo"], ["did you mean mamba?"]),
        (["--preset", "quik"], ["--preset quik", "did you mean quick?", "production"]),
        (["--character", "foxx"], ["--character foxx", "did you mean fox?"]),
        (["--epochs", "0"], ["--epochs 0", "at least 1 is needed"]),
        (["--val-split", "0.9"], ["--val-split 0.9", "at most 0.5 is possible"]),
        (["--val-split", "0.4"], ["--val-split 0.4", "not one part", "0.5 and 0.333"]),
        (["--val-split", "0.15"], ["--val-split 0.15", "0.167 and 0.143"]),
        (["--set", "learn.epoch=2"], ["did you mean learn.epochs?"]),
        (["--set", "net.rest=0.5"], ["unknown setting 'net.rest'"]),
        (["--game-type", "kuun"], ["--game-type kuun", "did you mean kuhn?"]),
        (
            ["--game-type", "kuhn", "--cache", "there"],
            ["--cache goes with --game-type ", "mock"],
        ),
        (["--game-type", "kuhn", "--set", "learn.button_limit=3"], ["unknown setting 'learn.button_limit'"]),
        (["--no-cache", "--cache", "there"], ["--no-cache and --cache exclude each other"]),
    ],
)
def test_mistakes_are_one_line(arguments, words):
    message = refusal(*arguments, *(() if not arguments else ("--replays", "games")))
    assert [word for word in words if word not in message] == []


def shown(capsys, *arguments):
    with pytest.raises(SystemExit) as end:
        parse([*arguments, "--help"])
    assert end.value.code == 0
    return " ".join(capsys.readouterr().out.split())


@pytest.mark.parametrize("game", OPTIONS)
def test_help_shows_every_flag_of_the_game(capsys, game):
    text = shown(capsys, "--game-type", game)
    assert [option.flag for option in OPTIONS[game] if option.flag not in text] == []
    assert "--no-no-cache" not in text


def test_help_of_a_plain_game_shows_nothing_of_fights(capsys, tmp_path):
    (tmp_path / "settings.toml").write_text('[data]\ngame = "kuhn"\n')
    for named in (["--game-type", TIC_TAC_TOE], ["--set", "data.game=kuhn"], ["--config", f"{tmp_path}/settings.toml"]):
        text = shown(capsys, *named)
        assert [word for word in ("slp", "character", "button", "frame", "cache", "port") if word in text] == []
    assert "--character" in shown(capsys)


def test_plain_games_save_no_settings_of_fights():
    assert set(FightImitationConfig().model_dump()["data"]) > set(ImitationConfig().model_dump()["data"])
    assert type(parse(["--game-type", "kuhn", "--replays", "x"]).config) is ImitationConfig
