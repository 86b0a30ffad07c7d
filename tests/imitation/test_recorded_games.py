"""Imitation of recorded games, from the command line to self-play that starts from it."""

import io
import json
import re

import pytest
import torch

from selfplay import load_policy
from selfplay.checkpoint.generations import read_policy_meta
from selfplay.cli.imitation import parse
from selfplay.commands.record import player, record
from selfplay.errors import ConfigError
from selfplay.evaluation.evaluate import evaluate
from selfplay.evaluation.players import contenders, home_rules
from selfplay.games.plugins import allow
from selfplay.imitation.train import train
from tests.run import runs

NIM, DUEL = (f"tests.imitation.own_games:{name}" for name in ("Nim", "Duel"))
SIZE = ("--hidden", "32", "--batch-size", "64", "--epochs", 12, "--learning-rate", "1e-2", "--set", "run.threads=1")
SELF_PLAY = ("--num-games", 8, "--rollout-length", 16, "--batch-size", "64", "--save-interval", 1)


def players(game, *names):
    return [player(name, game) for name in names]


@pytest.fixture(scope="module")
def nim(tmp_path_factory):
    """A file of 200 games of a perfect player against a random one."""
    path = tmp_path_factory.mktemp("nim") / "games.jsonl"
    allow(NIM)
    assert list(record(NIM, players(NIM, "perfect", "random"), 200, 0, path))[-1] == 200
    return path


def imitate(folder, game, path, *arguments, size=SIZE):
    """Imitate as the command does; the policy's folder and what a person sees."""
    flags = ("--game-type", game, "--replays", path, "--checkpoint", folder, *size, *arguments)
    call, stream = parse([*map(str, flags)]), io.StringIO()
    assert train(call, stream) == 0
    return folder / "imitation_best_policy", stream.getvalue()


def lines(path):
    return [json.loads(line) for line in path.read_text().splitlines()]


def write(path, records):
    path.write_text("".join(f"{json.dumps(line)}\n" for line in records))
    return path


def score(policy, game, opponent, games=100):
    pair, game = contenders((str(policy), opponent), game)
    return evaluate(*pair, games, home_rules(pair, game, greedy=True)).score


def test_a_perfect_player_is_imitated(nim, tmp_path):
    policy, shown = imitate(tmp_path, NIM, nim, "--player", "perfect")
    meta = read_policy_meta(policy)
    found = meta.config["imitation"]
    assert found["losses"]["accuracy"] > 0.97
    assert found["replays"]["games"]["validation"] > 10
    assert found["replays"]["games"]["train"] + found["replays"]["games"]["validation"] == 200
    assert not re.search("character|stage|frame_skip|delay|none", meta.model_dump_json())
    assert (meta.encoder_version, meta.game, meta.body) == (1, NIM, {})
    assert "accuracy" in shown
    assert score(policy, NIM, "random") > 0.9
    assert score(policy, NIM, "perfect") > 0.4


def test_self_play_starts_from_it(nim, tmp_path):
    policy, _ = imitate(tmp_path, NIM, nim, "--player", "perfect")
    flags = ("--game-type", NIM, "--pretrained", policy, "--timesteps", 4 * 8 * 16, "--set", "ppo.critic_burn_in=2")
    code, shown = runs.train(tmp_path / "run", *flags, size=SELF_PLAY)
    assert code == 0
    assert "ppo.teacher_kl: 0.01" in shown
    before, *generations = (
        load_policy(p) for p in (policy, *(tmp_path / "run/generations" / f"gen_{i}" for i in range(5)))
    )
    assert generations[0].meta.weights_hash == before.meta.weights_hash
    weights = [generation.network.state_dict()["out.weight"] for generation in generations]
    assert torch.equal(weights[0][:-1], weights[2][:-1])  # the critic learned alone
    assert not torch.equal(weights[0][-1], weights[2][-1])
    assert not torch.equal(weights[2][:-1], weights[4][:-1])
    metrics = runs.rows(tmp_path / "run" / "metrics.jsonl")
    assert metrics[0]["losses/teacher_kl"] == pytest.approx(0.0, abs=1e-4)
    assert metrics[3]["losses/teacher_kl"] > 0


def test_actions_of_several_parts_are_imitated(tmp_path):
    allow(DUEL)
    list(record(DUEL, players(DUEL, "steady"), 40, 0, tmp_path / "games.jsonl"))
    policy, _ = imitate(tmp_path, DUEL, tmp_path / "games.jsonl")
    meta = read_policy_meta(policy)
    assert meta.actions.sizes == (3, 2)
    assert meta.config["imitation"]["losses"]["accuracy"] == 1.0


