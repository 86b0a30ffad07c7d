import math
from dataclasses import replace

import pytest
import torch

from selfplay.checkpoint import ActionHeads, NetworkSpec
from selfplay.learner.imitation import Emphasis, Lesson, begin_with, decide, look, part_losses
from selfplay.learner.imitation_metrics import ActionCounts, Baselines, imitation_metrics
from selfplay.policy.heads import Heads, logprob_entropy, sample
from tests.learner.batches import seeded, weights
from tests.learner.lessons import actions, cut, imitator, plain, rows, windows
from tests.policy.networks import HEADS, network

SMALL = Heads(1, (3,))
MEMORY = [
    NetworkSpec(kind=kind, obs_width=4, hidden=(32, 32), options={"window": 5} if kind == "attention" else {})
    for kind in ("gru", "lstm", "mamba", "attention")
]


# ---- the loss


def test_the_parts_add_up_to_the_likelihood_of_the_action():
    net, lesson = network(), rows()
    logits = net(lesson.obs)[0]
    logprob, _ = logprob_entropy(net.heads, logits, lesson.action)
    torch.testing.assert_close(-part_losses(net.heads, logits, lesson.action).sum(1), logprob)


@pytest.mark.parametrize(("press", "change"), [(1.0, 1.0), (9.0, 1.0), (1.0, 4.0), (9.0, 4.0)])
def test_the_optimum_of_a_weighted_loss_is_the_true_probability(press, change):
    """Rows as a player gives them whose action frequencies are known exactly, for both controllers before."""
    p_press, p_class = 0.02, torch.tensor([0.7, 0.25, 0.05])
    action = torch.tensor([[b, c] for b in (0, 1) for c in range(3)] * 2, dtype=torch.int8)
    last = torch.tensor([[0, 0]] * 6 + [[1, 2]] * 6, dtype=torch.int8)
    share = torch.tensor([(p_press if b else 1 - p_press) * float(p_class[c]) for b, c in action.tolist()]) / 2
    logits = torch.tensor([[math.log(p_press / (1 - p_press)), *p_class.log().tolist()]], requires_grad=True)
    emphasis = Emphasis(torch.tensor([press]), change)
    losses = emphasis.losses(SMALL, logits.expand(12, -1), action, last)
    (share @ losses).sum().backward()
    assert logits.grad.abs().max() < 1e-6
    off = (logits.detach() + torch.tensor([[0.5, 0.0, 0.5, 0.0]])).requires_grad_()
    (share @ emphasis.losses(SMALL, off.expand(12, -1), action, last)).sum().backward()
    assert off.grad.abs().min() > 1e-4  # elsewhere it pulls back


def test_a_weight_pulls_harder_at_rare_presses():
    """Where a press comes as a surprise, its weight is that of the gradient."""
    action, last = torch.tensor([[1, 0]], dtype=torch.int8), torch.zeros(1, 2, dtype=torch.int8)

    def pull(weight):
        logits = torch.tensor([[-8.0, 0.0, 0.0, 0.0]], requires_grad=True)
        Emphasis(torch.tensor([weight])).losses(SMALL, logits, action, last).sum().backward()
        return float(logits.grad[0, 0])

    assert pull(10.0) / pull(1.0) == pytest.approx(10.0, rel=0.01)


def test_weights_of_presses_follow_from_their_rates():
    action_counts = ActionCounts.none(Heads(3, ()))
    action = torch.zeros(100, 3, dtype=torch.int8)
    action[:10, 0] = 1
    action[:80, 1] = 1
    action_counts.add(action, action)
    assert Emphasis.of(action_counts, Heads(3, ()), 0.5, 20.0, 1.0).press.tolist() == pytest.approx([3.0, 1.0, 20.0])
    assert Emphasis.of(action_counts, Heads(3, ()), 0.0, 20.0, 1.0).press.tolist() == [1.0, 1.0, 1.0]


# ---- baselines


