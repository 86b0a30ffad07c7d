import shlex
from datetime import UTC, datetime
from pathlib import Path

import pytest

from selfplay.checkpoint import LearnerMeta, LearnerState
from selfplay.cli.ppo import parse
from selfplay.config.base import Mark
from selfplay.config.options import marked, shown
from selfplay.config.ppo import OPTIONS, Config, config_type
from selfplay.config.resume import refuse_unnamed, resumed_ppo, usable, with_changes
from selfplay.dialogue.settings import OPTIONS as DIALOGUE_OPTIONS
from selfplay.dialogue.settings import DialogueConfig, ModelConfig, ServerConfig
from selfplay.errors import ConfigError, IncompatibleError
from selfplay.imitation.settings import ImitationConfig
from tests.config.samples import OTHER

REAL = config_type("dolphin")
MAY_CHANGE = set(marked(REAL, Mark.MAY_CHANGE))
STARTED = marked(DialogueConfig, Mark.STARTS_PROGRAM, Mark.JOINS_CLUSTER)


def state_of(*arguments):
    config = parse(["--preset", "none", *arguments]).config.model_dump(mode="json")
    meta = LearnerMeta(iteration=3, total_steps=99, elapsed_s=1.0, created=datetime.now(UTC), config=config)
    return LearnerState(meta, {}, Path("learner/iter_3"), ())


def resumed(state, *arguments):
    return resumed_ppo(state, parse(["--resume", *arguments]).explicit)


@pytest.mark.parametrize("option", OPTIONS, ids=lambda option: option.flag)
def test_each_setting_may_change_or_names_both_values(option):
    group, _, name = option.path.partition(".")
    flags = [option.flag] if option.is_switch else [option.flag, OTHER[option.flag]]
    before = getattr(getattr(Config(), group), name)
    if option.path in MAY_CHANGE:
        config = resumed(state_of(), *flags)
        assert getattr(getattr(config, group), name) not in (before, None)
    else:
        with pytest.raises(ConfigError) as caught:
            resumed(state_of(), *flags)
        now = getattr(getattr(parse(["--preset", "none", *flags]).config, group), name)
        assert option.flag in str(caught.value)
        assert f" is {shown(now)}, " in str(caught.value)
        assert f" with {shown(before)}; " in str(caught.value)


@pytest.mark.parametrize("name", ["stage", "character"])
def test_a_saved_name_that_the_game_does_not_have_is_refused(name):
    state = state_of()
    state.meta.config["game"][name] = "x" * 1000
    with pytest.raises(IncompatibleError, match=f"iter_3: its configuration cannot be used: --{name} xxx"):
        resumed(state)


def test_what_a_run_would_start_is_named_again_by_the_user():
    """The folder of a run may be a stranger's, and with it the path of what is called Dolphin there."""
    real = state_of("--game-type", "dolphin", "--dolphin", "it's here", "--iso", "melee.iso")
    again = ("--game-type", "dolphin")
    with pytest.raises(ConfigError, match=r"what you want, add --dolphin=.*here' --iso=melee\.iso$") as caught:
        resumed(real, "--timesteps", "5")
    assert shlex.split(str(caught.value).partition(", add ")[2])[0] == "--dolphin=it's here"
    with pytest.raises(ConfigError, match="folders can be anybody's"):
        resumed(real, *again, "--dolphin", "mine")
    assert resumed(real, *again, "--dolphin", "mine", "--iso", "melee.iso").game.dolphin == "mine"
    words = DialogueConfig(
        server=ServerConfig(program="vllm", arguments="--trust-remote-code"), model=ModelConfig(name="somebody/model")
    )
    with pytest.raises(ConfigError, match=r"add --server=vllm --server-args=--trust-remote-code$"):
        refuse_unnamed(words, {"server.program"}, STARTED, DIALOGUE_OPTIONS)
    refuse_unnamed(words, {"server.program", "server.arguments"}, STARTED, DIALOGUE_OPTIONS)


def test_what_makes_a_run_what_it_is_may_not_change():
    assert not MAY_CHANGE & {"game.character", "game.stage", "game.frame_skip", "game.delay", "net.hidden"}
    assert {"run.timesteps", "run.max_minutes", "run.save_interval", "run.device", "run.host"} <= MAY_CHANGE


def test_settings_without_a_flag_are_named_as_they_are_typed():
    with pytest.raises(ConfigError, match=r"--set ppo\.anneal is .*rate.*, but .*no"):
        resumed(state_of(), "--set", "ppo.anneal=rate")


def test_a_setting_of_another_game_is_refused():
    with pytest.raises(ConfigError, match=r"^--set game\.character is no setting of the run to resume$"):
        resumed(state_of("--game-type", "kuhn"), "--character", "fox")


def test_the_same_value_again_is_no_change():
    config = resumed(state_of("--character", "fox"), "--character", "fox", "--gamma", "0.99")
    assert config.game.character == "fox"


def test_what_is_not_named_stays():
    config = resumed(state_of("--num-games", "7", "--timesteps", "500"), "--save-interval", "3")
    assert (config.run.num_games, config.run.timesteps, config.run.save_interval) == (7, 500, 3)


@pytest.mark.parametrize(
    ("started", "now", "limits"),
    [
        (["--max-minutes", "3"], ["--timesteps", "900"], (900, None)),
        (["--timesteps", "900"], ["--max-minutes", "3"], (None, 3.0)),
        (["--timesteps", "900", "--max-minutes", "3"], ["--timesteps", "1800"], (1800, None)),
        (["--max-minutes", "3"], ["--timesteps", "900", "--max-minutes", "6"], (900, 6.0)),
        (["--max-minutes", "3"], [], (None, 3.0)),
    ],
)
def test_a_new_limit_replaces_both_old_ones(started, now, limits):
    run = resumed(state_of(*started), *now).run
    assert (run.timesteps, run.max_minutes) == limits


def test_a_deterministic_run_refuses_time_when_resumed_too():
    with pytest.raises(ConfigError, match="--deterministic refuses --max-minutes"):
        resumed(state_of("--deterministic"), "--max-minutes", "3")


def test_settings_of_another_version_are_incompatible():
    state = state_of()
    state.meta.config["ppo"]["momentum"] = 1
    with pytest.raises(IncompatibleError, match="momentum"):
        resumed(state)


def test_values_of_a_dialogue_run_that_contradict_each_other_are_one_line():
    with pytest.raises(ConfigError, match=r"these settings do not go together: .*run.keep_best"):
        with_changes(DialogueConfig(), {"run.keep_best": True}, DIALOGUE_OPTIONS)


def test_marks_stand_beside_settings_or_whole_groups():
    assert {"run.checkpoint", "guard.loop_timeout", "emulator.headless"} <= MAY_CHANGE
    assert set(marked(REAL, Mark.STARTS_PROGRAM)) == {"game.dolphin", "game.iso"}
    assert marked(REAL, Mark.JOINS_CLUSTER) == marked(DialogueConfig, Mark.JOINS_CLUSTER) == ("run.ray_address",)


@pytest.mark.parametrize(
    ("root", "document"), [(Config, {"game": {"type": "chase"}}), (ImitationConfig, {"data": {"game": "chase"}})]
)
def test_a_game_of_a_package_that_is_gone_is_named_in_one_line(root, document):
    with pytest.raises(IncompatibleError, match=r"^the game 'chase' is not known here; .*: install that package$"):
        usable(root, document, Path("run"))
