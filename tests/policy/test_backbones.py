"""Networks with memory: playing and training see the same numbers, and nothing is remembered that should not be."""

import math

import pytest
import torch
from torch import nn
from torch.nn import functional

from selfplay.checkpoint import NetworkSpec
from selfplay.errors import IncompatibleError
from selfplay.policy.backbones import CHUNK, GRU, HEAD_WIDTH, LAYERS, LSTM, Attention, Mamba
from selfplay.policy.network import KINDS, MOST, build_network
from tests.policy.networks import HEADS

ROWS, STEPS, OBS = 3, 20, 5
NETWORKS = {
    "mlp": ("mlp", (8, 8), {}),
    "gru": ("gru", (32, 32), {}),
    "gru, two layers": ("gru", (32, 32, 32), {}),
    "lstm": ("lstm", (32, 32), {}),
    "lstm, two layers": ("lstm", (32, 32, 32), {}),
    "mamba": ("mamba", (32, 32), {}),
    "mamba, two layers": ("mamba", (32, 32, 32), {}),
    "mamba, small state": ("mamba", (64, 64), {"state": 3, "expand": 1}),
    "attention": ("attention", (32, 32), {}),
    "attention, window 2": ("attention", (32, 32), {"window": 2}),
    "attention, window 7": ("attention", (64, 64), {"window": 7}),
    "attention, two layers": ("attention", (32, 32, 32), {"window": 5}),
}
EVERY = pytest.mark.parametrize("name", NETWORKS)
REMEMBERING = pytest.mark.parametrize("name", [name for name in NETWORKS if name != "mlp"])


def seeded(seed=0):
    return torch.Generator().manual_seed(seed)


def normal(*shape, seed=0):
    return torch.randn(*shape, generator=seeded(seed))


def make(name, seed=0):
    """A network whose parameters are all away from what they begin as, so that each of them matters."""
    kind, hidden, options = NETWORKS[name]
    network = build_network(NetworkSpec(kind=kind, obs_width=OBS, hidden=hidden, options=options), HEADS, seeded(seed))
    generator = seeded(seed + 1)
    with torch.no_grad():
        for parameter in network.parameters():
            parameter += 0.1 * torch.randn(parameter.shape, generator=generator)
    return network