def test_baselines_by_hand():
    action_counts = ActionCounts.none(SMALL)
    action = torch.tensor([[0, 0], [0, 0], [1, 0], [0, 2]], dtype=torch.int8)
    last = torch.tensor([[0, 0], [0, 0], [0, 0], [0, 0]], dtype=torch.int8)
    action_counts.add(action, last)
    assert action_counts.rows == 4
    assert action_counts.press_rates.tolist() == [0.25, 0.0]
    baselines = Baselines(action_counts)
    marginal, repeat = baselines.losses(action, last)
    button, stick = (4 / 6, 2 / 6), (4 / 7, 1 / 7, 2 / 7)  # each class counted once more
    expected = [-math.log(button[b] * stick[c]) for b, c in action.tolist()]
    assert marginal.tolist() == pytest.approx(expected)

    def likelihood(e, m, same, changes):  # of one part: its same classes, all of class 0, and its changes
        return changes * math.log(e) + same * math.log(1 - e + e * m)

    for part, m in ((0, button[0]), (1, stick[0])):
        best = max((i / 10000 for i in range(1, 10000)), key=lambda e: likelihood(e, m, 3, 2))
        assert float(baselines.change[part]) == pytest.approx(best, abs=2e-4)
    e = baselines.change.tolist()
    kept = [math.log(1 - e[0] + e[0] * button[0]), math.log(1 - e[1] + e[1] * stick[0])]
    assert float(repeat[0]) == pytest.approx(-sum(kept))
    assert float(repeat[3]) == pytest.approx(-kept[0] - math.log(e[1] * stick[2]))


def test_one_who_never_repeats_is_no_worse_than_the_marginals():
    action_counts = ActionCounts.none(SMALL)
    action = torch.tensor([[0, i % 3] for i in range(300)], dtype=torch.int8)
    last = torch.tensor([[1, (i + 1) % 3] for i in range(300)], dtype=torch.int8)
    action_counts.add(action, last)
    marginal, repeat = Baselines(action_counts).losses(action, last)
    assert Baselines(action_counts).change.tolist() == pytest.approx([1.0, 1.0])
    torch.testing.assert_close(marginal, repeat)


# ---- learning


def test_a_network_begins_with_the_action_counts():
    net, lesson = network(spread=1.0), rows(400)
    action_counts = ActionCounts.none(net.heads)
    action_counts.add(lesson.action, lesson.last)
    begin_with(net, action_counts)
    marginal, _ = Baselines(action_counts).losses(lesson.action, lesson.last)
    with torch.no_grad():
        losses = part_losses(net.heads, net(lesson.obs)[0], lesson.action).sum(1)
    assert losses.mean().item() == pytest.approx(marginal.mean().item(), abs=0.01)


@pytest.mark.parametrize("threads", [1, 2])
def test_a_player_that_follows_a_rule_is_learned(threads):
    obs = torch.randn(256, 4, generator=seeded(1))
    last = actions((256,), 3)
    action = last.clone()
    action[:, 0] = obs[:, 0] > 1.0
    action[:, 2] = (obs[:, 1:] > 0).sum(1).clamp(max=2)
    lesson = Lesson(obs, action, action)
    action_counts = ActionCounts.none(network().heads)
    action_counts.add(action, last)
    with imitator(network(), Emphasis.of(action_counts, network().heads, 0.5, 20.0, 1.0), threads=threads) as made:
        losses = [made.learn(lesson).parts[[0, 2]].sum().item() / 256 for _ in range(150)]
        found = imitation_metrics(
            made.network.heads, look(made.network, [lesson]), Baselines(action_counts), {}, seeded()
        )
    assert losses[-1] < 0.3 * losses[0]
    assert found.parts[0] < 0.1
    assert found.pressed[0][0] == pytest.approx(found.pressed[0][1], abs=0.02)


@pytest.mark.parametrize("threads", [1, 3])
def test_threads_take_the_same_step(threads):
    net = network()
    with imitator(net, threads=threads) as made:
        made.learn(rows(30))
    alone = network()
    with imitator(alone) as made:
        made.learn(rows(30))
    torch.testing.assert_close(weights(net), weights(alone), atol=1e-5, rtol=0)


def test_windows_of_a_network_without_memory_are_rows_in_order():
    lesson = windows()
    flat = Lesson(lesson.obs[lesson.mask], lesson.action[lesson.mask], lesson.last[lesson.mask])
    a, b = network(), network()
    with imitator(a) as one, imitator(b) as other:
        seen, same = one.learn(lesson), other.learn(flat)
    assert seen.rows == same.rows == 33
    torch.testing.assert_close(seen.parts, same.parts)
    torch.testing.assert_close(weights(a), weights(b))


@pytest.mark.parametrize("spec", [None, *MEMORY], ids=lambda spec: spec.kind if spec else "mlp")
def test_what_is_masked_teaches_nothing(spec):
    lesson = windows()
    noise = lesson.action.clone()
    noise[~lesson.mask] = actions((int((~lesson.mask).sum()),), 99)
    after = []
    for action in (lesson.action, noise):
        net = network(spec=spec) if spec else network()
        with imitator(net) as made:
            made.learn(replace(lesson, action=action))
        after.append(weights(net))
    torch.testing.assert_close(after[0], after[1], atol=0, rtol=0)


