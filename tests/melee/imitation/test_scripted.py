"""A run that starts from imitation of scripted players: made once, kept beside the runs, the same for the same seed."""

import shutil
import signal
from dataclasses import replace
from functools import partial

import numpy as np
import pytest

from selfplay import load_policy
from selfplay.checkpoint import RunDir
from selfplay.checkpoint.policies import find_policies
from selfplay.cli.ppo import parse
from selfplay.config.resolve import resolve_ppo
from selfplay.config.resume import trained_on
from selfplay.errors import ConfigError, RunExistsError
from selfplay.imitation.settings import NetworkConfig
from selfplay.ppo import app
from selfplay.ppo.pretrained import by_imitation, with_pretrained
from selfplay_melee.imitation import scripted
from selfplay_melee.imitation.scripted import CACHE, PLAYERS, Recipe, epochs_for, imitate_scripted, recipe_of
from selfplay_melee.rated import FightBody
from selfplay_melee.settings import learned_characters
from tests.run.runs import ITERATION, TINY, hashes, train
from tests.scripts.commands import ENVIRONMENT, command, finish, read_until, start

SMALL = Recipe(
    PLAYERS, ("mewtwo", "mewtwo"), "final_destination", 4, 0, NetworkConfig(hidden=(8,)), 0,
    games=4, frames=200, epochs=2, batch_size=64,
)  # fmt: skip


def forbidden(*_, **__):
    raise AssertionError("nothing may be imitated here")


@pytest.fixture
def made(tmp_path):
    """A folder of policies made before, and the one in it."""
    policy = imitate_scripted(SMALL, tmp_path / "made", lambda line: None)
    return tmp_path / "made", policy


@pytest.fixture
def small(monkeypatch):
    """Runs imitate little."""
    monkeypatch.setattr(scripted, "Recipe", partial(Recipe, games=4, frames=200))


# ---- the policy


def test_it_says_what_it_does_and_what_it_made(tmp_path):
    told = []
    policy = imitate_scripted(SMALL, tmp_path / "cache", told.append)
    first, last = told
    assert first.startswith("Imitating scripted players first: 4 games, 2 epochs, 5 to 60 s; ")
    assert first.endswith("--pretrained none starts from scratch")
    assert last.startswith("Imitated scripted players in ")
    assert ": validation loss " in last
    meta = policy.meta
    assert by_imitation(meta)
    assert learned_characters(meta) == ("mewtwo",)
    body = FightBody("mewtwo", None, "final_destination", 3600, 60, frame_skip=4, delay=0)
    assert (policy.body, meta.network.hidden) == (body, (8,))
    assert [path.name for path in (tmp_path / "cache").iterdir()] == [meta.id.removeprefix("scripted_")]


def test_it_is_made_once(made, monkeypatch):
    folder, policy = made
    monkeypatch.setattr(scripted, "_imitated", forbidden)
    told = []
    again = imitate_scripted(SMALL, folder, told.append)
    assert again.meta.weights_hash == policy.meta.weights_hash
    for name, weights in policy.network.state_dict().items():
        np.testing.assert_array_equal(weights, again.network.state_dict()[name])
    assert len(told) == 1
    assert str(folder) in told[0]


@pytest.mark.parametrize(
    "changes",
    [
        {"seed": 1},
        {"characters": ("fox", "mewtwo")},
        {"stage": "battlefield"},
        {"frame_skip": 3, "delay": 2},
        {"players": PLAYERS[:2]},
        {"network": NetworkConfig(hidden=(6,))},
    ],
    ids=lambda changes: "_".join(changes),
)
def test_another_recipe_makes_another(made, changes, tmp_path):
    folder, policy = made
    other = imitate_scripted(replace(SMALL, epochs=1, **changes), folder, lambda line: None)
    assert other.meta.id != policy.meta.id
    assert len(list(folder.iterdir())) == 2
    assert (other.body.frame_skip, other.body.delay) == (changes.get("frame_skip", 4), changes.get("delay", 0))
    assert trained_on(other.meta).characters == changes.get("characters", ("mewtwo", "mewtwo"))


def test_the_same_recipe_makes_the_same_weights(made, tmp_path):
    _, policy = made
    again = imitate_scripted(SMALL, tmp_path / "elsewhere", lambda line: None)
    for name, weights in policy.network.state_dict().items():
        np.testing.assert_array_equal(weights, again.network.state_dict()[name])


def cut(place):
    (place / "params.safetensors").write_bytes(b"short")


def emptied(place):
    shutil.rmtree(place)
    place.mkdir()


def a_file(place):
    shutil.rmtree(place)
    place.write_text("no policy")


def linked(place):
    place.rename(place.with_name("real"))
    place.symlink_to("real")


def exchanged(place):
    other = imitate_scripted(replace(SMALL, seed=1), place.parent, lambda line: None)
    shutil.rmtree(place)
    (place.parent / other.meta.id.removeprefix("scripted_")).rename(place)


