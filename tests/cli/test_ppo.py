import pytest

from selfplay.cli.flags import make_parser
from selfplay.cli.imitation import command_of
from selfplay.cli.ppo import command_line, parse
from selfplay.config.ppo import OPTIONS, Config
from selfplay.config.programs import ppo_program
from selfplay.dialogue.cli import flags
from selfplay.errors import ConfigError
from selfplay.games.registry import find_game
from selfplay.league.modes import MODES
from selfplay_melee.imitation.scripted import PLAYERS
from tests.config.samples import OTHER


def values(config):
    """Every setting by its dotted name."""
    return {f"{group}.{name}": value for group, part in config.model_dump().items() for name, value in part.items()}


def refusal(*arguments):
    """The one line that a mistake gives."""
    with pytest.raises(ConfigError) as caught:
        parse(arguments)
    assert caught.value.exit_code == 2
    message = str(caught.value)
    assert "\n" not in message
    return message


# ---- what the flags do


@pytest.mark.parametrize("option", OPTIONS, ids=lambda option: option.flag)
def test_every_flag_sets_its_setting_and_nothing_else(option):
    arguments = [option.flag] if option.is_switch else [option.flag, OTHER[option.flag]]
    invocation = parse(["--preset", "none", *arguments])
    before, after = values(Config()), values(invocation.config)
    changed = {name for name in before if before[name] != after[name]}
    assert changed == {option.path} | ({"run.timesteps"} if option.flag == "--max-minutes" else set())
    assert invocation.explicit[option.path] == after[option.path]


def test_the_guides_defaults():
    config = Config.model_validate({})
    assert config.run.timesteps == 100_000
    assert (config.run.num_games, config.run.save_interval) == (4, 10)
    assert config.run.checkpoint == "checkpoints/self_play"
    ppo = config.ppo
    assert (ppo.rollout_length, ppo.batch_size, ppo.epochs, ppo.clip) == (128, 2048, 4, 0.2)
    assert (ppo.learning_rate, ppo.gamma, ppo.gae_lambda) == (3e-4, 0.99, 0.95)
    assert (config.game.type, config.game.character, config.game.stage) == ("mock", "mewtwo", "final_destination")
    assert config.game.characters == ("mewtwo", "mewtwo")
    league = config.league
    assert (league.mode, league.track_elo, league.rating_share) == ("latest", False, 0.1)
    assert (league.current, league.recent, league.scripted, league.any_past) == (0.4, 0.3, 0.2, 0.1)


@pytest.mark.parametrize(
    ("text", "path", "value"),
    [
        ("--learning-rate=3e-4", "ppo.learning_rate", 3e-4),
        ("--timesteps=12e6", "run.timesteps", 12_000_000),
        ("--timesteps=1_000_000", "run.timesteps", 1_000_000),
        ("--timesteps=1,000,000", "run.timesteps", 1_000_000),
        ("--hidden=64", "net.hidden", (64,)),
        ("--no-track-elo", "league.track_elo", False),
        ("--set=ppo.anneal=all", "ppo.anneal", "all"),
        ("--timesteps=1.5M", "run.timesteps", 1_500_000),
        ("--num-games=1k", "run.num_games", 1000),
        ("--pretrained=5M", "run.pretrained", "5M"),
        ("--set=league.current=0.7", "league.current", 0.7),
        ("--set=net.hidden=32,16", "net.hidden", (32, 16)),
    ],
)
def test_numbers_as_people_write_them(text, path, value):
    assert values(parse([text]).config)[path] == value


def test_time_alone_ends_a_run_unless_both_are_given():
    assert parse(["--preset", "none", "--max-minutes", "3"]).config.run.timesteps is None
    assert parse(["--preset", "laptop", "--max-minutes", "3"]).config.run.timesteps is None
    assert parse(["--max-minutes", "3", "--timesteps", "5"]).config.run.timesteps == 5


