import torch

from scripts.studies.bench.latency import latencies
from selfplay.policy.network import KINDS, ActorCritic


def test_every_backbone_is_measured_on_one_thread_with_a_full_memory(monkeypatch):
    seen = []
    step = ActorCritic.step

    def spy(network, obs, memory):
        result = step(network, obs, memory)
        seen.append((network.spec.kind, torch.get_num_threads(), len(obs), memory))
        return result

    monkeypatch.setattr(ActorCritic, "step", spy)
    threads = torch.get_num_threads()
    figures = latencies(5)
    assert list(figures) == [f"latency_{kind}_ms" for kind in KINDS]
    assert all(0 < value < 10_000 for value in figures.values())
    assert torch.get_num_threads() == threads
    assert {(used, rows) for _, used, rows, _ in seen} == {(1, 1)}
    measured = [memory for kind, _, _, memory in seen if kind == "attention"][-5:]
    assert all((memory.view(59, -1)[:, -1] == 1).all() for memory in measured)
