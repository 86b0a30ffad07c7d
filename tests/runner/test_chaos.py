import math
from collections import Counter

import numpy as np
import pytest

from selfplay.errors import ConfigError, RunnerError
from selfplay.runner import chaos
from selfplay.runner.block import Block
from selfplay.runner.chaos import KINDS, Chaos, CountedFaults, Fault, FaultPlan, FaultyGame, check_plan, parse_plan
from tests.runner.test_block import order
from tests.support.fakes import CountingGame

NOWHERE = 0.999  # of a chance: inf, and no observation


class One(FaultPlan):
    """A plan with one fault, in the first segment."""

    def draw(self, segment):
        return self.probabilities if segment == 0 else None


def faulty(kind, at=0.5, chance=0.0, on_fault=None):
    """A block with a fault in its first segment, and what will have struck."""
    found = []
    block = Block(CountingGame(2), 0)
    block.game = FaultyGame(block.game, One(Fault(kind, at, chance), 0, 12), on_fault or found.append)
    return block, found


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


def drawn(seed=0, plan="crash=0.3,nan=0.2,slow=0.1", incarnation=1, iteration=0):
    faults = Chaos(parse_plan(plan), seed)
    plans = [faults.plan_of(runner, incarnation, iteration, 12) for runner in ("runner-000", "runner-001")]
    return [plan.draw(i) for i in range(1000) for plan in plans]


def test_faults_come_as_often_as_planned_and_by_the_seed():
    kinds = Counter(found.kind if found else None for found in drawn())
    for kind, p in (("crash", 0.3), ("nan", 0.2), ("slow", 0.1), (None, 0.4)):
        assert abs(kinds[kind] / 2000 - p) < 4 * math.sqrt(p * (1 - p) / 2000)
    assert drawn() == drawn()
    assert drawn() != drawn(seed=1)


def test_a_runner_that_is_replaced_or_resumed_has_other_faults():
    assert drawn() != drawn(incarnation=2)
    assert drawn() != drawn(iteration=7)


def test_a_run_without_faults_has_no_plan():
    assert Chaos({}, 0).plan_of("runner-000", 1, 0, 12) is None


def test_the_account_of_a_fault():
    faults = Chaos({"crash": 1.0}, 0)
    for _ in range(2):
        faults.injected("a", "crash")
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
    faults.injected("a", "slow")
    faults.completed("a")
    faults.noticed("a", "nan")
    faults.noticed("a", "slow")  # those who look at what came are told later
    assert faults.document() == {"slow": {"injected": 1, "detected": 1, "recovered": 1, "lost": 0}}
    faults.injected("a", "slow")
    faults.completed("a")  # nobody notices
    faults.failed("a")  # of something else
    assert faults.document() == {"slow": {"injected": 2, "detected": 1, "recovered": 2, "lost": 0}}


def test_what_is_not_noticed_is_forgotten():
    faults = Chaos({"slow": 1.0}, 0)
    for _ in range(100):
        faults.injected("a", "slow")
        faults.completed("a")
    for _ in range(100):
        faults.noticed("a", "slow")
    told = faults.document()["slow"]
    assert told["injected"] == told["recovered"] == 100
    assert 0 < told["detected"] < 20


def test_the_account_goes_on_with_a_resumed_run_although_the_plan_is_another():
    before = Chaos({"crash": 1.0}, 0)
    before.injected("a", "crash")
    after = Chaos({"nan": 1.0}, 0, before.document())
    after.injected("a", "nan")
    assert {kind: told["injected"] for kind, told in after.document().items()} == {"nan": 1, "crash": 1}
    assert after.lines()[0] == "Faults on purpose:"
    assert Chaos({}, 0).lines() == []


@pytest.mark.parametrize("at", [0.0, 0.5, 0.999])
def test_a_crash_ends_the_segment_in_the_step_that_was_drawn(at):
    block, struck = faulty("crash", at)
    with pytest.raises(RunnerError, match=r"on purpose \(--chaos\)"):
        block.collect(order())
    assert struck == ["crash"]
    assert len(block.game.seated) == int(at * 12)


@pytest.mark.parametrize("at", [0.0, 0.5, 0.999])
@pytest.mark.parametrize("chance", [0.0, 0.2, 0.6, NOWHERE])
def test_numbers_that_are_not_finite_are_refused_wherever_they_come(at, chance):
    block, struck = faulty("nan", at, chance)
    with pytest.raises(RunnerError, match="not finite"):
        block.collect(order())
    assert struck == ["nan"]


def test_infinite_observations_that_a_network_would_forgive_are_refused():
    game = CountingGame(2)
    game.on_step = lambda batch: batch.obs.fill(np.inf)
    with pytest.raises(RunnerError, match="not finite"):
        Block(game, 0).collect(order())


def test_a_slow_segment_is_whole_and_the_next_one_has_no_fault(monkeypatch):
    monkeypatch.setattr(chaos, "SLOW_S", 0.0)
    block, struck = faulty("slow")
    other = Block(CountingGame(2), 0)
    for _ in range(2):
        np.testing.assert_array_equal(block.collect(order()).rollout.obs, other.collect(order()).rollout.obs)
    assert struck == ["slow"]


def test_a_slow_segment_can_be_killed(monkeypatch):
    monkeypatch.setattr(chaos, "SLOW_S", 3600.0)
    block, _ = faulty("slow", on_fault=lambda _: block.kill())
    with pytest.raises(RunnerError, match="cancelled"):
        block.collect(order())
    assert block.game.killed


@pytest.mark.parametrize("kind", ["hang", "kill"])
def test_a_game_without_a_process_cannot_be_stopped(kind):
    block, _ = faulty(kind)
    with pytest.raises(RunnerError, match=f"{kind} needs a game in a process"):
        block.collect(order())


def test_faults_elsewhere_are_counted_as_their_orders_are_sent():
    class Dies:
        def collect(self, order):
            raise RunnerError(order)

    struck = []
    games = CountedFaults(Dies(), One(Fault("kill", 0.5, 0.5), 0), struck.append)
    for name in ("one", "two"):
        with pytest.raises(RunnerError, match=name):
            games.collect(name)
    assert struck == ["kill"]
