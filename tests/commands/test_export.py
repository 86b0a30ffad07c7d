import json
import zipfile
from pathlib import Path

import pytest
import torch

from selfplay.checkpoint import NetworkSpec
from selfplay.commands import export as exporting
from selfplay.commands.export import GAMES, described, export, largest_difference, seen_in_games
from selfplay.errors import CheckpointError
from selfplay.games import registry
from selfplay.games.errors import GameError
from selfplay.games.registry import find_game
from selfplay.policy.formats import FORMATS
from selfplay.policy.policy import load_policy
from selfplay_melee.controller import FIELDS
from selfplay_melee.observation import OBS_WIDTH
from tests.run.policies import save, save_other

ROOT = Path(__file__).parents[2]
GRU = NetworkSpec(kind="gru", obs_width=OBS_WIDTH, hidden=(32, 32))


@pytest.fixture
def policy(tmp_path):
    return load_policy(save(tmp_path / "run", 2, spec=GRU).path)


def test_what_is_seen_comes_from_games_with_several_episodes(policy):
    seen = seen_in_games(policy.meta, 1000)
    assert seen.obs.shape == (250, 4, OBS_WIDTH)
    assert seen.fresh[0].all()
    assert seen.fresh.sum(0).min() >= 3
    assert torch.nonzero(seen.fresh[:, 0])[1] == 250 // 3
    assert seen.obs.flatten(0, 1).unique(dim=0).shape[0] > 700
    again = seen_in_games(policy.meta, 1000)
    assert torch.equal(seen.obs, again.obs)
    assert seen_in_games(policy.meta, 1).obs.shape == (1, 4, OBS_WIDTH)


def test_a_copy_is_compared_with_its_own_memory_which_begins_anew_with_each_episode(policy):
    seen = seen_in_games(policy.meta, 120)
    network = policy.network
    assert largest_difference(network, network.step, seen) == 0.0
    given = []

    def decide(obs, memory):
        given.append(memory)
        logits, value, after = network.step(obs, memory)
        return logits, value, after + 1e-3

    assert largest_difference(network, decide, seen) > 1e-3
    assert [bool((memory == 0).all()) for memory in given] == seen.fresh.all(1).tolist()


@pytest.mark.parametrize("which", [0, 1, 2])
def test_every_output_counts_and_what_is_no_number_is_infinitely_far(policy, which):
    seen = seen_in_games(policy.meta, 8)

    def broken(change):
        def decide(obs, memory):
            outputs = list(policy.network.step(obs, memory))
            outputs[which] = change(outputs[which])
            return outputs

        return largest_difference(policy.network, decide, seen)

    assert broken(lambda x: x + 0.25) >= 0.25 - 1e-6
    assert broken(lambda x: x * torch.nan) == float("inf")
    assert broken(lambda x: x[:1]) == float("inf")


@pytest.mark.parametrize("spec", [GRU, NetworkSpec(obs_width=OBS_WIDTH, hidden=(8,))])
def test_a_graph_of_torch_plays_as_the_policy(tmp_path, spec):
    run = save(tmp_path / "run", 2, spec=spec)
    done = export(run.path, "torch", tmp_path / "policy.pt2", 60)
    assert done.difference < 1e-5
    assert (done.observations, done.size) == (60, done.path.stat().st_size)
    policy = load_policy(run.path)
    decide = FORMATS["torch"][1](done.path.read_bytes(), policy.network.memory_width)
    assert largest_difference(policy.network, decide, seen_in_games(policy.meta, 60)) == done.difference
    with zipfile.ZipFile(done.path) as archive:
        content = {name: archive.read(name) for name in archive.namelist()}
    assert not any(str(ROOT).encode() in part for part in content.values())
    about = json.loads(done.about.read_text())
    (inside,) = [json.loads(part) for name, part in content.items() if name.endswith("selfplay.json")]
    assert about == inside | {"format": "torch", "check": about["check"]}
    assert done.about == tmp_path / "policy.pt2.json"
    assert about["format"] == "torch"
    assert about["check"] == {"observations": 60, "largest_difference": done.difference}
    assert about["memory_width"] == policy.network.memory_width
    assert about["memory_at_start"] == ("zeros" if spec is GRU else "none")


