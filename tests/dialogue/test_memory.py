import re
import sys
from dataclasses import replace

import pytest

pytest.importorskip("transformers", reason="needs the extra: pip install -e '.[dialogue]'")

import torch
import transformers as hf

from selfplay.dialogue import memory
from selfplay.dialogue.cli.flags import parse
from selfplay.dialogue.language.footprint import Footprint
from selfplay.dialogue.memory import Choice, Talk, fit, fitting, need_on_device, server_share
from selfplay.dialogue.program import resolve_dialogue
from selfplay.dialogue.settings import DialogueConfig
from selfplay.errors import ConfigError
from selfplay.memory_limits import GB, Available
from tests.dialogue.families import untaught
from tests.support.processes import finish

MB = 1 << 20
MEASURED = """
import resource, sys
from selfplay.__main__ import main
assert main() == 0
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, file=sys.stderr)
"""
TALK = Talk(tokens=60, shared=0, share=0.3, longest=80, reply=24, game=100_000)
WIDTHS = {
    "vocab_size": 2000, "hidden_size": 256, "intermediate_size": 1024, "num_attention_heads": 4,
    "num_key_value_heads": 2, "tie_word_embeddings": True,
}  # fmt: skip


def resolved(monkeypatch, *arguments, there=16 * GB):
    monkeypatch.setattr(memory, "available_memory", lambda: Available(there, "this container"))
    monkeypatch.setattr(memory, "resident_memory", lambda: 0)
    invocation = parse(list(arguments))
    return fitting(resolve_dialogue(invocation.config, invocation.explicit), "cpu")


def measured(layers=4, lora=None, **options):
    return Footprint(
        hf.Qwen2Config(**WIDTHS, num_hidden_layers=layers), lora, **{"light": False, "bf16": False, **options}
    )


def config(**groups):
    return DialogueConfig.model_validate({"model": {"name": "some/model"}, **groups})


@pytest.mark.parametrize("game", ["kuhn_text", "matching"])
def test_too_many_games_are_refused_with_a_number_that_fits(monkeypatch, game):
    with pytest.raises(ConfigError) as caught:
        resolved(monkeypatch, "--game-type", game, "--num-games", "1e7")
    message = str(caught.value)
    assert message.startswith("the run needs at least ")
    games = re.search(r"lower --num-games 10000000 to (\d+)$", message)[1]
    assert caught.value.exit_code == 2
    resolved(monkeypatch, "--game-type", game, "--num-games", games)


@pytest.mark.parametrize("game", ["kuhn_text", "matching"])
def test_usual_runs_pass_and_get_the_settings_that_were_chosen(monkeypatch, game):
    chosen, need = resolved(monkeypatch, "--game-type", game, there=2 * GB)
    assert (chosen.grpo.micro_tokens, chosen.grpo.checkpointing) == (2048, False)
    assert need.total < 2 * GB
    assert f"{need}".startswith("about ")


def test_activations_shrink_as_far_as_necessary(monkeypatch):
    found, given = measured(), config(grpo={"batch_rows": 4096})
    at_most = need_on_device(given, found, TALK, Choice(2048, checkpointing=False), "cpu").total
    chosen = [fit(given, found, TALK, "cpu", there, "here", resumed=False) for there in (at_most, at_most - 1)]
    assert [(one.grpo.checkpointing, one.grpo.micro_tokens) for one, _ in chosen] == [(False, 2048), (True, 2048)]
    little = need_on_device(given, found, TALK, Choice(300, checkpointing=True), "cpu").total
    less, need = fit(given, found, TALK, "cpu", little, "here", resumed=False)
    assert need.total <= little
    assert less.grpo.micro_tokens < 512


def test_a_run_that_cannot_fit_is_told_what_to_set():
    found, given = measured(layers=40), config(grpo={"kl": 0.0}, run={"num_games": 8})
    with pytest.raises(ConfigError, match=r"here has .* for it \(.*\): train an adapter, --lora-rank 16$"):
        fit(given, found, TALK, "cpu", 2000 * MB, "here", resumed=False)
    there = need_on_device(given, found, TALK, Choice(256, checkpointing=True), "cpu").total
    with pytest.raises(ConfigError, match=r"set --kl 0, which needs no reference$"):
        fit(config(run={"num_games": 8}), found, TALK, "cpu", there, "here", resumed=False)
    with pytest.raises(ConfigError, match=r"choose a smaller model$"):
        fit(given, found, TALK, "cpu", 650 * MB, "here", resumed=False)
    with pytest.raises(ConfigError, match=r"resume it where there is more$"):
        fit(given, found, TALK, "cpu", 650 * MB, "here", resumed=True)


