import math
from collections import Counter

import numpy as np
import pytest

from selfplay.errors import ConfigError, RunnerError
from selfplay.runner import chaos
from selfplay.runner.block import Block
from selfplay.runner.chaos import KINDS, Chaos, Fault, broken, check_plan, parse_plan
from tests.fakes import CountingGame
from tests.runner.test_block import order

NOWHERE = 0.999  # of a chance: inf, and no observation


def fault(kind, at=0.5, chance=0.0):
    struck = []
    return Fault(kind, at, chance, lambda: struck.append(kind)), struck


def test_a_plan_is_read():
    assert parse_plan("crash=1e-3, hang = 0.5,nan=0") == {"crash": 1e-3, "hang": 0.5, "nan": 0.0}
    assert parse_plan(None) == {}


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "valid kinds: crash, nan, slow, hang, kill"),
        ("crash", "'crash' is no KIND=P"),
        ("fire=0.1", "'fire=0.1' is no KIND=P"),
        ("crash=often", "'often' is no probability"),
        ("crash=0.1,crash=0.2", "crash stands there twice"),
        ("crash=-0.1", "between 0 and 1"),
        ("crash=nan", "between 0 and 1"),
        ("crash=0.6,nan=0.6", "1 at most together"),
    ],
)
def test_what_is_no_plan_is_refused(text, words):
    with pytest.raises(ConfigError, match=words):
        parse_plan(text)


@pytest.mark.parametrize("kind", KINDS)
def test_what_needs_processes_is_refused_without(kind):
    check_plan(f"{kind}=0.1", processes=True)
    if kind in ("hang", "kill"):
        with pytest.raises(ConfigError, match=f"{kind} needs games in processes of their own: add --host process"):
            check_plan(f"{kind}=0.1", processes=False)
    else:
        check_plan(f"{kind}=0.1", processes=False)


def drawn(seed=0, plan="crash=0.3,nan=0.2,slow=0.1"):
    faults = Chaos(parse_plan(plan), seed)
    found = [faults.draw(runner, i) for i in range(1000) for runner in ("runner-000", "runner-001")]
    return [(f.kind, f.at, f.chance) if f else None for f in found]


def test_faults_come_as_often_as_planned_and_by_the_seed():
    kinds = Counter(found[0] if found else None for found in drawn())
    for kind, p in (("crash", 0.3), ("nan", 0.2), ("slow", 0.1), (None, 0.4)):
        assert abs(kinds[kind] / 2000 - p) < 4 * math.sqrt(p * (1 - p) / 2000)
    assert drawn() == drawn()
    assert drawn() != drawn(seed=1)


def test_the_next_attempt_at_a_segment_has_luck_of_its_own():
    faults = Chaos({"crash": 0.5}, 0)
    attempts = [faults.draw("runner-000", 7) is not None for _ in range(40)]
    assert set(attempts) == {True, False}
    assert Chaos({}, 0).draw("runner-000", 7) is None


def test_after_a_learner_went_back_the_same_iterations_have_luck_of_their_own():
    faults, undisturbed = Chaos({"crash": 0.5}, 0), Chaos({"crash": 0.5}, 0)
    first = [faults.draw("a", i) is not None for i in range(40)]
    again = [faults.draw("a", i) is not None for i in range(10, 40)]
    assert again != first[10:]
    later = [faults.draw("a", i) is not None for i in range(40, 80)]
    assert later == [undisturbed.draw("a", i) is not None for i in range(40, 80)]


def test_the_account_of_a_fault():
    faults = Chaos({"crash": 1.0}, 0)
    for _ in range(2):
        faults.draw("a", 1).struck()
        faults.failed("a")
        faults.failed("b")  # who has no fault
    assert faults.document() == {"crash": {"injected": 2, "detected": 2, "recovered": 0, "lost": 2}}
    faults.completed("b")
    assert faults.document()["crash"]["recovered"] == 0
    for _ in range(2):
        faults.completed("a")
    assert faults.document() == {"crash": {"injected": 2, "detected": 2, "recovered": 2, "lost": 2}}