@pytest.mark.parametrize("damage", [cut, emptied, a_file, linked, exchanged])
def test_a_damaged_or_foreign_one_is_made_again(made, damage):
    folder, policy = made
    place = folder / policy.meta.id.removeprefix("scripted_")
    damage(place)
    told = []
    again = imitate_scripted(SMALL, folder, told.append)
    assert [line for line in told if line.startswith("Imitating scripted players again: ")] == told[:1]
    assert load_policy(place).meta.id == policy.meta.id
    assert not place.is_symlink()
    for name, weights in policy.network.state_dict().items():
        np.testing.assert_array_equal(weights, again.network.state_dict()[name])


def test_a_cache_that_cannot_be_written_is_done_without(tmp_path):
    (tmp_path / "file").write_text("")
    told = []
    assert imitate_scripted(SMALL, tmp_path / "file" / "cache", told.append) is not None
    assert told[-1].startswith("The imitation is not kept for other runs: ")


@pytest.mark.parametrize("calls", [1, 150, 210])
def test_it_ends_at_once_where_it_is_stopped_and_leaves_nothing(calls, tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    left = iter(range(calls))
    assert imitate_scripted(SMALL, tmp_path / "cache", lambda line: None, lambda: next(left, None) is None) is None
    assert list(tmp_path.iterdir()) == []


def test_progress_is_told_while_it_goes(tmp_path, monkeypatch):
    monkeypatch.setattr(scripted, "EVERY_S", 0.0)
    told = []
    imitate_scripted(SMALL, tmp_path / "cache", told.append)
    assert any("s so far, 0 of 4 games played" in line for line in told)
    assert any("s so far, epoch 2 of 2" in line for line in told)


@pytest.mark.parametrize("backbone", ["gru", "lstm", "mamba", "attention"])
def test_networks_with_memory_learn_from_windows(backbone, tmp_path):
    recipe = replace(SMALL, network=NetworkConfig(backbone=backbone, hidden=(8, 8), window=5), epochs=1)
    policy = imitate_scripted(recipe, tmp_path / "cache", lambda line: None)
    assert policy.meta.network.kind == backbone


def test_networks_that_take_long_learn_for_fewer_epochs():
    assert epochs_for(NetworkConfig()) == scripted.EPOCHS
    assert epochs_for(NetworkConfig(hidden=(4096, 4096))) == 1
    assert epochs_for(NetworkConfig(backbone="gru")) == scripted.EPOCHS_OF_WINDOWS
    assert epochs_for(NetworkConfig(backbone="gru", hidden=(512, 512, 512))) == 1


# ---- runs that start from it


def resolved(*arguments):
    """The configuration of a new run, and its notices."""
    call, notices = parse([str(argument) for argument in arguments]), []
    config = resolve_ppo(call.config, call.explicit, notice=notices.append)
    return with_pretrained(config, call.explicit, notices.append), notices


def test_the_preset_starts_from_it_and_none_does_not():
    config = resolved("--preset", "laptop")[0]
    assert config.run.pretrained == "scripted"
    assert (config.ppo.teacher_kl, config.ppo.teacher_kl_reverse, config.ppo.critic_burn_in) == (0.01, 0.0, 20)
    assert resolved("--preset", "laptop", "--teacher-kl", 0.1)[0].ppo.teacher_kl == 0.1
    config = resolved("--preset", "laptop", "--pretrained", "none")[0]
    assert (config.run.pretrained, config.ppo.teacher_kl) == (None, None)
    assert resolved("--preset", "none")[0].run.pretrained is None
    assert resolved("--pretrained", "scripted", "--hidden", "32", "--delay", 3)[0].net.hidden == (32,)


def test_the_preset_starts_from_the_policy_that_comes_with_the_project(tmp_path, monkeypatch):
    """After a change of its recipe: python -m scripts.studies.scripted_start."""
    monkeypatch.setattr(scripted, "_imitated", forbidden)
    told = []
    policy = imitate_scripted(recipe_of(resolved("--preset", "laptop")[0]), tmp_path / "cache", told.append)
    assert by_imitation(policy.meta)
    assert told == [f"Starting as scripted players play, from a policy that comes with the project: {policy.meta.id}"]
    assert list(tmp_path.iterdir()) == []
    for other in (("--seed", 1), ("--hidden", "64,64"), ("--character", "fox")):
        with pytest.raises(AssertionError, match="nothing may be imitated"):
            imitate_scripted(recipe_of(resolved("--preset", "laptop", *other)[0]), tmp_path, told.append)


def test_a_game_without_fighters_starts_from_scratch_and_refuses_the_word():
    with pytest.raises(ConfigError, match="--pretrained scripted: --game-type rps has no scripted players to imitate"):
        resolved("--pretrained", "scripted", "--game-type", "rps")


def test_real_games_start_from_games_of_the_mock(monkeypatch, small, tmp_path):
    flags = ("--game-type", "dolphin", "--num-games", 1, "--preset", "laptop", "--hidden", "8", "--delay", 2)
    monkeypatch.setattr("selfplay_melee.dolphin.paths.with_dolphin_paths", lambda config, notice: config)
    config, _ = resolved(*flags, "--character", "fox")
    assert config.run.pretrained == "scripted"
    policy = app._start_policy(config, tmp_path, lambda line: None, lambda: False)
    assert (policy.body.character, policy.body.delay) == ("fox", 2)
    config, notices = resolved(*flags, "--opponent-character", "luigi")
    assert config.run.pretrained is None
    assert any("has no luigi" in line for line in notices)
    with pytest.raises(ConfigError, match=r"--pretrained scripted: the mock, .* has no luigi"):
        resolved(*flags, "--character", "luigi", "--pretrained", "scripted")


def test_a_fresh_networks_setting_is_refused():
    with pytest.raises(ConfigError, match=r"net\.rest applies to new networks only; .* --pretrained scripted"):
        resolved("--preset", "laptop", "--set", "net.rest=0.5")


def test_a_run_starts_from_it_and_a_resumed_one_has_its_own_copy(tmp_path, small, monkeypatch):
    folder = tmp_path / "runs" / "run"
    steps = ("--timesteps", 2 * ITERATION, "--opponent-character", "fox")
    code, text = train(folder, *steps, "--pretrained", "scripted")
    assert code == 0
    assert "run.pretrained: scripted" in text
    assert text.index("Imitated scripted players in") < text.index("Configuration:")
    (kept,) = (folder.parent / CACHE).iterdir()
    first = load_policy(folder / "generations" / "gen_0").meta
    assert first.weights_hash == load_policy(kept).meta.weights_hash
    assert first.parent == f"scripted_{kept.name}"
    assert trained_on(first).characters == trained_on(load_policy(kept).meta).characters == ("mewtwo", "fox")
    assert RunDir(folder).read_run()["config"]["run"]["pretrained"] == "scripted"
    assert not [path for path in find_policies(folder.parent) if CACHE in path.parts]
    shutil.rmtree(kept)
    monkeypatch.setattr(scripted, "_imitated", forbidden)
    code, text = train(folder, "--timesteps", 3 * ITERATION, "--pretrained", "scripted", resume=True)
    assert code == 0
    assert "ppo.teacher_kl: 0.01" in text
    with pytest.raises(ConfigError, match="--pretrained is none, but the run to resume was started with scripted"):
        train(folder, "--pretrained", "none", resume=True)


def test_equal_runs_start_alike_from_the_cache_or_not(tmp_path, small):
    flags = ("--timesteps", ITERATION, "--pretrained", "scripted", "--deterministic", "--set", "ppo.critic_burn_in=0")
    texts = [train(tmp_path / name, *flags)[1] for name in ("one", "two")]
    assert ["Imitated" in text for text in texts] == [True, False]
    assert hashes(tmp_path / "one") == hashes(tmp_path / "two")


def test_a_league_starts_from_it(tmp_path, small):
    size = (*TINY, "--num-games", 8, "--mode", "league", "--runners", 4)
    steps = ("--timesteps", 2 * 512, "--pretrained", "scripted")
    assert train(tmp_path / "run", *steps, size=size)[0] == 0


def test_mistakes_are_found_before_anything_is_imitated(tmp_path, monkeypatch):
    monkeypatch.setattr(scripted, "_imitated", forbidden)
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "file").write_text("")
    with pytest.raises(ConfigError, match="is not empty and holds no run"):
        train(tmp_path / "full", "--pretrained", "scripted")
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "run.json").write_text("{}")
    with pytest.raises(RunExistsError):
        train(tmp_path / "run", "--pretrained", "scripted")
    with pytest.raises(ConfigError, match="teacher"):
        train(tmp_path / "other", "--pretrained", "none", "--teacher-kl", 1)
    assert {path.name for path in tmp_path.iterdir()} == {"full", "run"}


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupted_start_leaves_nothing(tmp_path, small, monkeypatch, number):
    def interrupted(*arguments, **options):
        signal.raise_signal(number)
        return imitate_scripted(*arguments, **options)

    monkeypatch.setattr(scripted, "imitate_scripted", interrupted)
    code, _ = train(tmp_path / "runs" / "run", "--pretrained", "scripted")
    assert code == 128 + number
    assert list(tmp_path.iterdir()) == []


@pytest.mark.full
@pytest.mark.timeout(600)
def test_the_preset_as_a_person_types_it(tmp_path):
    size = ("--preset", "laptop", "--seed", 1, "--hidden", 16, "--num-games", 16, "--timesteps", 2048)
    size += ("--checkpoint", "runs/run")
    with start("train_self_play.py", *size, cwd=tmp_path) as process:
        read_until(process, "Imitating scripted players first: 150 games")
        process.send_signal(signal.SIGTERM)
        process.stdout.read()
    assert process.returncode == 128 + signal.SIGTERM
    assert list(tmp_path.iterdir()) == []
    done = finish(command("train_self_play.py", *size), cwd=tmp_path, env=ENVIRONMENT, limit_s=500)
    assert done.returncode == 0, done.stderr
    assert "Imitated scripted players in" in done.stdout
    assert "run.pretrained: scripted" in done.stdout
