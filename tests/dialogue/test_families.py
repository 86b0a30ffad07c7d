"""Runs of real architectures: 20 iterations of 32 games, killed and resumed, whole or with an adapter."""

import json
import signal
import sys
from itertools import islice

import pytest
import torch

from selfplay.dialogue.language.conversation import Reply
from selfplay.dialogue.models import weights_of
from tests.dialogue.families import FAMILIES, taught, untaught
from tests.dialogue.language.stub_server import SGLANG, Stub
from tests.dialogue.test_app import resume, run
from tests.support.processes import LIMIT_S, Process

pytestmark = [
    pytest.mark.slow,
    pytest.mark.timeout(1800),
    pytest.mark.blocking("a writer has an event loop of its own, on which nobody else waits"),
]
ITERATIONS, GAMES = 20, 32
REPLY = 12
LONG = (
    "--games", ITERATIONS * GAMES, "--max-new-tokens", REPLY, "--learning-rate", 1e-3, "--error-penalty", 0,
)  # fmt: skip
LORA = ("--lora-rank", 4)
FAULTS = ("500", "die", "garbage", "list", "429", lambda answer: {**answer, "text": "\ud800"})
EVERY = 9  # requests between two faults


@pytest.fixture(scope="module", params=FAMILIES)
def family(request, tmp_path_factory):
    """A name, its taught model and the folder of it."""
    folder = tmp_path_factory.mktemp(request.param) / "model"
    return request.param, taught(request.param, folder), folder


def answers(model):
    """Replies of a model that is not trained, as a server gives them."""
    luck = torch.Generator().manual_seed(0)

    @torch.no_grad()
    def answer(ids):
        ids, reply, logprobs = list(ids), [], []
        while len(reply) < REPLY and (not reply or reply[-1] not in model.chat.ends):
            logits = model.logits(torch.tensor([[*ids, *reply, 0]]), _last(len(ids) + len(reply)))
            known = logits[0, : model.chat.size].log_softmax(-1)
            reply.append(int(torch.multinomial(known.exp(), 1, generator=luck)))
            logprobs.append(float(known[reply[-1]]))
        return Reply(model.chat.text_of([reply])[0], reply, logprobs, ended=reply[-1] in model.chat.ends)

    return answer


def _last(place):
    where = torch.zeros(1, place + 1, dtype=torch.bool)
    where[0, place] = True
    return where


def ruin(number):
    return FAULTS[number // EVERY % len(FAULTS)] if number % EVERY == 0 else None


def kill_after(iterations, folder, model, *arguments):
    """A run in a process that is killed after some iterations."""
    command = [
        sys.executable, "scripts/train_self_play.py", "--game-type", "kuhn_text", "--model", model,
        "--checkpoint", folder, "--num-games", GAMES, "--save-interval", 2, "--evaluation-states", 8,
        "--set", "run.threads=1", "--runners", 2, *arguments,
    ]  # fmt: skip
    with Process(list(map(str, command)), stdout=-1, stderr=-2) as process:
        shown = list(islice((line for line in process.stdout if "Iter " in line), iterations))
        process.send_signal(signal.SIGKILL)
        assert process.wait(LIMIT_S) == -signal.SIGKILL
    assert len(shown) == iterations


def looked_at(folder):
    """The summary and the metrics of a run that has played all iterations."""
    summary = json.loads((folder / "summary.json").read_text())
    rows = [json.loads(line) for line in (folder / "metrics.jsonl").read_text().splitlines()]
    assert [row["iteration"] for row in rows] == list(range(1, ITERATIONS + 1))
    assert summary["finished"]
    return summary, rows


def assert_learned(folder):
    """Updates have changed the weights, and probabilities of sampler and learner agree."""
    summary, rows = looked_at(folder)
    assert sum(row["losses/steps"] - row["losses/skipped"] for row in rows) >= ITERATIONS / 2
    first, *_, last = sorted((folder / "generations").iterdir(), key=lambda path: int(path.name.removeprefix("gen_")))
    assert weights_of(first) != weights_of(last)
    assert summary["lost"] == 0
    return rows


@pytest.mark.parametrize("adapter", [(), LORA], ids=["whole", "lora"])
def test_a_model_learns_and_goes_on_after_a_kill(family, adapter, tmp_path):
    name, _, model = family
    kill_after(5, tmp_path / "run", model, *LONG, *adapter, *FAMILIES[name][2])
    assert resume(tmp_path / "run")[0] == 0
    assert all(row["losses/drift"] < 1e-3 for row in assert_learned(tmp_path / "run"))


@pytest.mark.parametrize("adapter", [(), LORA], ids=["whole", "lora"])
def test_it_learns_from_a_server_with_faults(family, adapter, tmp_path):
    name, model, folder = family
    with Stub(SGLANG, answers(model), ruin=ruin) as stub:
        served = ("--server-url", stub.url, "--server-frozen")
        kill_after(5, tmp_path / "run", folder, *LONG, *adapter, *FAMILIES[name][2], *served)
        assert resume(tmp_path / "run", *served)[0] == 0
    assert all(0 < row["losses/importance"] <= 2 for row in assert_learned(tmp_path / "run"))


@pytest.mark.parametrize("name", FAMILIES)
def test_a_run_in_which_nothing_can_be_learned_says_so(name, tmp_path):
    untaught(name, "matching", tmp_path / "model")
    size = ("--game-size", 2, "--max-turns", 2, "--retries", 0)
    code, shown = run(tmp_path / "run", tmp_path / "model", *LONG, *FAMILIES[name][2], *size, game="matching")
    assert code == 0
    summary, _ = looked_at(tmp_path / "run")
    assert any("Nothing is learned" in finding["text"] for finding in summary["health"])
    assert "No game reaches a result" in shown
