import json
import os
import sys

import pytest
import torch

from selfplay.dialogue.language import loading
from selfplay.dialogue.language.attention import NAME
from selfplay.dialogue.language.loading import Lora, find, load_model
from selfplay.dialogue.language.model import FrozenReference, adapter_of
from selfplay.dialogue.language.writer import LocalWriter
from selfplay.errors import ConfigError
from selfplay.learner.sampling import Sampling
from tests.dialogue.language.models import converse, recomputed, sampled, tiny
from tests.support.fakes import LFS_POINTER
from tests.support.processes import finish

GREEDY = Sampling(0.0, 1.0, 8)


@pytest.fixture
def folder(tmp_path):
    tiny().save(tmp_path / "model")
    return tmp_path / "model"


def written(model):
    return [conversation.ids for conversation in converse(LocalWriter(model, GREEDY))[0]]


def trained(model, steps=5):
    """A few steps of learning anything, so that an adapter does something."""
    parameters = [parameter for parameter in model.module.parameters() if parameter.requires_grad]
    optimizer = torch.optim.Adam(parameters, 0.05)
    ids = torch.arange(1, 15)[None]
    where = torch.ones_like(ids, dtype=torch.bool)
    where[:, 0] = False
    for _ in range(steps):
        optimizer.zero_grad()
        torch.nn.functional.cross_entropy(model.logits(ids, where), ids[where]).backward()
        optimizer.step()
    return model


def test_a_saved_model_writes_the_same(folder):
    assert written(load_model(str(folder))) == written(tiny())


def test_a_folder_with_pickled_weights_is_refused_before_anything_is_read(folder, monkeypatch):
    (folder / "model.safetensors").rename(folder / "pytorch_model.bin")
    monkeypatch.setattr(loading, "AutoTokenizer", None)
    with pytest.raises(ConfigError, match=r"pytorch_model\.bin is of a format that can run code") as refused:
        load_model(str(folder))
    assert refused.value.exit_code == 2


def test_an_index_that_leads_to_a_pickle_runs_nothing(folder):
    (folder / "model.safetensors").rename(folder / "other.safetensors")
    torch.save({}, folder / "evil.bin")
    shards = {"metadata": {}, "weight_map": {"model.embed_tokens.weight": "evil.bin"}}
    (folder / "model.safetensors.index.json").write_text(json.dumps(shards))
    with pytest.raises(ConfigError, match=r"cannot be loaded|format"):
        load_model(str(folder))


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("./nowhere", "no such folder"),
        ("/nowhere/at/all", "no such folder"),
        ("a/b/c", "no such folder"),
        ("not a name", "nor a valid name|neither a folder"),
    ],
)
def test_what_is_not_there_is_one_line(name, why):
    with pytest.raises(ConfigError, match=why) as refused:
        load_model(name)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize(
    ("error", "why"),
    [
        ("GatedRepoError", "gated"),
        ("RepositoryNotFoundError", "neither a local folder nor a public model"),
        ("LocalEntryNotFoundError", "cannot be reached"),
        (None, "cannot be downloaded: the line is cut"),
    ],
)
def test_what_the_hub_answers_is_one_line(error, why, monkeypatch):
    import huggingface_hub
    from huggingface_hub import errors

    def fail(*_, **__):
        if error is None:
            raise OSError("the line\nis cut")
        kind = getattr(errors, error)
        raise kind.__new__(kind)

    monkeypatch.setattr(huggingface_hub, "snapshot_download", fail)
    with pytest.raises(ConfigError, match=f"model some/thing: .*{why}") as refused:
        load_model("some/thing")
    assert "\n" not in str(refused.value)


def test_what_the_hub_gives_is_opened_like_a_folder(folder, monkeypatch):
    import huggingface_hub

    asked = {}
    monkeypatch.setattr(
        huggingface_hub, "snapshot_download", lambda name, **how: asked.update({name: how}) or str(folder)
    )
    model = load_model("some/thing")
    assert written(model) == written(tiny())
    assert model.chat.tokenizer.name_or_path == "some/thing"
    assert not any(pattern.endswith((".py", ".bin", ".pt")) for pattern in asked["some/thing"]["allow_patterns"])


def test_code_of_others_is_never_run(folder, tmp_path):
    mark = tmp_path / "ran"
    config = json.loads((folder / "config.json").read_text())
    config |= {"model_type": "mine", "auto_map": {"AutoConfig": "mine.Mine", "AutoModelForCausalLM": "mine.Model"}}
    (folder / "config.json").write_text(json.dumps(config))
    (folder / "mine.py").write_text(f"open({str(mark)!r}, 'w')\n")
    with pytest.raises(ConfigError, match="cannot be loaded"):
        load_model(str(folder))
    assert not mark.exists()