def test_the_critic_is_not_trained():
    net = network()
    before = net.out.weight[-1].clone()
    with imitator(net) as made:
        made.learn(rows())
    assert torch.equal(net.out.weight[-1], before)
    assert net.out.bias[-1].item() == 0.0


@pytest.mark.parametrize("spec", MEMORY, ids=lambda spec: spec.kind)
def test_windows_one_after_the_other_see_what_one_long_one_sees(spec):
    net, lesson = network(spec=spec), windows(steps=12)
    whole = decide(net, lesson, net.first_memory(3)).logits
    with imitator(net) as made:
        pieces = [decided.logits for decided in look(made.network, cut(lesson, 4))]
    together = torch.full((3, 12, net.heads.logits), torch.nan)
    for i, (piece, part) in enumerate(zip(pieces, cut(lesson, 4), strict=True)):
        view = together[:, 4 * i : 4 * i + 4]
        view[part.mask] = piece
    torch.testing.assert_close(together[lesson.mask], whole.detach(), atol=1e-5, rtol=1e-4)


@pytest.mark.parametrize("spec", MEMORY, ids=lambda spec: spec.kind)
def test_learning_carries_memory_on_and_forgets_where_a_pass_begins(spec):
    net = network(spec=spec)
    first, second, _ = cut(windows(), 4)
    with imitator(net, rate=1e-12, threads=2) as made:
        made.learn(first)
        expected = decide(net, first, net.first_memory(3)).memory
        torch.testing.assert_close(made.memory, expected.detach(), atol=1e-5, rtol=1e-4)
        assert not made.memory.requires_grad
        warm = made.learn(second).parts
        made.forget()
        assert not torch.allclose(made.learn(second).parts, warm)


def test_a_gradient_that_is_not_finite_moves_nothing():
    net = network()
    before = weights(net)
    with imitator(net) as made:
        lesson = rows()
        lesson.obs[0] = math.inf
        learned = made.learn(lesson)
    assert learned.skipped
    assert torch.equal(weights(net), before)


# ---- imitation metrics


def test_a_network_is_like_itself():
    net = network(heads=ActionHeads(binary=2, sizes=(3, 3, 2)))
    obs = torch.randn(4000, 4, generator=seeded(5))
    with torch.no_grad():
        action, _ = sample(net.heads, net(obs)[0], seeded(6))
    last = actions((4000,), 7)
    last[:1000] = action[:1000]
    lesson = Lesson(obs, action, last)
    action_counts = ActionCounts.none(net.heads)
    action_counts.add(action, last)
    with imitator(net) as made:
        found = imitation_metrics(
            net.heads, look(made.network, [lesson]), Baselines(action_counts), {"main": (2, 1)}, seeded(8)
        )
    assert (found.rows, found.changed_rows) == (4000, int((action != last).any(1).sum()))
    assert found.model.all == pytest.approx(sum(found.parts))
    assert found.model.all < found.marginals.all
    assert found.model.changed is not None
    for predicted, played in found.pressed:
        assert predicted == pytest.approx(played, abs=0.03)
    predicted, played = found.off_centre["main"]
    assert played == pytest.approx(float(((action[:, 2] != 1) | (action[:, 3] != 1)).float().mean()))
    assert predicted == pytest.approx(played, abs=0.03)
    assert found.diversity == pytest.approx(1.0, abs=0.1)


def test_nothing_to_compare_has_no_metrics():
    action_counts = ActionCounts.none(Heads(HEADS.binary, HEADS.sizes))
    assert imitation_metrics(network().heads, [], Baselines(action_counts), {}, seeded()) is None


def test_without_changes_there_is_no_loss_of_them():
    lesson = rows()
    same = Lesson(lesson.obs, lesson.action, lesson.action)
    action_counts = ActionCounts.none(network().heads)
    action_counts.add(same.action, same.last)
    with imitator(network(), plain()) as made:
        found = imitation_metrics(
            made.network.heads, look(made.network, [same]), Baselines(action_counts), {}, seeded()
        )
    assert found.changed_rows == 0
    assert found.model.changed is None


def test_what_is_illegal_is_not_learned_about():
    net, lesson = network(), rows()
    legal = torch.ones(len(lesson), net.heads.logits, dtype=torch.bool)
    legal[:, -1] = False
    lesson = replace(lesson, legal=legal, action=lesson.action.where(lesson.action != net.heads.sizes[-1] - 1, 0))
    logits = decide(net, lesson, net.first_memory(0)).logits
    part_losses(net.heads, logits, lesson.action).sum().backward()
    gradient = net.out.bias.grad[:-1]
    assert gradient[-1] == 0
    assert gradient[:-1].any()