def resets(rows=ROWS, steps=STEPS):
    """Row 0 begins one episode in the middle, row 1 several, one of them at once; row 2 none."""
    fresh = torch.zeros(rows, steps, dtype=torch.bool)
    fresh[0, steps // 2] = True
    fresh[1, [0, 3, 4, steps - 2]] = True
    return fresh


def played(network, obs, memory, fresh):
    """What ``unroll`` gives, from one ``step`` after the other."""
    outputs = []
    for t in range(obs.shape[1]):
        memory = torch.where(fresh[:, t, None], network.first_memory(len(obs)), memory)
        logits, value, memory = network.step(obs[:, t], memory)
        outputs.append(torch.cat([logits, value[:, None]], 1))
    return torch.stack(outputs, 1), memory


def unrolled(network, obs, memory, fresh):
    logits, value, memory = network.unroll(obs, memory, fresh)
    return torch.cat([logits, value[..., None]], 2), memory


@torch.no_grad()
def warm(network, rows=ROWS, steps=11):
    """A memory that some play has left."""
    obs = normal(rows, steps, OBS, seed=9)
    return played(network, obs, network.first_memory(rows), torch.zeros(rows, steps, dtype=torch.bool))[1]


def close(a, b, tolerance=1e-5):
    torch.testing.assert_close(a, b, atol=tolerance, rtol=tolerance)


@EVERY
@torch.no_grad()
def test_an_unroll_gives_what_steps_give_with_resets_in_the_middle_and_a_memory_from_before(name):
    network = make(name)
    obs, memory = normal(ROWS, STEPS, OBS), warm(network)
    outputs, after = unrolled(network, obs, memory, resets())
    steps_outputs, steps_after = played(network, obs, memory, resets())
    close(outputs, steps_outputs)
    close(after, steps_after)
    assert outputs.shape == (ROWS, STEPS, 2 + 8 + 1)
    assert after.shape == (ROWS, network.memory_width)


@pytest.mark.parametrize("steps", [1, 2, 3, CHUNK, CHUNK + 1, CHUNK + 2, 2 * CHUNK + 5])
@pytest.mark.parametrize("kind", LAYERS)
@torch.no_grad()
def test_whatever_the_length(kind, steps):
    network = make(kind)
    obs, memory, fresh = normal(ROWS, steps, OBS), warm(network), torch.zeros(ROWS, steps, dtype=torch.bool)
    fresh[0, steps // 2] = fresh[1, -1] = True
    outputs, after = unrolled(network, obs, memory, fresh)
    steps_outputs, steps_after = played(network, obs, memory, fresh)
    close(outputs, steps_outputs)
    close(after, steps_after)


@pytest.mark.parametrize("steps", [STEPS, CHUNK + 30])
@EVERY
@torch.no_grad()
def test_two_unrolls_give_what_one_gives(name, steps):
    network = make(name)
    obs, fresh, memory = normal(ROWS, steps, OBS), resets(steps=steps), warm(network)
    outputs, after = unrolled(network, obs, memory, fresh)
    for cut in (1, 4, steps // 2, steps - 1):
        first, between = unrolled(network, obs[:, :cut], memory, fresh[:, :cut])
        second, last = unrolled(network, obs[:, cut:], between, fresh[:, cut:])
        close(torch.cat([first, second], 1), outputs)
        close(last, after)


@EVERY
@torch.no_grad()
def test_nothing_from_before_a_reset_reaches_what_comes_after(name):
    network = make(name)
    fresh = torch.zeros(ROWS, STEPS, dtype=torch.bool)
    fresh[:, 8] = True
    obs = normal(ROWS, STEPS, OBS)
    other = obs.clone()
    other[:, :8] = 5.0 * normal(ROWS, 8, OBS, seed=3)
    a, after_a = unrolled(network, obs, warm(network), fresh)
    b, after_b = unrolled(network, other, network.first_memory(ROWS), fresh)
    assert (a[:, :8] - b[:, :8]).abs().max() > 1e-3
    close(a[:, 8:], b[:, 8:], 1e-6)
    close(after_a, after_b, 1e-6)
    alone, after_alone = unrolled(network, obs[:, 8:], network.first_memory(ROWS), fresh[:, 8:] & False)
    close(a[:, 8:], alone)
    close(after_a, after_alone)


@REMEMBERING
@torch.no_grad()
def test_what_was_seen_and_what_was_remembered_before_matters_without_a_reset(name):
    network = make(name)
    never, obs = torch.zeros(ROWS, 2, dtype=torch.bool), normal(ROWS, 2, OBS)
    other = torch.cat([normal(ROWS, 1, OBS, seed=3), obs[:, 1:]], 1)
    outputs, _ = unrolled(network, obs, warm(network), never)
    for again, memory in ((other, warm(network)), (obs, network.first_memory(ROWS))):
        changed, _ = unrolled(network, again, memory, never)
        assert (outputs[:, int(again is other)] - changed[:, int(again is other)]).abs().amax(1).min() > 1e-5


@EVERY
@torch.no_grad()
def test_nothing_from_the_future_reaches_the_past(name):
    network = make(name)
    steps = CHUNK + 10
    obs, fresh, memory = normal(ROWS, steps, OBS), resets(steps=steps), warm(network)
    for now in (5, CHUNK + 2):
        other, later = obs.clone(), fresh.clone()
        other[:, now:] = normal(ROWS, steps - now, OBS, seed=4)
        later[:, now:] = ~fresh[:, now:]
        a, b = unrolled(network, obs, memory, fresh)[0], unrolled(network, other, memory, later)[0]
        close(a[:, :now], b[:, :now], 1e-6)
        assert (a[:, now:] - b[:, now:]).abs().max() > 1e-3


@EVERY
@torch.no_grad()
def test_players_know_nothing_of_each_other(name):
    network = make(name)
    obs, fresh, memory = normal(ROWS, STEPS, OBS), resets(), warm(network)
    outputs, after = unrolled(network, obs, memory, fresh)
    for row in range(ROWS):
        alone = slice(row, row + 1)
        out, mine = unrolled(network, obs[alone], memory[alone], fresh[alone])
        close(out, outputs[alone])
        close(mine, after[alone])
    shuffled = torch.tensor([2, 0, 1])
    close(unrolled(network, obs[shuffled], memory[shuffled], fresh[shuffled])[0], outputs[shuffled])


@pytest.mark.parametrize("window", [2, 7])
@torch.no_grad()
def test_attention_forgets_what_is_older_than_its_window(window):
    torch.manual_seed(0)
    layer = Attention(32, window)
    layer.bias += normal(*layer.bias.shape)
    never, x = torch.zeros(ROWS, STEPS, dtype=torch.bool), normal(ROWS, STEPS, 32)
    memory = torch.zeros(ROWS, layer.memory_width)
    other = x.clone()
    other[:, 4] = normal(ROWS, 32, seed=1)
    changed = (layer.unroll(x, memory, never)[0] - layer.unroll(other, memory, never)[0]).abs().amax((0, 2))
    assert torch.nonzero(changed > 1e-5).flatten().tolist() == list(range(4, 4 + window))
    assert changed[:4].max() < 1e-6
    assert changed[4 + window :].max() < 1e-6
    assert layer.unroll(x, memory, never)[1].shape == (ROWS, (window - 1) * 65)


@EVERY
def test_gradients_are_finite_and_every_parameter_gets_one(name):
    network = make(name)
    outputs, after = unrolled(network, normal(ROWS, STEPS, OBS), warm(network), resets())
    loss = (outputs * normal(*outputs.shape, seed=1)).sum() + after.square().sum()
    names, parameters = zip(*network.named_parameters(), strict=True)
    gradients = torch.autograd.grad(loss, parameters)
    assert all(torch.isfinite(gradient).all() for gradient in gradients)
    still = {each for each, gradient in zip(names, gradients, strict=True) if gradient.abs().max() == 0}
    # who sees one decision only has nothing to weigh
    assert still == (
        {f"memory.0.{of}" for of in ("query.weight", "query.bias", "bias")} if "window 1" in name else set()
    )


@pytest.mark.parametrize(("kind", "ours", "theirs"), [("gru", GRU, nn.GRU), ("lstm", LSTM, nn.LSTM)])
@torch.no_grad()
def test_gru_and_lstm_are_those_of_torch_but_for_norm_and_residual(kind, ours, theirs):
    torch.manual_seed(0)
    layer, reference = ours(32), theirs(32, 32, batch_first=True)
    layer.norm = nn.Identity()
    for name, part in (("ih", layer.input), ("hh", layer.hidden)):
        part.weight.copy_(getattr(reference, f"weight_{name}_l0"))
        part.bias.copy_(getattr(reference, f"bias_{name}_l0"))
    x, memory = normal(ROWS, STEPS, 32), normal(ROWS, layer.memory_width, seed=1)
    states = tuple(part[None].contiguous() for part in memory.split(32, 1))
    expected, last = reference(x, states if kind == "lstm" else states[0])
    outputs, after = layer.unroll(x, memory, torch.zeros(ROWS, STEPS, dtype=torch.bool))
    close(outputs - x, expected)
    close(after, torch.cat([part[0] for part in last], 1) if kind == "lstm" else last[0])


def mamba_by_its_formula(layer, x, fresh):
    """One player's outputs [T, W], scalar by scalar where the formula is; from an empty memory."""
    inner, state, heads = layer.inner, layer.state, layer.heads
    width = inner // heads
    seen, h = [], torch.zeros(inner, state)
    outputs = []
    for t in range(len(x)):
        if fresh[t]:
            seen, h = [], torch.zeros(inner, state)
        gate, mixed, delta = layer.input(layer.norm(x[t])).split([inner, layer.mixed, heads])
        seen.append(mixed)
        convolved = torch.zeros(layer.mixed)
        for back, tap in enumerate(reversed(layer.taps)):
            if back < len(seen):
                convolved += tap * seen[-1 - back]
        values, b, c = functional.silu(convolved).split([inner, state, state])
        y = torch.zeros(inner)
        for head in range(heads):
            step = math.log1p(math.exp(float(delta[head] + layer.delta[head])))
            decay = math.exp(-step * math.exp(float(layer.decay[head])))
            for i in range(head * width, (head + 1) * width):
                h[i] = decay * h[i] + step * values[i] * b
                y[i] = h[i] @ c + layer.skip[head] * values[i]
        gated = y * functional.silu(gate)
        normed = gated / (gated.square().mean() + 1e-6).sqrt() * layer.out_norm.weight
        outputs.append(x[t] + layer.output(normed))
    return torch.stack(outputs)


@pytest.mark.parametrize("options", [{}, {"state": 3, "expand": 3}])
@torch.no_grad()
def test_mamba_follows_its_formula(options):
    torch.manual_seed(0)
    layer = Mamba(32, **options)
    for parameter in (layer.taps, layer.skip, layer.decay, layer.out_norm.weight):
        parameter += 0.3 * normal(*parameter.shape)
    x, fresh = 2.0 * normal(ROWS, STEPS, 32), resets()
    outputs, _ = layer.unroll(x, torch.zeros(ROWS, layer.memory_width), fresh)
    for row in range(ROWS):
        close(outputs[row], mamba_by_its_formula(layer, x[row], fresh[row]))


@torch.no_grad()
def test_heads_of_a_fresh_mamba_remember_from_a_few_decisions_to_a_hundred():
    layer = Mamba(128)
    spans = 1.0 / (functional.softplus(layer.delta) * layer.decay.exp())
    assert spans.min() < 5
    assert spans.max() == pytest.approx(100, rel=0.01)


@pytest.mark.parametrize("kind", KINDS)
def test_one_seed_gives_one_network(kind):
    spec = NetworkSpec(kind=kind, obs_width=OBS, hidden=(32, 32))
    torch.manual_seed(1)
    states = [build_network(spec, HEADS, seeded(7)).state_dict()]
    torch.manual_seed(2)  # what else drew numbers does not matter
    states += [build_network(spec, HEADS, seeded(seed)).state_dict() for seed in (7, 8)]
    assert all(torch.equal(states[0][name], states[1][name]) for name in states[0])
    assert any(not torch.equal(states[0][name], states[2][name]) for name in states[0])


def test_how_much_each_remembers():
    widths = {kind: make(kind).memory_width for kind in KINDS}
    mixed = 2 * 32 + 2 * 16
    assert widths == {"mlp": 0, "gru": 32, "lstm": 64, "mamba": 3 * mixed + 64 * 16, "attention": 59 * (2 * 32 + 1)}
    assert make("gru, two layers").memory_width == 64


@pytest.mark.parametrize("kind", LAYERS)
@pytest.mark.parametrize("hidden", [(), (32,), (32, 64), (40, 40), (32, 32, 64)])
def test_widths_that_do_not_fit_are_refused(kind, hidden):
    with pytest.raises(IncompatibleError, match=f"^{kind} needs a dense layer.*{HEAD_WIDTH}.*not "):
        build_network(NetworkSpec(kind=kind, obs_width=OBS, hidden=hidden), HEADS)


@pytest.mark.parametrize(
    ("kind", "options"),
    [
        ("mlp", {"window": 4}),
        ("gru", {"state": 4}),
        ("mamba", {"window": 4}),
        ("attention", {"state": 4}),
        ("attention", {"window": 1}),
        ("attention", {"window": -3}),
        ("attention", {"window": MOST + 1}),
        ("attention", {"window": 2.5}),
        ("mamba", {"state": "16"}),
        ("mamba", {"expand": 0}),
    ],
)
def test_options_that_do_not_fit_are_refused(kind, options):
    with pytest.raises(IncompatibleError, match=f"network '{kind}' cannot have the options"):
        build_network(NetworkSpec(kind=kind, obs_width=OBS, hidden=(32, 32), options=options), HEADS)