def test_the_account_of_a_fault_that_costs_no_segment():
    faults = Chaos({"slow": 1.0}, 0)
    faults.noticed("a", "slow")  # a real one
    faults.draw("a", 1).struck()
    faults.completed("a")
    faults.noticed("a", "nan")
    faults.noticed("a", "slow")  # those who look at what came are told later
    assert faults.document() == {"slow": {"injected": 1, "detected": 1, "recovered": 1, "lost": 0}}
    faults.draw("a", 2).struck()
    faults.completed("a")  # nobody notices
    faults.failed("a")  # of something else
    assert faults.document() == {"slow": {"injected": 2, "detected": 1, "recovered": 2, "lost": 0}}


def test_what_is_not_noticed_is_forgotten():
    faults = Chaos({"slow": 1.0}, 0)
    for i in range(100):
        faults.draw("a", i).struck()
        faults.completed("a")
    for _ in range(100):
        faults.noticed("a", "slow")
    told = faults.document()["slow"]
    assert told["injected"] == told["recovered"] == 100
    assert 0 < told["detected"] < 20


def test_the_account_goes_on_with_a_resumed_run_although_the_plan_is_another():
    before = Chaos({"crash": 1.0}, 0)
    before.draw("a", 1).struck()
    after = Chaos({"nan": 1.0}, 0, before.document())
    after.draw("a", 1).struck()
    assert {kind: told["injected"] for kind, told in after.document().items()} == {"nan": 1, "crash": 1}
    assert after.lines()[0] == "Faults on purpose:"
    assert Chaos({}, 0).lines() == []


@pytest.mark.parametrize("at", [0.0, 0.5, 0.999])
def test_a_crash_ends_the_segment_in_the_step_that_was_drawn(at):
    game, (what, struck) = CountingGame(2), fault("crash", at)
    block = Block(game, 0)
    with pytest.raises(RunnerError, match=r"on purpose \(--chaos\)"), broken(block, what, 12):
        block.collect(order())
    assert struck == ["crash"]
    assert len(game.seated) == int(at * 12)
    assert block.game is game


@pytest.mark.parametrize("at", [0.0, 0.5, 0.999])
@pytest.mark.parametrize("chance", [0.0, 0.2, 0.6, NOWHERE])
def test_numbers_that_are_not_finite_are_refused_wherever_they_come(at, chance):
    what, struck = fault("nan", at, chance)
    block = Block(CountingGame(2), 0)
    with pytest.raises(RunnerError, match="not finite"), broken(block, what, 12):
        block.collect(order())
    assert struck == ["nan"]


def test_infinite_observations_that_a_network_would_forgive_are_refused():
    game = CountingGame(2)
    game.on_step = lambda batch: batch.obs.fill(np.inf)
    with pytest.raises(RunnerError, match="not finite"):
        Block(game, 0).collect(order())


def test_a_slow_segment_is_whole(monkeypatch):
    monkeypatch.setattr(chaos, "SLOW_S", 0.0)
    what, struck = fault("slow")
    block, other = Block(CountingGame(2), 0), Block(CountingGame(2), 0)
    with broken(block, what, 12):
        slow = block.collect(order())
    assert struck == ["slow"]
    np.testing.assert_array_equal(slow.rollout.obs, other.collect(order()).rollout.obs)


def test_a_slow_segment_can_be_killed(monkeypatch):
    monkeypatch.setattr(chaos, "SLOW_S", 3600.0)
    block = Block(CountingGame(2), 0)
    what = Fault("slow", 0.5, 0.0, lambda: block.kill())
    with pytest.raises(RunnerError, match="cancelled"), broken(block, what, 12):
        block.collect(order())
    assert block.game.killed


@pytest.mark.parametrize("kind", ["hang", "kill"])
def test_a_game_without_a_process_cannot_be_stopped(kind):
    block = Block(CountingGame(2), 0)
    with pytest.raises(RunnerError, match=f"{kind} needs a game in a process"), broken(block, fault(kind)[0], 12):
        block.collect(order())


def test_no_fault_costs_nothing():
    block = Block(CountingGame(2), 0)
    game = block.game
    with broken(block, None, 12):
        assert block.game is game
