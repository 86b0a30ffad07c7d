import json

import pytest

from selfplay.checkpoint import RunDir, load_latest_learner
from selfplay.dialogue.players import load_model
from selfplay.errors import ConfigError, ServerError
from tests.dialogue.language.stub_server import SGLANG, TEXT, Stub
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


def test_where_a_server_gives_no_probabilities_the_model_scores_and_the_run_says_so(kuhn_start, guess, tmp_path):
    with Stub(TEXT, guess, logprobs=False) as stub:
        code, shown = run(tmp_path / "run", kuhn_start, "--server-url", stub.url, FROZEN, "--games", 32, "--kl", 0)
    assert code == 0
    assert "the server gives no log-probabilities" in shown.lower()
    assert "the ratio to the server is not measured" in shown
    rows = (tmp_path / "run" / "metrics.jsonl").read_text()
    assert "losses/kl" in rows
    assert "losses/drift" not in rows
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


def test_training_on_replies_of_another_model_must_be_meant(kuhn_start, tmp_path):
    with pytest.raises(ConfigError, match=r"never gets the trained weights.*--server-frozen") as refused:
        run(tmp_path / "run", kuhn_start, "--server-url", "http://127.0.0.1:9", "--games", 32)
    assert refused.value.exit_code == 2
    assert not (tmp_path / "run").exists()


def test_a_server_that_is_not_there_leaves_no_run(kuhn_start, tmp_path):
    with pytest.raises(ConfigError, match=r"--server-url http://127\.0\.0\.1:9"):
        run(tmp_path / "run", kuhn_start, "--server-url", "http://127.0.0.1:9", FROZEN, "--games", 32)
    assert not (tmp_path / "run").exists()
