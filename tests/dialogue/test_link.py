"""Dialogue games on the other end of a link are those that would be played here, with the weights of now."""

import dataclasses

import numpy as np
import pytest

pytest.importorskip("transformers", reason="needs the extra: pip install -e '.[dialogue]'")

from selfplay.dialogue import link as dialogue_link
from selfplay.dialogue.language.writer import LocalWriter
from selfplay.dialogue.link import DialogueClient, DialogueServer, PublishedWeights, files_of, pack_games, unpack_games
from selfplay.dialogue.runner import DialogueCollector, DialogueOrder, Lost, Played
from selfplay.errors import RunnerError
from selfplay.policy.policy import parameters_of
from tests.dialogue.language.taught import GREEDY, kuhn, taught_model
from tests.runner.links import LocalLink, Shared, crossed

ORDER = DialogueOrder((4, 5), (14, 15), games_each=3)


@pytest.fixture
def remote(tmp_path, request):
    model = taught_model()
    model.save(tmp_path / "model")
    document = {
        "game": "kuhn_text", "embedded": True, "settings": {}, "sampling": dataclasses.asdict(GREEDY),
        "rows": "conversation", "bf16": False, "faults": getattr(request, "param", None),
    }  # fmt: skip
    weights = PublishedWeights(Shared)
    link = LocalLink(DialogueServer())
    collector = DialogueClient(link, weights, document, Shared(files_of(tmp_path / "model")))
    collector.open()
    return model, weights, link, collector


def assert_same(one, other):
    assert len(one) == len(other)
    for here, there in zip(one, other, strict=True):
        plain = [dataclasses.replace(game, instances=()) for game in (here, there)]
        assert plain[0] == plain[1]
        for a, b in zip(here.instances, there.instances, strict=True):
            for field in dataclasses.fields(a):
                assert np.array_equal(getattr(a, field.name), getattr(b, field.name)), field.name


def test_orders_are_played_as_here_and_weights_cross_once_a_version(remote):
    model, weights, link, collector = remote
    here = DialogueCollector(*kuhn(), LocalWriter(model, GREEDY))
    weights.publish(parameters_of(model.module, trainable=True))
    assert_same(here.collect(ORDER), collector.collect(ORDER))
    collector.collect(ORDER)
    changed = parameters_of(model.module, trainable=True)
    name = max(changed, key=lambda name: changed[name].size)
    changed[name] = -changed[name]
    weights.publish(changed)
    games = collector.collect(ORDER)
    assert [sent for method, sent in link.sent if method == "collect"] == [1, 0, 1]
    with pytest.raises(AssertionError):
        assert_same(here.collect(ORDER), games)  # other weights, other words


@pytest.mark.parametrize("remote", [{"probabilities": {"crash": 1.0}, "seed": 0}], indirect=True)
def test_a_planned_fault_strikes_there(remote):
    model, weights, _, collector = remote
    weights.publish(parameters_of(model.module, trainable=True))
    with pytest.raises(RunnerError, match="on purpose"):
        collector.collect(ORDER)


def test_progress_there_is_told_while_games_are_played(remote, monkeypatch):
    model, weights, link, collector = remote
    monkeypatch.setattr(dialogue_link, "EVERY_S", 0.0)
    weights.publish(parameters_of(model.module, trainable=True))
    games = collector.collect(ORDER)
    assert_same(DialogueCollector(*kuhn(), LocalWriter(model, GREEDY)).collect(ORDER), games)
    assert ("more", 0) in link.sent
    assert collector.progress > 0


def test_lost_games_cross_too():
    games = [Lost("4-0", "a game raised")]
    assert unpack_games(crossed(pack_games(games))) == games
    assert unpack_games(crossed(pack_games([]))) == []


def test_a_severed_one_is_freed(remote):
    _, weights, link, collector = remote
    weights.publish({})
    assert collector.kill() is True
    with pytest.raises(RunnerError, match="severed"):
        collector.collect(ORDER)
    collector.close()
    assert link.closed


def test_all_that_was_played_is_told(remote):
    model, _, _, _ = remote
    games = DialogueCollector(*kuhn(), LocalWriter(model, GREEDY)).collect(ORDER)
    assert all(isinstance(game, Played) for game in games)
    assert_same(games, unpack_games(crossed(pack_games(games))))