@pytest.mark.parametrize("damage", ["config.json", "tokenizer.json", "model.safetensors"])
def test_a_damaged_folder_is_one_line(folder, damage):
    (folder / damage).write_bytes(b"{")
    with pytest.raises(ConfigError, match="cannot be loaded") as refused:
        load_model(str(folder))
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize("name", ["model.safetensors", "config.json", "tokenizer.json"])
def test_pointers_of_git_lfs_are_told(folder, name):
    (folder / name).write_bytes(LFS_POINTER)
    with pytest.raises(ConfigError, match=rf"{name} is a Git LFS pointer .* `git lfs pull`"):
        load_model(str(folder))


def test_a_folder_without_weights_is_one_line(folder):
    (folder / "model.safetensors").unlink()
    with pytest.raises(ConfigError, match="no weights there"):
        find(str(folder))


@pytest.fixture
def adapted(folder):
    return load_model(str(folder), lora=Lora(4, 8.0))


def test_a_fresh_adapter_changes_nothing_and_trains_alone(folder, adapted):
    assert written(adapted) == written(tiny())
    names = [name for name, parameter in adapted.module.named_parameters() if parameter.requires_grad]
    assert names
    assert all("lora_" in name for name in names)
    assert all(parameter.dtype == torch.float32 for parameter in adapted.module.parameters())


def test_an_adapter_is_saved_alone_and_loads_again(folder, adapted, tmp_path):
    trained(adapted)
    adapted.save(tmp_path / "adapter")
    assert {file.name for file in (tmp_path / "adapter").glob("*.safetensors")} == {"adapter_model.safetensors"}
    again = load_model(str(tmp_path / "adapter"))
    assert written(again) == written(adapted) != written(tiny())
    assert any(parameter.requires_grad for parameter in again.module.parameters())
    adapted.save_for_server(tmp_path / "served")
    assert {file.name for file in (tmp_path / "served").iterdir()} <= {
        "adapter_model.safetensors", "adapter_config.json", "README.md",
    }  # fmt: skip
    assert written(load_model(str(tmp_path / "served"))) == written(adapted)


def test_the_writer_and_the_learner_see_the_same_adapter(adapted):
    trained(adapted)
    for conversation in converse(LocalWriter(adapted, Sampling(max_new_tokens=8)))[0]:
        told = sampled(conversation.logprob, conversation.sampled)
        assert told == pytest.approx(recomputed(adapted, conversation, Sampling()), abs=1e-4)


@pytest.mark.parametrize("lora", [None, Lora(4, 8.0), Lora(2, 4.0, "q_proj,v_proj")])
def test_the_reference_stays_what_the_model_was(folder, lora):
    model = load_model(str(folder), lora=lora)
    ids = torch.arange(1, 12)[None]
    where = torch.ones_like(ids, dtype=torch.bool)
    where[:, 0] = False
    before = model.logits(ids, where).detach()
    reference = FrozenReference(model)
    trained(model)
    with reference.active() as frozen:
        assert torch.allclose(frozen.logits(ids, where), before, atol=1e-6)
    assert not torch.allclose(model.logits(ids, where), before, atol=1e-2)
    trained(model)  # it still learns


def test_the_reference_of_an_adapter_that_goes_on_is_that_adapter(adapted, tmp_path):
    """And not the model below it; nor, where the run is resumed, the adapter as it is by then."""
    ids = torch.arange(1, 12)[None]
    where = torch.ones_like(ids, dtype=torch.bool)
    where[:, 0] = False
    below = adapted.logits(ids, where).detach()
    trained(adapted).save(tmp_path / "first")
    model = load_model(str(tmp_path / "first"))
    before = model.logits(ids, where).detach()
    assert not torch.allclose(before, below, atol=1e-2)
    reference = FrozenReference(model)
    with reference.active() as frozen:
        assert torch.equal(frozen.logits(ids, where), before)
    trained(model).save(tmp_path / "second")
    with reference.active() as frozen:
        assert torch.equal(frozen.logits(ids, where), before)
    resumed = load_model(str(tmp_path / "second"))
    moving = {name for name, parameter in resumed.module.named_parameters() if parameter.requires_grad}
    now = resumed.logits(ids, where).detach()
    with FrozenReference(resumed, adapter_of(resumed, tmp_path / "first")).active() as frozen:
        assert torch.equal(frozen.logits(ids, where), before)
    assert torch.equal(resumed.logits(ids, where), now)
    assert {name for name, parameter in resumed.module.named_parameters() if parameter.requires_grad} == moving
    resumed.save(tmp_path / "third")
    files = [(tmp_path / name / "adapter_model.safetensors").read_bytes() for name in ("second", "third")]
    assert files[0] == files[1]