@pytest.mark.parametrize(
    ("arguments", "preset"),
    [
        ([], "laptop"),
        (["--game-type", "mock", "--seed", "3", "--character", "fox"], "laptop"),
        (["--max-minutes", "3"], "laptop"),
        (["--pretrained", "none"], "laptop"),
        (["--game-type", "kuhn"], "board"),
        (["--game-type", "selfplay.examples.tic_tac_toe:TicTacToe"], "board"),
        (["--game-type", "dolphin"], None),
        (["--preset", "none"], None),
        (["--preset", "board"], "board"),
        (["--resume"], None),
        (["--timesteps", "1000"], None),
        (["--set", "reward.stalling=0"], None),
        (["--game-type", "kuhn", "--num-games", "64"], None),
    ],
)
def test_a_bare_call_has_the_preset_of_its_game(arguments, preset):
    call = parse(arguments)
    assert call.preset == preset
    of_preset = ppo_program("mock").presets[preset]["run"]["num_games"] if preset else 64 if "64" in arguments else 4
    assert call.config.run.num_games == of_preset
    assert call.config.league.track_elo == (preset == "laptop")
    assert (call.notice or "").startswith("Preset ") == (preset is not None and "--preset" not in arguments)


def test_a_bare_call_says_its_limits_and_how_to_get_the_plain_defaults():
    assert parse(["--no-track-elo"]).notice == (
        "Preset laptop: 12,000,000 steps, 256 games at once. "
        "--preset none has the plain defaults: 100,000 steps, 4 games"
    )
    assert parse(["--max-minutes", "3"]).notice.startswith("Preset laptop with ratings: 3 min, 256 games at once. ")


@pytest.mark.parametrize(
    ("arguments", "notice"),
    [
        (["--timesteps", "1000"], "laptop, because of --timesteps. With the preset: --preset laptop --track-elo"),
        (
            ["--set", "reward.stalling=0", "--num-games", "8", "--seed", "3"],
            "laptop, because of --set reward.stalling, --num-games. With the preset: --preset laptop --track-elo",
        ),
        (["--num-games", "8", "--track-elo"], "laptop, because of --num-games. With the preset: --preset laptop"),
        (["--game-type", "kuhn", "--gamma", "1"], "board, because of --gamma. With the preset: --preset board"),
    ],
)
def test_a_call_without_its_preset_says_which_settings_led_to_that(arguments, notice):
    assert parse(arguments).notice == f"Plain defaults, not preset {notice}"


@pytest.mark.parametrize(
    "named", [["--preset", "none"], ["--preset", "laptop"], ["--game-type", "dolphin"], ["--resume"]]
)
def test_a_call_that_would_have_no_preset_says_nothing_of_one(named):
    assert parse([*named, "--timesteps", "1000"]).notice is None


def test_who_wins(tmp_path):
    file = tmp_path / "run.toml"
    file.write_text("[ppo]\ngamma = 0.5\nclip = 0.1\nepochs = 3\n[run]\nnum_games = 8\n")
    arguments = ["--preset", "laptop", "--config", str(file), "--set", "ppo.clip=0.15", "--set", "ppo.epochs=2"]
    invocation = parse([*arguments, "--ppo-epochs", "1"])
    ppo, run = invocation.config.ppo, invocation.config.run
    assert (ppo.gamma, ppo.clip, ppo.epochs) == (0.5, 0.15, 1)  # file, --set, flag
    assert run.num_games == 8  # file over preset
    assert run.timesteps == ppo_program("mock").presets["laptop"]["run"]["timesteps"]
    assert set(invocation.explicit) == {"ppo.gamma", "ppo.clip", "ppo.epochs", "run.num_games"}


def test_the_laptop_preset_leaves_the_strongest_scripted_player_unknown():
    preset = ppo_program("mock").presets["laptop"]
    assert preset["run"]["timesteps"] == 12_000_000
    assert not {"opponents", "held_out"} & set(preset["league"])
    game = find_game("mock")
    assert "all_rounder" in game.held_out
    assert "all_rounder" not in PLAYERS
    assert parse(["--preset", "laptop"]).preset == "laptop"


