import asyncio
import json
import os
import re
import signal
import subprocess
import sys
import textwrap
from contextlib import asynccontextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest

pytest.importorskip("transformers", reason="needs the extra: pip install -e '.[dialogue]'")

import httpx

from selfplay.dialogue import programs
from selfplay.dialogue.following import ServingFolder
from selfplay.dialogue.language import routes
from selfplay.dialogue.language.chat import Chat
from selfplay.dialogue.language.remote import RemoteWriter, RequestLimits
from selfplay.dialogue.language.routes import Weights
from selfplay.dialogue.language.tiny import END, make_tokenizer
from selfplay.dialogue.language.wire import Completions, SGLang
from selfplay.dialogue.programs import NAME, ServerProgram, find_program
from selfplay.dialogue.serving import ReplyServer
from selfplay.errors import ConfigError, ServerError
from selfplay.learner.sampling import Sampling
from selfplay.supervision import ChildExited, StartError, Supervisor, SupervisorSpec, running
from tests.dialogue.language import stub_server
from tests.scripts.commands import is_alive, wait_for
from tests.support.processes import LIMIT_S, Process

ROOT = Path(__file__).parents[2]
STUB = (sys.executable, stub_server.__file__, "{folder}", "{port}")
RELOADED = ServerProgram("stub", STUB, SGLang())
VLLM = ServerProgram("stub", (*STUB, "--kind", "vllm"), Completions(NAME, ids=True))
OLD = replace(VLLM, command=(*VLLM.command, "--old"))  # a version that has to be restarted
pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="looks at processes through /proc")


TOKENIZER = make_tokenizer(["yes", "no"], 32)
CHAT = Chat(TOKENIZER, frozenset({TOKENIZER.convert_tokens_to_ids(END)}))
YES = CHAT.ids_of(["yes"])[0][0]


def says(folder, token, rank=None):
    """A folder of a model that always replies with one token; of an adapter, if a rank is given."""
    folder.mkdir(exist_ok=True)
    (folder / "reply").write_bytes(b"." * token)
    if rank is not None:
        (folder / "adapter_config.json").write_text(json.dumps({"r": rank}))
    return folder


@pytest.fixture
def models(tmp_path):
    """Folders of two models: one ends its turn, the other says yes."""
    return says(tmp_path / "first", CHAT.end), says(tmp_path / "second", YES)


@asynccontextmanager
async def served(program, folder, log, *arguments, timeout_s=LIMIT_S, adapter=None, rank=8):
    """A server in a tree of its own; with the reports of that."""
    kind, reports = program.wire.routes, []
    flags = kind.flags(rank) if adapter else ()
    server = ReplyServer(
        program, folder, adapter or Weights(folder), ServingFolder(log.parent), log, timeout_s, (*flags, *arguments),
        kind.variables(adapter=adapter is not None),
    )  # fmt: skip
    root = Supervisor(SupervisorSpec(children=(server.spec(),)), on_report=reports.append)
    async with running(root):
        yield server, reports


def deaths(reports):
    """How incarnations of the server ended that nobody had asked to."""
    return [r.reason.message for r in reports if isinstance(r, ChildExited) and r.child.id == "server" and not r.asked]


def family(log):
    """Process ids that the servers of a log have told, theirs and those of what they started."""
    return [int(pid) for line in re.findall(r"serving .* (\d+ \d+)\n", log.read_text()) for pid in line.split()]


@asynccontextmanager
async def asking(server):
    """A writer that asks a server; what it replies, in tokens."""
    limits = RequestLimits(
        timeout_s=LIMIT_S, retries=2000, absent_s=LIMIT_S
    )  # naps are short, and the machine may be busy
    writer = RemoteWriter(CHAT, 32, Sampling(max_new_tokens=4), server.endpoint, limits, sleep=_nap)

    def reply():
        (found,) = writer.reply([writer.open(0, "", "yes")])
        return found.lost or found.ids

    try:
        yield partial(asyncio.to_thread, reply)
    finally:
        await asyncio.to_thread(writer.disconnect)


async def _nap(seconds):
    await asyncio.sleep(min(seconds, 0.05))


def test_sglang_loads_another_folder_without_a_restart(models, tmp_path):
    log = tmp_path / "run" / "server.log"

    async def main():
        async with served(RELOADED, models[0], log) as (server, reports):
            assert re.fullmatch(r"http://127.0.0.1:\d+", server.where())
            pid = server.pid
            async with asking(server) as ask:
                assert await ask() == [CHAT.end]
                await server.reload(Weights(models[1]))
                assert await ask() == [YES]
            assert server.pid == pid
            assert deaths(reports) == []

    asyncio.run(main())
    assert len(family(log)) == 2
    wait_for(lambda: not any(map(is_alive, family(log))))


