import pytest
import torch

from selfplay.dialogue import players, programs
from selfplay.dialogue.cli.flags import parse
from selfplay.dialogue.language.loading import Lora, load_model
from selfplay.dialogue.language.remote import RemoteWriter
from selfplay.dialogue.language.writer import LocalWriter
from selfplay.dialogue.players import endpoint_of, server_of, writer_of
from selfplay.dialogue.settings import DialogueConfig
from selfplay.errors import ConfigError
from tests.dialogue.language.stub_server import SGLANG, Stub
from tests.dialogue.language.taught import taught_model

URL = "http://127.0.0.1:30000"


def config(**server):
    return DialogueConfig.model_validate({"model": {"name": "a/model"}, "server": server})


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (["--model", "a/b", "--server-url", URL, "--server", "vllm"], "--server-url and --server exclude each other"),
        (["--server-url", URL], "--server-url needs --model NAME or FOLDER: `tiny` is made here"),
        (["--server", "sglang"], "--server needs --model NAME or FOLDER: `tiny` is made here"),
        (["--server-args=--tp 2"], "--server-args and server.memory_share are of a program that --server starts"),
        (["--model", "a/b", "--server", "ollama"], "--server ollama: "),
        (["--model", "a/b", "--server", "vllm", "--set", "server.retries=-1"], "--set server.retries -1: "),
    ],
)
def test_what_makes_no_sense_is_refused_in_one_line(arguments, line):
    with pytest.raises(ConfigError) as caught:
        parse(["--game-type", "matching", *arguments])
    assert line in str(caught.value)
    assert "\n" not in str(caught.value)
    assert caught.value.exit_code == 2


def test_without_a_server_the_model_writes(monkeypatch):
    model, settings = taught_model(), DialogueConfig()
    assert server_of(settings, model, None, None) is None
    assert endpoint_of(settings, model.chat) is None
    assert isinstance(writer_of(settings, model, None), LocalWriter)
    assert not settings.server.remote


def test_a_servers_url_is_asked_and_then_writes():
    model = taught_model()
    with Stub(SGLANG, None) as stub:
        settings = config(url=stub.url, in_flight=3, timeout=4.5, retries=2, failures=7)
        assert settings.server.remote
        assert server_of(settings, model, None, None) is None
        endpoint = endpoint_of(settings, model.chat)
    assert endpoint.where() == stub.url
    writer = writer_of(settings, model, endpoint)
    writer.disconnect()
    assert isinstance(writer, RemoteWriter)
    limits = writer._limits
    assert (limits.in_flight, limits.timeout_s, limits.retries, limits.failures) == (3, 4.5, 2, 7)


def test_a_server_of_a_program_is_made_for_a_folder(monkeypatch, tmp_path):
    monkeypatch.setattr(programs, "find_spec", lambda name: name)
    settings = config(program="sglang", arguments="--tp 2 --quantization 'a b'", start_timeout=9.0)
    server = server_of(settings, taught_model(), tmp_path / "model", tmp_path / "run")
    endpoint = endpoint_of(settings, None, server)
    assert endpoint.where() is None  # it does not run
    assert endpoint.name == "--server sglang"
    assert server._arguments == ("--tp", "2", "--quantization", "a b")
    assert server._log == tmp_path / "run" / players.SERVER_LOG
    writer = writer_of(settings, taught_model(), endpoint)
    writer.disconnect()
    assert writer._limits.absent_s == 9.0


def test_a_program_is_given_the_base_and_an_adapter_alone(monkeypatch, tmp_path):
    monkeypatch.setattr(programs, "find_spec", lambda name: name)
    taught_model().save(tmp_path / "base")
    model = load_model(str(tmp_path / "base"), lora=Lora(2, 4))
    for name, parameter in model.module.named_parameters():
        if "lora_B" in name:
            parameter.data.normal_(0, 0.1)
    server = server_of(config(program="sglang"), model, tmp_path / "base", tmp_path / "run")
    weights, serving = server._wanted.weights, tmp_path / "run" / players.SERVED
    assert server._base == tmp_path / "base"
    assert server._arguments == ("--enable-lora", "--max-lora-rank", "2", "--lora-target-modules", "all")
    assert weights.folder == serving / weights.name
    assert {file.name for file in weights.folder.glob("*.safetensors")} == {"adapter_model.safetensors"}
    ids, where = torch.tensor([[3, 7, 8, 9]]), torch.tensor([[False, True, True, True]])
    torch.testing.assert_close(load_model(str(weights.folder)).logits(ids, where), model.logits(ids, where))
    newer = server.folder.write(model)
    assert newer.name != weights.name
    server.folder.keep_only(newer)
    assert [*serving.iterdir()] == [newer.folder]


def test_vllm_is_started_on_the_folder_that_gets_the_weights(monkeypatch, tmp_path):
    monkeypatch.setattr(programs.shutil, "which", lambda name, path=None: "/usr/bin/vllm")
    model = taught_model()
    server = server_of(config(program="vllm"), model, tmp_path / "base", tmp_path / "run")
    weights = server._wanted.weights
    assert weights.name is None
    assert server.folder.write(model) == weights
    assert load_model(str(weights.folder)).context == model.context
    assert server._environment == {"VLLM_SERVER_DEV_MODE": "1"}


def test_what_is_not_installed_or_no_command_line_is_one_line(monkeypatch, tmp_path):
    monkeypatch.setattr(programs, "find_spec", lambda name: None)
    with pytest.raises(ConfigError, match="pip install 'sglang"):
        server_of(config(program="sglang"), None, tmp_path, tmp_path)
    with pytest.raises(ConfigError, match="--server-args '--a: No closing quotation"):
        server_of(config(program="sglang", arguments="'--a"), None, tmp_path, tmp_path)
