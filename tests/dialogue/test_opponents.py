import json
import random

import numpy as np
import pytest

from selfplay.checkpoint import RunDir, load_latest_learner
from selfplay.dialogue.instances import grouped
from selfplay.dialogue.language.conversation import Reply
from selfplay.dialogue.language.writer import LocalWriter
from selfplay.dialogue.opponents import leads_against
from selfplay.dialogue.runner import DialogueCollector, DialogueOrder, learner_seat
from selfplay.errors import ConfigError, ServerError
from selfplay.league.ledger import read_games
from tests.dialogue.language.stub_server import CHAT, Stub
from tests.dialogue.language.taught import GREEDY, kuhn, taught_model
from tests.dialogue.models import model_folder
from tests.dialogue.test_app import resume, run, weights

pytestmark = pytest.mark.blocking("a writer has an event loop of its own, on which nobody else waits")
FAST = ("--learning-rate", 1e-3, "--kl", 0, "--evaluation-states", 0)
PAST = ("--mode", "simple_mix", "--save-interval", 1, "--set", "league.max_frozen=2")


def bets_or_passes(_):
    return Reply(random.Random(0).choice(("[pass]", "[bet]")), [], [], ended=True)


def state_of(folder):
    return load_latest_learner(RunDir(folder))


def test_rows_of_the_learner_alone_are_kept_in_groups_of_one_state_seat_and_opponent():
    entry, rules = kuhn()
    collector = DialogueCollector(
        entry, rules, LocalWriter(taught_model(), GREEDY), lambda name: lambda seed: entry.players[name](rules, seed)
    )
    opponents = ("random", "current", "honest", "random")
    games = collector.collect(DialogueOrder((0, 1, 2, 3), (10, 11, 12, 13), 4, opponents))
    assert [game.opponent for game in games] == [name for name in opponents for _ in range(4)]
    for group in grouped(instance for game in games for instance in game.instances):
        seats = (0, 1) if group.index == 1 else (learner_seat(10 + group.index),)
        assert group.seat in seats
        assert len(group.rewards) == 4
    assert {game.learner for game in games if game.index == 1} == {(0, 1)}
    leads = leads_against(games)
    assert {name: len(found) for name, found in leads.items()} == {"random": 8, "honest": 4}
    first = games[0]
    seat = first.learner[0]
    assert leads["random"][0] == first.outcome.rewards[seat] - first.outcome.rewards[1 - seat]


def test_a_run_against_generations_and_scripts_goes_on_to_the_bit(kuhn_start, tmp_path):
    whole, cut = tmp_path / "whole", tmp_path / "cut"
    assert run(whole, kuhn_start, "--games", 128, *FAST, *PAST)[0] == 0
    code, shown = run(cut, kuhn_start, "--games", 64, *FAST, *PAST)
    assert code == 0
    assert "; against " in shown
    assert resume(cut, "--games", 128)[0] == 0
    for name, array in weights(whole, "gen_4").items():
        assert np.array_equal(array, weights(cut, "gen_4")[name]), name
    assert state_of(whole).meta.matchmaker == state_of(cut).meta.matchmaker
    assert any(name.startswith("gen_") for name in state_of(whole).meta.matchmaker["met"]["id"])


def test_a_generation_between_save_points_is_no_opponent(kuhn_start, tmp_path):
    arguments = (*FAST, "--mode", "simple_mix", "--set", "league.max_frozen=2")
    assert run(tmp_path / "run", kuhn_start, "--games", 96, *arguments)[0] == 0
    meta = state_of(tmp_path / "run").meta
    assert "gen_3" in meta.generations
    assert meta.matchmaker["generations"] == ["gen_0", "gen_2"]


def test_a_model_is_copied_met_and_rated(kuhn_start, tmp_path):
    folder, other = tmp_path / "run", model_folder(tmp_path / "other", seed=3)
    rated = ("--track-elo", "--rating-share", 0.9)
    code, shown = run(folder, kuhn_start, "--games", 64, *FAST, "--mode", "opponents", "--opponent", other, *rated)
    assert code == 0
    assert "; against external-other " in shown
    assert (folder / "external_opponents" / "external-other" / "model.safetensors").is_file()
    assert {"external-other", "random", "gen_2"} <= set(read_games(folder / "ledger.jsonl").players)
    with (folder / "metrics.jsonl").open() as lines:
        assert json.loads(next(lines))["play/against_others"] == 1.0


def test_a_server_is_met_rated_and_named_again(kuhn_start, tmp_path):
    folder = tmp_path / "run"
    with Stub(CHAT, bets_or_passes) as stub:
        against = ("--mode", "opponents", "--opponent", stub.url)
        rated = ("--track-elo", "--rating-share", 0.9)
        code, shown = run(folder, kuhn_start, "--games", 64, *FAST, *against, *rated)
        assert code == 0
        assert "; against server-127-0-0-1-" in shown
        assert any(name.startswith("server-") for name in read_games(folder / "ledger.jsonl").players)
        with pytest.raises(ConfigError, match=r"which server to ask.*--opponent"):
            resume(folder, "--games", 96)
        assert resume(folder, "--games", 96, "--opponent", stub.url)[0] == 0


def test_a_lost_server_ends_the_run_saved(kuhn_start, tmp_path):
    folder = tmp_path / "run"
    with Stub(CHAT, bets_or_passes, ruin=lambda number: "garbage" if number >= 100 else None) as stub:
        options = ("--set", "server.retries=0", "--set", "server.failures=4", "--opponent", stub.url)
        with pytest.raises(ServerError) as error:
            run(folder, kuhn_start, "--games", 3200, *FAST, "--mode", "opponents", *options)
    assert error.value.exit_code == 1
    assert state_of(folder).meta.iteration >= 1


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--mode", "opponents"), "name at least one"),
        (("--mode", "league"), "mode"),
        (("--opponent", "http://127.0.0.1:9"), r"--opponent http://127\.0\.0\.1:9: no server answers there"),
        (("--opponent", "/nowhere"), "no such folder"),
        (("--held-out", "nobody"), "--held-out nobody"),
        (("--set", "league.opponent_share=0.5"), "name at least one"),
        (("--host", "ray", "--mode", "pfsp"), "--host ray plays both seats"),
    ],
)
def test_what_cannot_be_met_leaves_no_run(kuhn_start, tmp_path, arguments, message):
    with pytest.raises(ConfigError, match=message) as refused:
        run(tmp_path / "run", kuhn_start, "--games", 32, *arguments)
    assert refused.value.exit_code == 2
    assert not (tmp_path / "run").exists()
