import asyncio
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

from selfplay.dialogue import serving
from selfplay.dialogue.language.chat import Chat
from selfplay.dialogue.language.remote import RemoteWriter, RequestLimits
from selfplay.dialogue.language.tiny import END, make_tokenizer
from selfplay.dialogue.language.wire import Completions, SGLang
from selfplay.dialogue.serving import NAME, ReplyServer, ServerProgram, find_program
from selfplay.errors import ConfigError, ServerError
from selfplay.learner.sampling import Sampling
from selfplay.supervision import ChildExited, StartError, Supervisor, SupervisorSpec, running
from tests.dialogue.language import stub_server
from tests.scripts.commands import is_alive, wait_for
from tests.support.processes import LIMIT_S, Process

ROOT = Path(__file__).parents[2]
STUB = (sys.executable, stub_server.__file__, "{folder}", "{port}")
RELOADED = ServerProgram("stub", STUB, SGLang(), reload="/update_weights_from_disk")
RESTARTED = ServerProgram("stub", (*STUB, "--kind", "vllm"), Completions(NAME, ids=True))
pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="looks at processes through /proc")


TOKENIZER = make_tokenizer(["yes", "no"], 32)
CHAT = Chat(TOKENIZER, frozenset({TOKENIZER.convert_tokens_to_ids(END)}))


@pytest.fixture
def models(tmp_path):
    """Folders of two models, which have nothing to say but the end of their turn."""
    folders = [tmp_path / name for name in ("first", "second")]
    for folder in folders:
        folder.mkdir()
        (folder / "reply").write_bytes(b"." * CHAT.end)
    return folders


@asynccontextmanager
async def served(program, folder, log, *arguments, timeout_s=LIMIT_S):
    """A server in a tree of its own; with the reports of that."""
    server, reports = ReplyServer(program, folder, log, timeout_s, arguments), []
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


@pytest.mark.parametrize("program", [RELOADED, RESTARTED], ids=["reloaded", "restarted"])
def test_it_serves_a_folder_and_then_another(program, models, tmp_path):
    log = tmp_path / "run" / "server.log"

    async def main():
        async with served(program, models[0], log) as (server, reports):
            assert re.fullmatch(r"http://127.0.0.1:\d+", server.where())
            pid = server.pid
            async with asking(server) as ask:
                assert await ask() == [CHAT.end]
                await server.reload(models[1])
                assert await ask() == [CHAT.end]
            assert (server.pid == pid) == (program is RELOADED)
            assert deaths(reports) == []
            await server.reload(models[1])  # the same folder may hold another model by now
            return len(family(log)) // 2

    assert asyncio.run(main()) == (1 if program is RELOADED else 3)
    wait_for(lambda: not any(map(is_alive, family(log))))


def test_which_folder_answers(models, tmp_path):
    async def model_of(server):
        async with httpx.AsyncClient(trust_env=False) as client:
            return (await client.get(f"{server.where()}/get_model_info")).json()["model_path"]

    async def main():
        async with served(RELOADED, models[0], tmp_path / "log") as (server, _):
            assert await model_of(server) == str(models[0])
            await server.reload(models[1])
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
            await server.reload(missing)
            (death,) = deaths(reports)
            assert f"stub did not load {missing}: no such folder; see {log}" in death

    asyncio.run(main())
    assert f"serving {missing}" in log.read_text()


def test_a_folder_that_takes_too_long_is_an_error(models, tmp_path):
    (models[1] / "slow").touch()

    async def main():
        async with served(RESTARTED, models[0], tmp_path / "log") as (server, _):
            server._start_timeout_s = 0.2
            with pytest.raises(ServerError, match=rf"stub did not load {models[1]} within 0.2 s; see"):
                await server.reload(models[1])
            assert server.where() is None

    asyncio.run(main())


def test_kill_9_of_the_trainer_leaves_no_server(models, tmp_path):
    log = tmp_path / "log"
    code = f"""
        import asyncio
        from pathlib import Path
        from selfplay.dialogue.language.wire import SGLang
        from selfplay.dialogue.serving import ReplyServer, ServerProgram
        from selfplay.supervision import Supervisor, SupervisorSpec, running

        async def main():
            program = ServerProgram("stub", {STUB!r}, SGLang())
            server = ReplyServer(program, Path({str(models[0])!r}), Path({str(log)!r}), 60.0)
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
    monkeypatch.setattr(serving, "find_spec", lambda name: None)
    monkeypatch.setattr(serving.shutil, "which", lambda name, path=None: None)
    with pytest.raises(ConfigError) as caught:
        find_program(name)
    assert str(caught.value) == line
    assert caught.value.exit_code == 2


def test_the_command_lines(monkeypatch):
    monkeypatch.setattr(serving, "find_spec", lambda name: name)
    monkeypatch.setattr(serving.shutil, "which", lambda name, path=None: None if path else "/usr/bin/vllm")
    place = ["--host", "127.0.0.1", "--port", "81", "--served-model-name", "selfplay"]
    sglang = find_program("sglang").line(Path("/m {x}"), 81, ["--tp", "2"])
    assert sglang == [sys.executable, "-m", "sglang.launch_server", "--model-path", "/m {x}", *place, "--tp", "2"]
    vllm = find_program("vllm")
    assert vllm.line(Path("/m"), 81, [])[:9] == ["/usr/bin/vllm", "serve", "/m", *place]
    assert "processed_logprobs" in vllm.command
    assert vllm.wire == Completions("selfplay", ids=True)
