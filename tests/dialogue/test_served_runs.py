import json
import math
from dataclasses import replace

import pytest

from selfplay.checkpoint import RunDir, load_latest_learner
from selfplay.dialogue.language.routes import SGLANG as SGLANG_ROUTES
from selfplay.dialogue.language.routes import VLLM as VLLM_ROUTES
from selfplay.dialogue.players import load_model
from selfplay.errors import ConfigError, ServerError
from tests.dialogue.families import hybrid
from tests.dialogue.language.stub_server import SGLANG, TEXT, VLLM, Stub
from tests.dialogue.language.taught import passes_or_bets
from tests.dialogue.test_app import run
from tests.run.ends import standing

pytestmark = pytest.mark.blocking("a writer has an event loop of its own, on which nobody else waits")
FROZEN = "--server-frozen"
SERVED = ("--set", "server.retries=0", "--set", "server.failures=4")


@pytest.fixture
def guess(kuhn_start):
    return passes_or_bets(load_model(str(kuhn_start)).chat)


def losses(folder, name):
    return [json.loads(line)[f"losses/{name}"] for line in (folder / "metrics.jsonl").read_text().splitlines()]


def test_games_are_written_by_a_server_and_learned_from(kuhn_start, guess, tmp_path):
    with Stub(SGLANG, guess) as stub:
        code, shown = run(tmp_path / "run", kuhn_start, "--server-url", stub.url, FROZEN, "--games", 64, "--kl", 0)
        assert code == 0
        assert len(stub.bodies) > 64
    assert "Iter 2/2: 32 games" in shown
    assert max(losses(tmp_path / "run", "drift")) > 1e-4  # its probabilities are not ours, and the run says how far
    assert 0.0 < max(losses(tmp_path / "run", "importance")) <= 2.0  # and is weighed for it, up to the limit


@pytest.mark.parametrize("flags", [(), ("--lora-rank", 2)], ids=["whole", "adapter"])
def test_a_model_that_only_a_server_can_write_with_is_trained_by_scoring(flags, tmp_path):
    model = hybrid("kuhn_text", tmp_path / "model")
    words = load_model(str(model), plays=False).chat
    options = (FROZEN, "--games", 64, "--learning-rate", 1e-3, "--max-new-tokens", 12, *flags)
    with Stub(SGLANG, passes_or_bets(words)) as stub:
        code, shown = run(tmp_path / "run", model, "--server-url", stub.url, *options)
        with pytest.raises(ConfigError, match="models of the type lfm2 cannot be played here"):
            run(tmp_path / "met", model, "--server-url", stub.url, *options, "--mode", "simple_mix")
    assert not (tmp_path / "met").exists()
    assert code == 0
    assert "No evaluation on held-out states: models of the type lfm2 cannot be played here" in shown
    assert min(losses(tmp_path / "run", "steps")) > 0
    assert losses(tmp_path / "run", "kl")[-1] > 0
    with pytest.raises(ConfigError, match="models of the type lfm2 cannot be played here"):
        run(tmp_path / "local", model, "--games", 32)
    assert not (tmp_path / "local").exists()


def test_a_frozen_server_whose_model_is_left_behind_is_a_finding(kuhn_start, guess, tmp_path):
    def fair(asked):
        """Replies with their probabilities: the first token is one of two, and the others follow from it."""
        reply = guess(asked)
        return replace(reply, logprob=[math.log(0.5), *(0.0 for _ in reply.ids[1:])])

    options = (FROZEN, "--games", 160, "--kl", 0, "--learning-rate", 3e-2)
    with Stub(SGLANG, fair) as stub:
        code, shown = run(tmp_path / "run", kuhn_start, "--server-url", stub.url, *options)
    assert code == 0
    assert losses(tmp_path / "run", "sampler_kl")[-1] > 0.1
    findings = json.loads((tmp_path / "run" / "summary.json").read_text())["health"]
    (text,) = [finding["text"] for finding in findings if finding["name"] == "other_weights"]
    assert "leave out --server-frozen" in text
    assert "Health: The server samples with other weights" in shown


def test_where_a_server_gives_no_probabilities_the_model_scores_and_the_run_says_so(kuhn_start, guess, tmp_path):
    with Stub(TEXT, guess, logprobs=False) as stub:
        code, shown = run(tmp_path / "run", kuhn_start, "--server-url", stub.url, FROZEN, "--games", 32, "--kl", 0)
    assert code == 0
    assert "the server gives no log-probabilities" in shown.lower()
    assert "the ratio to the server is not measured" in shown
    rows = (tmp_path / "run" / "metrics.jsonl").read_text()
    assert "losses/kl" in rows
    assert "losses/drift" not in rows
    assert "losses/sampler_kl" not in rows
    assert "losses/importance" not in rows


def test_a_server_that_dies_ends_the_run_with_its_first_cause_and_a_checkpoint(kuhn_start, guess, tmp_path):
    with (
        Stub(SGLANG, guess, ruin=lambda number: "garbage" if number >= 100 else None) as stub,
        pytest.raises(ServerError) as error,
    ):
        run(tmp_path / "run", kuhn_start, "--server-url", stub.url, FROZEN, *SERVED, "--games", 3200, "--kl", 0)
    assert error.value.exit_code == 1
    assert "JSON" in str(error.value)
    state = load_latest_learner(RunDir(tmp_path / "run"))
    assert state.meta.iteration >= 1
    assert not json.loads((tmp_path / "run" / "summary.json").read_text())["finished"]
    assert standing(tmp_path / "run").ended == f"failed: {error.value}"


