import pytest
import torch
from torch import nn

from selfplay.learner import chunked
from selfplay.learner.chunked import chunked_loss

TOKENS, WIDTH, VOCABULARY = 23, 5, 11


@pytest.mark.parametrize("size", [1, 4, 23, 100])
def test_chunks_change_neither_the_loss_nor_its_gradients(monkeypatch, size):
    monkeypatch.setattr(chunked, "CHUNK_BYTES", 4 * VOCABULARY * size)
    generator = torch.Generator().manual_seed(0)
    hidden = torch.randn(TOKENS, WIDTH, generator=generator, requires_grad=True)
    taken = torch.randint(VOCABULARY, (TOKENS,), generator=generator)
    head = nn.Linear(WIDTH, VOCABULARY)

    def loss(logits, part):
        assert len(logits) <= size
        each = nn.functional.cross_entropy(logits, taken[part], reduction="none") ** 2
        return each.sum(), torch.stack([each.sum(), each.max()])

    expected = _whole(head, hidden, taken)
    total, metrics = chunked_loss(hidden, head, loss, VOCABULARY)
    parameters = (hidden, *head.parameters())
    found = torch.autograd.grad(3 * total, parameters)
    torch.testing.assert_close(total, expected)
    for one, other in zip(found, torch.autograd.grad(3 * expected, parameters), strict=True):
        torch.testing.assert_close(one, other, rtol=1e-4, atol=1e-5)
    assert metrics.shape == (-(-TOKENS // size), 2)
    assert float(metrics[:, 0].sum()) == pytest.approx(float(expected.detach()), rel=1e-5)


def _whole(head, hidden, taken):
    return (nn.functional.cross_entropy(head(hidden), taken, reduction="none") ** 2).sum()