def test_opponents_are_frozen_models_in_memory():
    found, choice = measured(), Choice(2048, checkpointing=False)
    mixed = {"mode": "simple_mix", "max_frozen": 3}
    leagues = ({}, {"mode": "opponents", "opponents": ("http://127.0.0.1:9",)}, mixed)
    needs = [need_on_device(config(league=league), found, TALK, choice, "cpu") for league in leagues]
    assert [need.opponents for need in needs] == [0, 0, 3 * found.weights]
    assert needs[2].total - needs[0].total == 3 * found.weights
    there = need_on_device(
        config(league={**mixed, "max_frozen": 1}, grpo={"kl": 0.0}), found, TALK, Choice(256, checkpointing=True), "cpu"
    ).total
    with pytest.raises(ConfigError, match=r"set --set league.max_frozen=1, for fewer opponents at a time$"):
        fit(config(league=mixed, grpo={"kl": 0.0}), found, TALK, "cpu", there, "here", resumed=False)


def test_a_step_counts_gradients_and_activations():
    found = measured()
    one, two = (found.step(False, rows, 64, 0, 0.3) for rows in (16, 32))
    light = found.step(True, 32, 64, 0, 0.3)
    assert two - one > 0.8 * (one - 4 * found.trained)
    assert 4 * found.trained < light < 0.6 * two


def test_the_server_on_the_device_of_the_learner_needs_a_share():
    def share(arguments, **server):
        return server_share(config(server={"program": "vllm", "arguments": arguments, **server}))

    assert share("") is None
    assert share("", memory_share=0.4) == 0.4
    assert share("--gpu-memory-utilization 0.3 --tp 2") == share("--gpu-memory-utilization=0.3") == 0.3


def test_a_server_without_a_share_is_refused(monkeypatch):
    monkeypatch.setattr(torch.cuda, "mem_get_info", lambda _: (70 * GB, 80 * GB))
    monkeypatch.setattr(memory, "open_tokenizer", lambda _: None)
    monkeypatch.setattr(memory, "config_of", lambda _: (hf.Qwen2Config(**WIDTHS, num_hidden_layers=2), None))
    monkeypatch.setattr(memory, "_talk", lambda *_: replace(TALK))
    monkeypatch.setattr(memory, "Chat", lambda *_: None)
    monkeypatch.setattr(memory, "_ends", lambda _: frozenset())
    with pytest.raises(ConfigError, match=r"--server vllm and the learner are on cuda:0: .*server\.memory_share=0\.8"):
        fitting(config(server={"program": "vllm"}), "cuda:0")
    fitting(config(server={"program": "vllm", "memory_share": 0.5}), "cuda:0")
    with pytest.raises(ConfigError, match=r"cuda:0 has \d+ MB for it"):
        fitting(config(server={"program": "vllm", "memory_share": 0.995}), "cuda:0")


SIZES = {
    "small": ({"hidden_size": 256, "intermediate_size": 1024, "num_hidden_layers": 6}, ()),
    "wide": (
        {"hidden_size": 512, "intermediate_size": 2048, "num_hidden_layers": 6}, ("--set", "grpo.checkpointing=true")
    ),
    "adapter": ({"hidden_size": 512, "intermediate_size": 2048, "num_hidden_layers": 12}, ("--lora-rank", "16")),
}  # fmt: skip


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.parametrize("size", SIZES)
def test_the_estimate_is_near_the_peak(size, tmp_path):
    widths, flags = SIZES[size]
    untaught("qwen2", "kuhn_text", tmp_path / "model", widths)
    arguments = [
        "train", "--game-type", "kuhn_text", "--model", str(tmp_path / "model"), "--games", "32", "--num-games", "32",
        "--baseline", "role-ema", "--max-new-tokens", "8", "--evaluation-states", "0", "--device", "cpu",
        "--checkpoint", str(tmp_path / "run"), *flags,
    ]  # fmt: skip
    told = finish([sys.executable, "-c", MEASURED, *arguments], check=True, limit_s=900).stderr
    log = (tmp_path / "run" / "log.txt").read_text()
    amount, unit = re.search(r"Memory\W+about ([\d.]+) (MB|GB)", log).groups()
    estimate = float(amount) * (GB if unit == "GB" else MB)
    peak = int(told.split()[-1]) * 1024
    assert estimate / peak == pytest.approx(1, abs=0.15), f"{estimate / MB:.0f} MB, and it took {peak / MB:.0f} MB"