def test_adapters_with_pickles_or_without_a_base_are_refused(adapted, tmp_path):
    adapted.save(tmp_path / "adapter")
    weights = tmp_path / "adapter" / "adapter_model.safetensors"
    weights.rename(weights.with_name("adapter_model.bin"))
    with pytest.raises(ConfigError, match=r"adapter_model\.bin is of a format"):
        load_model(str(tmp_path / "adapter"))
    weights.with_name("adapter_model.bin").rename(weights)
    (tmp_path / "adapter" / "adapter_config.json").write_text('{"peft_type": "LORA"}')
    with pytest.raises(ConfigError, match="which model the adapter belongs to"):
        load_model(str(tmp_path / "adapter"))


def test_bfloat16_is_for_forward_passes_alone(folder):
    model = load_model(str(folder), bf16=True)
    assert all(parameter.dtype == torch.float32 for parameter in model.module.parameters())
    for conversation in converse(LocalWriter(model, Sampling(max_new_tokens=8)))[0]:
        told = sampled(conversation.logprob, conversation.sampled)
        assert told == pytest.approx(recomputed(model, conversation, Sampling()), abs=0.2)
    ids = torch.arange(1, 12)[None]
    assert model.logits(ids, torch.arange(11)[None] > 0).dtype == torch.bfloat16


def changed(place, **values):
    place.write_text(json.dumps(json.loads(place.read_text()) | values))


@pytest.mark.parametrize(
    ("values", "why"),
    [
        ({"vocab_size": 10**12}, r"is of \d+ parameters, but the weights are \d+"),
        ({"num_hidden_layers": 10**9}, "num_hidden_layers is 1000000000, at most 4096 are built"),
        ({"text_config": {"num_experts": 10**9}}, "num_experts is 1000000000"),
        ({"blocks": [1, {"layers": [[10**9]]}]}, "layers is 1000000000"),
        ({"model_type": "evil", "auto_map": {"AutoModelForCausalLM": "evil.Model"}}, "cannot be loaded"),
    ],
)
def test_a_configuration_builds_no_more_than_its_weights_bear_out(folder, values, why):
    (folder / "evil.py").write_text("raise SystemExit('this ran')")
    changed(folder / "config.json", **values)
    with pytest.raises(ConfigError, match=why):
        load_model(str(folder))


@pytest.mark.parametrize(
    "kinds",
    [[[["global"], 10**10]], [[[], 10**10]], [[["global"] * 100, 4000]], [[["local"], 3000]] * 2, ["global", 10**10]],
)
def test_kinds_of_attention_are_not_spelled_out_without_end(tmp_path, kinds):
    (tmp_path / "model.safetensors").write_bytes(b"x")
    (tmp_path / "config.json").write_text(json.dumps({"model_type": "gpt_neo", "attention_types": kinds}))
    with pytest.raises(ConfigError, match=r"attention_types is .*, at most 4096 are built"):
        find(str(tmp_path))
    changed(tmp_path / "config.json", attention_types=[[["global", "local"], 12]])
    assert find(str(tmp_path)) == tmp_path


def test_a_width_is_no_number_of_parts(folder):
    changed(folder / "config.json", shared_expert_intermediate_size=5632, block_size=8192, expert_dim=8192)
    assert written(load_model(str(folder))) == written(tiny())


@pytest.mark.parametrize("attention", ["flash_attention_2", "owner/kernel", "nothing"])
def test_the_attention_that_a_file_names_is_not_asked_for(folder, attention, monkeypatch):
    from transformers.integrations import hub_kernels

    monkeypatch.setattr(hub_kernels, "get_kernel", lambda *_, **__: pytest.fail("asked for a kernel"))
    changed(folder / "config.json", attn_implementation=attention)
    model = load_model(str(folder))
    assert model.config._attn_implementation == NAME
    assert written(model) == written(tiny())


def test_links_to_what_was_pruned_are_no_matter_where_nothing_reads_them(folder):
    (folder / "pytorch_model.bin").symlink_to("nowhere")
    assert written(load_model(str(folder))) == written(tiny())
    (folder / "other.json").symlink_to("nowhere")
    with pytest.raises(ConfigError, match=r"other\.json is no plain file"):
        find(str(folder))