def test_the_layout_covers_every_logit_in_the_order_of_an_action(policy):
    parts = described(policy)["logits"]
    assert tuple(part["name"] for part in parts) == FIELDS
    ends = [part["first"] + part["size"] for part in parts]
    assert [part["first"] for part in parts] == [0, *ends[:-1]]
    assert ends[-1] == policy.network.heads.logits
    assert [part["size"] for part in parts] == [1] * 8 + [17] * 4 + [5, 2]


def test_a_copy_that_plays_otherwise_is_not_written(policy, tmp_path, monkeypatch):
    def read(data, memory_width):
        return lambda obs, memory: tuple(output + 2e-4 for output in policy.network.step(obs, memory))

    monkeypatch.setitem(exporting.FORMATS, "torch", (lambda network, about: b"graph", read))
    out = tmp_path / "policy.pt2"
    with pytest.raises(CheckpointError, match=r"not written: it would differ from gen_2 by 0\.0\d+, more than 0\.0001"):
        export(tmp_path / "run", "torch", out, 8)
    assert [path.name for path in tmp_path.iterdir()] == ["run"]


def test_what_other_libraries_raise_is_said_in_one_line(policy, tmp_path, monkeypatch):
    def make(network, about):
        raise RuntimeError("no such operator")

    monkeypatch.setitem(exporting.FORMATS, "torch", (make, None))
    with pytest.raises(CheckpointError, match="gen_2 cannot be made a file of torch: RuntimeError: no such operator"):
        export(tmp_path / "run", "torch", tmp_path / "policy.pt2", 8)


KUHN, RPS, NIM, DUEL = "kuhn", "rps", "tests.games.games:Nim", "tests.games.games:Duel"


@pytest.mark.parametrize(("game", "kind"), [(KUHN, "mlp"), (RPS, "mlp"), (NIM, "gru"), (DUEL, "mlp")])
def test_policies_of_other_games_are_compared_on_their_own_game(tmp_path, game, kind):
    done = export(save_other(tmp_path / "run", game, kind), "torch", tmp_path / "policy.pt2", 100)
    assert done.observations >= 100
    assert done.difference < 1e-5
    about = json.loads(done.about.read_text())
    assert about["game"] == game
    assert about["check"]["observations"] == done.observations
    assert {"characters", "stage", "frame_skip", "delay"} & set(about) == set()
    parts = [(part["name"], part["first"], part["size"]) for part in about["logits"]]
    alone = [("action", 0, find_game(game).actions.sizes[0])]
    assert parts == ([("part_0", 0, 3), ("part_1", 3, 2)] if game == DUEL else alone)


def test_random_games_are_seen_and_those_who_wait_do_not_count(tmp_path):
    meta = load_policy(save_other(tmp_path / "run", NIM)).meta
    seen = seen_in_games(meta, 200)
    chose = seen.obs.any(-1)  # one seat sees the stones, the other waits
    assert (chose.sum(1) == GAMES).all()
    several = seen.obs[:, :, 2:].any(-1)  # of one stone one is taken
    assert seen.count == several.sum() >= 200
    assert seen.fresh.sum(0).min() > 1
    assert len(seen_in_games(meta, 1).obs) == 1


def test_code_that_a_run_names_is_not_imported_for_an_export(tmp_path, monkeypatch):
    run = save_other(tmp_path / "run", NIM)
    monkeypatch.setattr("selfplay.games.plugins._allowed", set())
    registry._described.cache_clear()
    with pytest.raises(GameError, match=f"add --game-type {NIM}"):
        export(run, "torch", tmp_path / "policy.pt2")