def test_a_solved_game_is_imitated(tmp_path):
    list(record("kuhn", players("kuhn", "always_bet"), 60, 0, tmp_path / "games.jsonl"))
    policy, _ = imitate(tmp_path, "kuhn", tmp_path / "games.jsonl")
    assert read_policy_meta(policy).config["imitation"]["losses"]["accuracy"] == 1.0
    assert 0 <= score(policy, "kuhn", "random", games=20) <= 1


def test_a_game_from_outside_brings_lines_of_its_own_to_the_reports(tmp_path):
    game = "tests.imitation.own_games:KUHN"
    allow(game)
    list(record(game, players(game, "always_bet"), 60, 0, tmp_path / "games.jsonl"))
    _, shown = imitate(tmp_path, game, tmp_path / "games.jsonl", "--epochs", 1)
    assert re.search(r"right bets +\d+\.\d\d% +100\.00%", shown)
    assert "rates/right_predicted" in (tmp_path / "imitation" / "metrics.jsonl").read_text()


def test_the_same_seed_gives_the_same_weights(nim, tmp_path):
    one, other, another = (
        read_policy_meta(imitate(tmp_path / name, NIM, nim, "--seed", seed, "--epochs", 1)[0]).weights_hash
        for name, seed in (("a", 3), ("b", 3), ("c", 4))
    )
    assert one == other != another


def test_a_training_is_resumed_and_may_have_a_memory(nim, tmp_path):
    memory = ("--backbone", "gru", "--hidden", "16,16", "--set", "net.window=4", "--player", "perfect", "--epochs")
    whole, _ = imitate(tmp_path / "whole", NIM, nim, *memory, 2, "--patience", 0)
    imitate(tmp_path / "parts", NIM, nim, *memory, 1, "--patience", 0)
    call = parse(["--resume", "--game-type", NIM, "--checkpoint", str(tmp_path / "parts"), "--epochs", "2"])
    assert train(call, io.StringIO()) == 0
    found = read_policy_meta(tmp_path / "parts" / "imitation_latest_policy")
    assert (found.iteration, found.encoder_version) == (2, 1)
    assert found.config["imitation"]["losses"]["accuracy"] > 0.5
    assert score(whole, NIM, "random", games=20) > 0.5


def test_games_that_go_another_way_are_left_out_and_counted(nim, tmp_path):
    records = lines(nim)
    for line in records[:3]:
        line["rewards"].reverse()
    path = write(tmp_path / "games.jsonl", records)
    _, shown = imitate(tmp_path, NIM, path, "--epochs", 1)
    assert f"Left out {path}:1: it ends with the rewards" in shown
    assert "Left out: 3" in shown
    for line in records[3:]:
        line["rewards"].reverse()
    with pytest.raises(
        ConfigError,
        match=r"no game that can be used in 200 recorded games; 200 cannot be read or learned from .*games.jsonl:1: ",
    ):
        imitate(tmp_path / "none", NIM, write(path, records))
    assert not (tmp_path / "none").exists()


def test_few_games_are_learned_from_without_any_to_judge_by(nim, tmp_path):
    _, shown = imitate(tmp_path, NIM, write(tmp_path / "games.jsonl", lines(nim)[:1]), "--epochs", 1)
    assert "1 games" in shown
    assert "No game is left to judge by" in shown


def test_a_policy_of_another_training_is_not_replaced_silently(nim, tmp_path):
    imitate(tmp_path, NIM, nim, "--epochs", 1)
    _, shown = imitate(tmp_path, NIM, nim, "--epochs", 1)
    assert "is of another training, imitation, and will be replaced" in shown


def test_mistakes_are_told_before_anything_is_written(nim, tmp_path):
    with pytest.raises(ConfigError, match=r"in 200 of them nobody is player 'anna'"):
        imitate(tmp_path / "a", NIM, nim, "--player", "anna")
    with pytest.raises(ConfigError, match=r"cannot read .*nowhere: "):
        imitate(tmp_path / "a", NIM, tmp_path / "nowhere")
    (tmp_path / "bad").write_text("{}\n")
    with pytest.raises(ConfigError, match="bad:1: game: "):
        imitate(tmp_path / "a", NIM, tmp_path / "bad")
    assert not (tmp_path / "a").exists()