@pytest.mark.parametrize(("limit", "tokens", "sees"), [(None, 512, 512), (99, 99, 99)])
def test_a_context_without_room_for_a_prompt_and_a_reply_leaves_no_run(
    kuhn_start, guess, tmp_path, limit, tokens, sees
):
    with (
        Stub(TEXT, guess, limit=limit) as stub,
        pytest.raises(ConfigError, match=rf"needs \d+ \+ {tokens} tokens .* sees {sees};") as refused,
    ):
        run(tmp_path / "run", kuhn_start, "--server-url", stub.url, FROZEN, "--max-new-tokens", tokens)
    assert refused.value.exit_code == 2
    assert not (tmp_path / "run").exists()


LORA = ("--lora-rank", 4, "--learning-rate", 1e-2)


@pytest.mark.parametrize(("kind", "lora"), [(SGLANG, LORA), (VLLM, LORA), (SGLANG, ())])
def test_a_server_of_a_url_gets_the_weights_of_each_iteration(kind, lora, kuhn_start, guess, tmp_path):
    folder = tmp_path / "run"
    with Stub(kind, guess, rank=8) as stub:
        code, shown = run(folder, kuhn_start, "--server-url", stub.url, *lora, "--games", 96, "--kl", 0)
        assert code == 0, shown
        calls, asked = stub.weights.calls, stub.bodies
    routes = SGLANG_ROUTES if kind == SGLANG else VLLM_ROUTES
    loads = [body for path, body in calls if path == (routes.load if lora else routes.whole)][not lora :]
    assert len(loads) == 4  # before the first iteration, and after each of three
    left = [path.name for path in (folder / "serving").iterdir()]
    if not lora:
        assert {body["model_path"] for body in loads} == {str(folder / "serving" / "model")}
        assert left == ["model"]
        return
    names = [body["lora_name"] for body in loads]
    assert [body["lora_path"] for body in loads] == [str(folder / "serving" / name) for name in names]
    dropped = [body["lora_name"] for path, body in calls if path == routes.unload]
    assert dropped[1:] == names[:-1]  # the first one asked whether there is such a route
    assert left == names[-1:]
    assert sorted({body["lora_path" if kind == SGLANG else "model"] for body in asked}) == sorted(names[:-1])


def test_an_adapter_that_a_server_lost_with_a_restart_is_sent_again(kuhn_start, guess, tmp_path):
    ruined = []

    def loaded():
        return [body["lora_name"] for path, body in stub.weights.calls if path == VLLM_ROUTES.load]

    def ruin(number):
        if len(loaded()) == 2 and not ruined:  # the first reply after the first update
            ruined.append(number)
            stub.weights.adapters.clear()

    with Stub(VLLM, guess, ruin, rank=8) as stub:
        code, shown = run(tmp_path / "run", kuhn_start, "--server-url", stub.url, *LORA, "--games", 64, "--kl", 0)
        loads = loaded()
    assert ruined
    assert code == 0, shown
    assert "games were lost" not in shown
    assert len(loads) > len({*loads}) == 3


FLAGS = "started with VLLM_ALLOW_RUNTIME_LORA_UPDATING=1 --enable-lora --max-lora-rank 8"


@pytest.mark.parametrize(
    ("kind", "follows", "lora", "line"),
    [
        (SGLANG, True, LORA, r"LoRA is not enabled.*started with --enable-lora --max-lora-rank 4 --lora-target"),
        (SGLANG, False, LORA, r"HTTP 404 for /unload_lora_adapter\).*started with --enable-lora"),
        (SGLANG, False, (), r"does not take the weights \(HTTP 404 for /update_weights_from_disk\); --server-frozen"),
        (VLLM, False, LORA, rf"HTTP 404 for /v1/unload_lora_adapter\).*{FLAGS}"),
        (TEXT, False, LORA, rf"HTTP 404 for /v1/unload_lora_adapter\).*{FLAGS}"),
        (VLLM, True, (), r"vLLM reads a whole model only from the folder.*--server vllm.*--lora-rank.*--server-frozen"),
    ],
)
def test_a_server_that_takes_no_weights_leaves_no_run_and_says_what_to_set(
    kind, follows, lora, line, kuhn_start, guess, tmp_path
):
    with Stub(kind, guess, follows=follows) as stub, pytest.raises(ConfigError, match=line) as refused:
        run(tmp_path / "run", kuhn_start, "--server-url", stub.url, *lora, "--games", 32)
    assert refused.value.exit_code == 2
    assert "\n" not in str(refused.value)
    assert not (tmp_path / "run").exists()


def test_a_server_whose_routes_for_weights_need_another_key_leaves_no_run(kuhn_start, guess, tmp_path):
    with Stub(SGLANG, guess, rank=8) as stub:
        stub.weights.locked = True
        with pytest.raises(ConfigError, match=r"HTTP 401 for /unload_lora_adapter: Unauthorized"):
            run(tmp_path / "run", kuhn_start, "--server-url", stub.url, *LORA, "--games", 32)
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize("rank", [0, 2])
def test_an_adapter_that_is_refused_before_the_first_game_ends_the_run(rank, kuhn_start, guess, tmp_path):
    with Stub(VLLM, guess, rank=rank) as stub, pytest.raises(ServerError, match=FLAGS) as refused:
        run(tmp_path / "run", kuhn_start, "--server-url", stub.url, *LORA, "--games", 32)
    assert "max_lora_rank 2" in str(refused.value) or "LoRA is not enabled" in str(refused.value)
    assert refused.value.exit_code == 1
    assert len(stub.bodies) == 0


def test_a_server_that_is_not_there_leaves_no_run(kuhn_start, tmp_path):
    with pytest.raises(ConfigError, match=r"--server-url http://127\.0\.0\.1:9"):
        run(tmp_path / "run", kuhn_start, "--server-url", "http://127.0.0.1:9", FROZEN, "--games", 32)
    assert not (tmp_path / "run").exists()