@pytest.mark.parametrize(("program", "servers"), [(VLLM, 1), (OLD, 3)], ids=["reloaded", "restarted"])
def test_vllm_reads_its_folder_again_and_an_older_version_is_restarted(program, servers, models, tmp_path):
    log = tmp_path / "run" / "server.log"

    async def main():
        async with served(program, models[0], log) as (server, reports), asking(server) as ask:
            assert await ask() == [CHAT.end]
            for token in (YES, CHAT.end):
                says(models[0], token)
                await server.reload(Weights(models[0]))
                assert await ask() == [token]
            assert deaths(reports) == []

    asyncio.run(main())
    assert len(family(log)) == 2 * servers


def test_vllm_that_fails_to_reload_is_restarted_from_then_on(models, tmp_path):
    (models[0] / "unreadable").touch()

    async def main():
        async with served(VLLM, models[0], tmp_path / "log") as (server, reports), asking(server) as ask:
            for token in (YES, CHAT.end):
                says(models[0], token)
                await server.reload(Weights(models[0]))
                assert await ask() == [token]
            (death,) = deaths(reports)
            assert "HTTP 500 for /collective_rpc: Call to collective_rpc method failed; see" in death

    asyncio.run(main())


@pytest.mark.parametrize("program", [RELOADED, VLLM], ids=["sglang", "vllm"])
def test_an_adapter_goes_alone_and_the_base_is_loaded_once(program, models, tmp_path):
    log = tmp_path / "log"
    first, second = (
        Weights(says(tmp_path / name, token, rank=8), name) for name, token in (("a-1", YES), ("a-2", CHAT.end))
    )

    async def main():
        async with served(program, models[0], log, adapter=first) as (server, reports), asking(server) as ask:
            assert await ask() == [YES]
            await server.reload(second)
            assert await ask() == [CHAT.end]
            assert deaths(reports) == []
            assert len(family(log)) == 2
            os.kill(server.pid, signal.SIGKILL)  # the next one has the newest adapter before it is asked
            assert await ask() == [CHAT.end]
            await server.reload(first)
            assert await ask() == [YES]

    asyncio.run(main())
    assert log.read_text().count(f"serving {models[0]} ") == 2


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (["--old"], "HTTP 404 for {route}; this version takes no adapters: update it, or leave out --lora-rank; see"),
        (["--max-lora-rank", "4"], "rank 8 is greater than max_lora_rank 4; see"),
    ],
)
@pytest.mark.parametrize("program", [RELOADED, VLLM], ids=["sglang", "vllm"])
def test_a_server_that_takes_no_adapter_does_not_start_and_says_why(program, arguments, line, models, tmp_path):
    adapter = Weights(says(tmp_path / "a-1", YES, rank=8), "a-1")

    async def main():
        with pytest.raises(StartError) as caught:
            async with served(program, models[0], tmp_path / "log", *arguments, adapter=adapter):
                pass
        assert line.format(route=program.wire.routes.load) in str(caught.value)

    asyncio.run(main())


def test_which_folder_answers(models, tmp_path):
    async def model_of(server):
        async with httpx.AsyncClient(trust_env=False) as client:
            return (await client.get(f"{server.where()}/get_model_info")).json()["model_path"]

    async def main():
        async with served(RELOADED, models[0], tmp_path / "log") as (server, _):
            assert await model_of(server) == str(models[0])
            await server.reload(Weights(models[1]))
            assert await model_of(server) == str(models[1])
            os.kill(server.pid, signal.SIGKILL)
            await until(lambda: server.where() is None)
            await until(lambda: server.where() is not None)
            assert await model_of(server) == str(models[1])

    asyncio.run(main())


async def until(condition):
    async with asyncio.timeout(LIMIT_S):
        while not condition():  # noqa: ASYNC110 # of another process
            await asyncio.sleep(0.01)


def test_one_that_dies_is_started_anew_and_who_asks_waits_for_it(models, tmp_path):
    log = tmp_path / "log"

    async def main():
        async with served(RELOADED, models[0], log) as (server, reports):
            async with asking(server) as ask:
                assert await ask() == [CHAT.end]
                os.kill(server.pid, signal.SIGKILL)
                assert await ask() == [CHAT.end]
            (death,) = deaths(reports)
            assert "ServerError: stub ended with signal 9: serving" in death
            assert str(log) in death

    asyncio.run(main())
    assert len(family(log)) == 4
    wait_for(lambda: not any(map(is_alive, family(log))))  # what the dead one had started is gone, too


def test_one_that_ends_at_once_does_not_start_and_says_why(models, tmp_path):
    async def main():
        with pytest.raises(StartError) as caught:
            async with served(RELOADED, models[0], tmp_path / "log", "--fail"):
                pass
        assert "stub ended with exit code 1: out of memory; see" in str(caught.value)

    asyncio.run(main())


def test_a_program_that_is_not_there_does_not_start(models, tmp_path):
    program = replace(RELOADED, command=("/nowhere/program",))

    async def main():
        with pytest.raises(StartError, match="No such file"):
            async with served(program, models[0], tmp_path / "log"):
                pass

    asyncio.run(main())