def test_help_fits_on_two_screens(capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setattr("sys.argv", ["selfplay train"])
    with pytest.raises(SystemExit):
        parse(["--help"])
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "usage: selfplay train [flags]"
    assert len(lines) <= 72
    assert max(map(len, lines)) <= 80
    assert [option.flag for option in OPTIONS if not any(shows(line, option) for line in lines)] == []
    assert any("--set NAME=VALUE" in line and "docs/reference/settings.md" in line for line in lines)


def shows(line, option):
    """True for the one line of a flag in the help, with the start of its description."""
    flag = f"--[no-]{option.flag[2:]}" if option.is_switch else f"{option.flag} {option.metavar}"
    return line.startswith(f"  {flag}  ")


def test_help_shows_defaults_and_examples(capsys):
    with pytest.raises(SystemExit) as end:
        parse(["--help"])
    assert end.value.code == 0
    text = " ".join(capsys.readouterr().out.split())
    assert "(default 0.0003)" in text
    assert "examples:" in text
    assert [mode for mode in MODES if mode not in text.partition("modes:")[2]] == []
    assert "--character list" in text
    assert "valid: bowser, " in refusal("--character", "list")


# ---- mistakes


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--epochs", "3"], ["did you mean --ppo-epochs?", "--epochs is a flag of the dialogue games"]),
        (["--policy", "x"], ["did you mean --pretrained (a policy to start from) or --backbone (a network)?"]),
        (["--num-gpus", "1"], ["did you mean --device cuda?"]),
        (["--num-workers", "2"], ["did you mean --runners?"]),
        (["--net-arch", "64"], ["did you mean --hidden?"]),
        (["--eval-freq", "10"], ["did you mean --save-interval with --track-elo?"]),
        (["--timestep", "5"], ["--timestep", "did you mean --timesteps?"]),
        (["--lerning-rate=3e-4"], ["did you mean --learning-rate?"]),
        (["--num-game", "4"], ["did you mean --num-games?"]),
        (["checkpoints/run"], ["'checkpoints/run' is not a flag"]),
        (["--preset", "labtop"], ["--preset labtop", "laptop"]),
        (["--mode", "simple_mx"], ["--mode simple_mx", "did you mean simple_mix?", "latest"]),
        (["--character", "foxx"], ["--character foxx", "did you mean fox?", "mewtwo"]),
        (["--opponent-character", "mewto"], ["--opponent-character mewto", "did you mean mewtwo?"]),
        (["--stage", "battlefeld"], ["--stage battlefeld", "did you mean battlefield?", "final_destination"]),
        (["--held-out", "rusher,randm"], ["--held-out randm", "did you mean random?"]),
        (["--game-type", "melee"], ["--game-type melee", "did you mean mock or dolphin?"]),
        (
            ["--game-type", "connect_four"],
            ["unknown, did you mean 'pettingzoo:pettingzoo.classic.connect_four_v3'? (val"],
        ),
        (
            ["--game-type", "selfplay.examples.minimal"],
            ["unknown, did you mean 'selfplay.examples.minimal:NAME'? (valid: module:"],
        ),
        (["--game-type", "gin_rummy_v4"], ["--game-type gin_rummy_v4: unknown (valid: mock"]),
        (
            ["--backbone", "./net.py:Net"],
            ["--backbone ./net.py:Net: a module is named as Python imports it", "'net:Net'?"],
        ),
        (["--host", "thraed"], ["--host thraed", "did you mean thread?", "process"]),
        (["--set", "ppo.gama=0.9"], ["ppo.gama", "did you mean ppo.gamma?"]),
        (["--set", "ppo.gamma"], ["NAME=VALUE"]),
        (["--set", "ppo.gamma=2"], ["--gamma 2", "at most 1 is possible"]),
    ],
)
def test_unknown_names_get_the_nearest_valid_one(arguments, words):
    message = refusal(*arguments)
    assert [word for word in words if word not in message] == []