def test_a_pipe_or_nested_json_in_a_folder_is_refused(folder):
    (folder / "config.json").write_text("[" * 100_000)
    with pytest.raises(ConfigError, match="cannot be loaded"):
        load_model(str(folder))
    (folder / "config.json").write_text('{"rms_norm_eps": NaN}')
    with pytest.raises(ConfigError, match="NaN is no value of a setting"):
        load_model(str(folder))
    (folder / "config.json").unlink()
    os.mkfifo(folder / "config.json")
    with pytest.raises(ConfigError, match=r"config\.json is no plain file"):
        load_model(str(folder))


@pytest.mark.parametrize(
    ("values", "why"),
    [
        ({"megatron_config": {"a": 1}, "megatron_core": "evil"}, "megatron_config would import modules"),
        ({"auto_mapping": {"parent_library": "evil", "base_model_class": "x"}}, "auto_mapping would import modules"),
        ({"peft_type": "XLORA"}, "peft_type is 'XLORA'"),
        ({"r": 10**12}, "r is 1000000000000: .* less than or equal to 4096"),
        ({"base_model_name_or_path": 5}, "which model the adapter belongs to"),
    ],
)
def test_an_adapter_imports_nothing_that_its_file_names(adapted, tmp_path, values, why):
    adapted.save(tmp_path / "adapter")
    changed(tmp_path / "adapter" / "adapter_config.json", **values)
    with pytest.raises(ConfigError, match=why):
        load_model(str(tmp_path / "adapter"))


REGEX = "(([a-z_0-9.])+)+X"


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("rank_pattern", {"q_proj": 20_000_000}),
        ("rank_pattern", {"q_proj": True}),
        ("rank_pattern", {REGEX: 8}),
        ("rank_pattern", ["q_proj"]),
        ("alpha_pattern", {REGEX: 8}),
        ("alpha_pattern", {"q_proj": 1e9}),
        ("target_modules", REGEX),
        ("target_modules", ["q_proj", REGEX]),
        ("target_modules", ["q_proj", 5]),
        ("exclude_modules", REGEX),
        ("modules_to_save", [REGEX]),
        ("layers_pattern", REGEX),
        ("layer_replication", [[0, 1]] * 5000),
        ("monteclora_config", {"buffer_size": 10**9}),
        ("init_lora_weights", "pissa_niter_100000000"),
        ("init_lora_weights", 1),
    ],
)
def test_an_adapter_that_would_take_forever_is_refused_with_its_field(tmp_path, field, value):
    good = {"peft_type": "LORA", "r": 8, "target_modules": ["q_proj"], "base_model_name_or_path": "x"}
    (tmp_path / "adapter_model.safetensors").write_bytes(b"x")
    (tmp_path / "adapter_config.json").write_text(json.dumps(good))
    assert find(str(tmp_path)) == tmp_path
    changed(tmp_path / "adapter_config.json", **{field: value})
    with pytest.raises(ConfigError, match=rf"adapter_config\.json: {field} ") as refused:
        find(str(tmp_path))
    assert len(str(refused.value)) < len(str(tmp_path)) + 250


@pytest.mark.parametrize(
    ("field", "value", "valid"),
    [("target_modules", "q_proj|v_proj", "all-linear"), ("init_lora_weights", "pissa", "gaussian")],
)
def test_a_refused_field_of_an_adapter_names_every_kind_of_valid_value(tmp_path, field, value, valid):
    document = {"peft_type": "LORA", "base_model_name_or_path": "x", field: value}
    (tmp_path / "adapter_model.safetensors").write_bytes(b"x")
    (tmp_path / "adapter_config.json").write_text(json.dumps(document))
    with pytest.raises(ConfigError, match=rf"{field} is '.*': Input should be a .* or Input .* '{valid}'"):
        find(str(tmp_path))


@pytest.mark.full
def test_a_model_without_an_adapter_does_not_load_peft(folder):
    program = f"import sys; from selfplay.dialogue.language.loading import load_model; load_model({str(folder)!r}); "
    program += "sys.exit('peft' in sys.modules)"
    assert finish([sys.executable, "-c", program]).returncode == 0


def test_an_adapter_may_have_ranks_of_its_own(adapted, tmp_path):
    adapted.save(tmp_path / "adapter")
    place = tmp_path / "adapter" / "adapter_config.json"
    changed(place, rank_pattern={"layers.0.self_attn.q_proj": 4}, alpha_pattern={"q_proj": 8.0})
    changed(place, target_modules="all-linear", init_lora_weights="gaussian")
    assert written(load_model(str(tmp_path / "adapter"))) == written(adapted)