def test_one_that_never_gets_ready_is_killed_at_its_deadline(models, tmp_path):
    log = tmp_path / "log"

    async def main():
        with pytest.raises(StartError, match="stub was not ready within 1 s; see"):
            async with served(RELOADED, models[0], log, "--never-ready", timeout_s=1.0):
                pass

    asyncio.run(main())
    wait_for(lambda: not any(map(is_alive, family(log))))


def test_for_what_it_cannot_load_it_is_started_anew(models, tmp_path):
    log, missing = tmp_path / "log", tmp_path / "missing"

    async def main():
        async with served(RELOADED, models[0], log) as (server, reports):
            await server.reload(Weights(missing))
            (death,) = deaths(reports)
            assert f"did not load {missing}: HTTP 400 for /update_weights_from_disk: no such folder; see {log}" in death

    asyncio.run(main())
    assert f"serving {missing}" in log.read_text()


def test_a_folder_that_takes_too_long_is_an_error(models, tmp_path):
    (models[1] / "slow").touch()

    async def main():
        async with served(OLD, models[0], tmp_path / "log") as (server, _):
            server._start_timeout_s = 0.2
            with pytest.raises(ServerError, match=rf"stub did not load {models[1]} within 0.2 s; see"):
                await server.reload(Weights(models[1]))
            assert server.where() is None

    asyncio.run(main())


def test_kill_9_of_the_trainer_leaves_no_server(models, tmp_path):
    log = tmp_path / "log"
    code = f"""
        import asyncio
        from pathlib import Path
        from selfplay.dialogue.language.wire import SGLang
        from selfplay.dialogue.following import ServingFolder
        from selfplay.dialogue.language.routes import Weights
        from selfplay.dialogue.programs import ServerProgram
        from selfplay.dialogue.serving import ReplyServer
        from selfplay.supervision import Supervisor, SupervisorSpec, running

        async def main():
            program = ServerProgram("stub", {STUB!r}, SGLang())
            folder, log = Path({str(models[0])!r}), Path({str(log)!r})
            server = ReplyServer(program, folder, Weights(folder), ServingFolder(folder), log, 60.0)
            async with running(Supervisor(SupervisorSpec(children=(server.spec(),)))):
                print("ready", flush=True)
                await asyncio.sleep(60)

        asyncio.run(main())
    """
    command = [sys.executable, "-c", textwrap.dedent(code)]
    with Process(command, cwd=ROOT, stdout=subprocess.PIPE) as trainer:
        assert trainer.stdout.readline() == "ready\n"
        pids = family(log)
        assert len(pids) == 2
        assert all(map(is_alive, pids))
        trainer.kill()
        wait_for(lambda: not any(map(is_alive, pids)))


# ---- the programs


@pytest.mark.parametrize(
    ("name", "line"),
    [
        ("sglang", "--server sglang: SGLang is not installed: pip install 'sglang[all]'"),
        ("vllm", "--server vllm: vLLM is not installed: pip install vllm"),
    ],
)
def test_what_is_not_installed_names_the_command_that_installs_it(name, line, monkeypatch):
    monkeypatch.setattr(programs, "find_spec", lambda name: None)
    monkeypatch.setattr(programs.shutil, "which", lambda name, path=None: None)
    with pytest.raises(ConfigError) as caught:
        find_program(name)
    assert str(caught.value) == line
    assert caught.value.exit_code == 2


def test_the_command_lines(monkeypatch):
    monkeypatch.setattr(programs, "find_spec", lambda name: name)
    monkeypatch.setattr(programs.shutil, "which", lambda name, path=None: None if path else "/usr/bin/vllm")
    place = ["--host", "127.0.0.1", "--port", "81", "--served-model-name", "selfplay"]
    sglang = find_program("sglang").line(Path("/m {x}"), 81, ["--tp", "2"])
    assert sglang == [sys.executable, "-m", "sglang.launch_server", "--model-path", "/m {x}", *place, "--tp", "2"]
    vllm = find_program("vllm")
    assert vllm.line(Path("/m"), 81, [])[:9] == ["/usr/bin/vllm", "serve", "/m", *place]
    assert "processed_logprobs" in vllm.command
    assert vllm.wire == Completions("selfplay", ids=True)


def test_what_a_server_needs_for_adapters():
    assert routes.SGLANG.flags(12) == ["--enable-lora", "--max-lora-rank", "12", "--lora-target-modules", "all"]
    assert routes.SGLANG.variables(adapter=True) == routes.SGLANG.variables(adapter=False) == {}
    assert routes.VLLM.flags(12) == ["--enable-lora", "--max-lora-rank", "16"]
    assert routes.VLLM.variables(adapter=True) == {"VLLM_ALLOW_RUNTIME_LORA_UPDATING": "1"}
    assert routes.VLLM.variables(adapter=False) == {"VLLM_SERVER_DEV_MODE": "1"}
    with pytest.raises(ConfigError, match="--lora-rank 513: vLLM serves adapters up to rank 512"):
        routes.VLLM.flags(513)