@pytest.mark.parametrize(
    ("flag", "value", "words"),
    [
        ("--num-games", "0", "at least 1 is needed"),
        ("--num-games", "-4", "at least 1 is needed"),
        ("--num-games", "2.5", "a whole number is needed"),
        ("--timesteps", "0", "at least 1 is needed"),
        ("--timesteps", "many", "a whole number is needed"),
        ("--learning-rate", "0", "more than 0 is needed"),
        ("--learning-rate", "nan", "finite number"),
        ("--learning-rate", "fast", "a number is needed"),
        ("--gamma", "1.01", "at most 1 is possible"),
        ("--gae-lambda", "-0.1", "at least 0 is needed"),
        ("--ppo-clip", "1", "less than 1"),
        ("--ppo-epochs", "0", "at least 1 is needed"),
        ("--batch-size", "0", "at least 1 is needed"),
        ("--rollout-length", "0", "at least 1 is needed"),
        ("--save-interval", "0", "at least 1 is needed"),
        ("--max-episode-frames", "0", "at least 1 is needed"),
        ("--max-minutes", "0", "more than 0 is needed"),
        ("--max-minutes", "inf", "finite number"),
        ("--frame-skip", "31", "at most 30 is possible"),
        ("--delay", "-1", "at least 0 is needed"),
        ("--seed", "-1", "at least 0 is needed"),
        ("--rating-share", "1.5", "at most 1 is possible"),
        ("--collect-timeout", "0", "more than 0 is needed"),
        ("--hidden", "64,x", "a whole number is needed"),
        ("--hidden", "0", "at least 1 is needed"),
        ("--hidden", "5000000000", "at most 8192 is possible"),
        ("--hidden", "8192,8193", "at most 8192 is possible"),
        ("--hidden", "8," * 64 + "8", "at most 64 values"),
    ],
)
def test_impossible_values_name_flag_value_and_what_is_valid(flag, value, words):
    message = refusal(flag, value)
    assert message.startswith(f"{flag} ")
    assert value.rpartition(",")[2] in message
    assert words in message


@pytest.mark.parametrize("flag", ["--gamma", "--preset", "--config", "--set"])
def test_a_flag_without_its_value_is_one_line(flag, capsys, monkeypatch):
    monkeypatch.setattr("sys.argv", ["scripts/train_self_play.py"])
    with pytest.raises(SystemExit) as end:
        parse([flag])
    assert end.value.code == 2
    assert capsys.readouterr().err.startswith(f"train_self_play.py: {flag} needs a value: ")


def test_settings_that_exclude_each_other():
    assert refusal("--deterministic", "--max-minutes", "3").startswith("--deterministic refuses --max-minutes")
    nobody = [f"--set=league.{name}=0" for name in ("current", "recent", "scripted", "any_past")]
    assert "share above 0" in refusal(*nobody, "--mode", "simple_mix")
    assert parse([*nobody, "--mode", "latest"]).config.league.mode == "latest"


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (None, "No such file"),
        ("gamma = 0.9", "outside a group"),
        ("[ppo]\ngama = 0.9", "did you mean ppo.gamma?"),
        ("[ppo\n", "not TOML"),
        ("[ppo]\ngamma = 7\n", "--gamma 7"),
    ],
)
def test_a_file_of_settings_is_checked_too(tmp_path, content, words):
    path = tmp_path / "run.toml"
    if content is not None:
        path.write_text(content)
    assert words in refusal("--config", str(path))


def test_a_file_of_settings_may_have_a_byte_order_mark(tmp_path):
    path = tmp_path / "run.toml"
    path.write_text("[ppo]\ngamma = 0.9\n", "utf-8-sig")
    assert parse(["--config", str(path)]).config.ppo.gamma == 0.9


@pytest.mark.parametrize(
    "command", [command_line("mock"), command_line("dolphin"), flags.COMMAND, command_of("mock"), command_of("kuhn")]
)
def test_no_help_tells_a_default_that_is_empty(command):
    assert "(default )" not in make_parser(command).format_help()


def test_the_help_of_a_game_says_which_game_is_played_without_the_flag():
    text = make_parser(command_line("kuhn")).format_help()
    assert "(default mock)" in " ".join(text.partition("--game-type TYPE")[2].partition("--pretrained")[0].split())


def test_flags_cannot_be_abbreviated():
    assert "--time" in refusal("--time", "5")


def test_a_run_from_scratch_can_be_asked_for_in_every_layer(tmp_path):
    file = tmp_path / "run.toml"
    file.write_text('[run]\npretrained = "none"\n')
    for arguments in (["--pretrained", "none"], ["--set", "run.pretrained=none"], ["--config", str(file)]):
        call = parse(["--preset", "laptop", *arguments])
        assert call.config.run.pretrained is None
        assert call.explicit == {"run.pretrained": None}
    assert parse(["--pretrained", "./scripted"]).config.run.pretrained == "./scripted"
