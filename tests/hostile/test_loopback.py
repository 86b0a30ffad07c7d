"""Everything that listens can be reached from this machine alone."""

import re
import socket
from pathlib import Path

import pytest

from selfplay.dialogue import programs, serving
from selfplay.errors import ConfigError
from selfplay_melee.dolphin.install import is_free
from tests.dialogue.language.stub_server import SGLANG, Stub
from tests.hostile.readers import ROOT
from tests.support.processes import finish

OPEN = re.compile(r"0\.0\.0\.0|--bind[_-]all|--host[ =]+(''|\"\"|\*|::)(\s|$)")


def listening(kind: str) -> set[tuple[str, int]]:
    """Addresses and ports of this machine's sockets."""
    found = set()
    for line in Path(f"/proc/net/{kind}").read_text().splitlines()[1:]:
        address, port = line.split()[1].split(":")
        found.add((socket.inet_ntoa(bytes.fromhex(address)[::-1]), int(port, 16)))
    return found


def test_ports_are_looked_for_on_loopback(monkeypatch):
    asked = []
    bind = socket.socket.bind

    class Noting(socket.socket):
        def bind(self, address):
            asked.append(address[0])
            return bind(self, address)

    monkeypatch.setattr(socket, "socket", Noting)
    assert is_free(serving.free_port()) in (True, False)
    assert asked == ["127.0.0.1"] * 2


@pytest.mark.parametrize("name", ["sglang", "vllm"])
def test_servers_that_are_started_listen_on_loopback(monkeypatch, name):
    monkeypatch.setattr(programs, "find_spec", lambda name: name)
    monkeypatch.setattr(programs.shutil, "which", lambda name, path=None: "/usr/bin/vllm")
    line = programs.find_program(name).line(Path("/m"), 81, ["--tp", "2"])
    assert line[line.index("--host") + 1] == "127.0.0.1"
    assert line.count("--host") == 1


@pytest.mark.parametrize(
    "words", [["--host=0.0.0.0"], ["--tp", "2", "--host=::"], ["--po", "1"], ["--trust_remote_code"], ["--hos=x"]]
)
def test_and_nobody_can_have_it_otherwise(words):
    with pytest.raises(ConfigError, match="the server listens on a free port of loopback only"):
        programs.refuse_reserved(words)
    programs.refuse_reserved(["--tp", "2", "--tensor-parallel-size=2", "--hf-overrides", "{}"])


def test_the_stand_in_listens_on_loopback():
    pytest.importorskip("enet", reason="libmelee's enet is not installed")
    from tests.support.fake_dolphin.server import Spectators

    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    spectators = Spectators(port)
    if not Path("/proc/net/udp").exists():
        pytest.skip("asks the kernel through /proc")
    assert {address for address, its in listening("udp") if its == port} == {"127.0.0.1"}
    del spectators


def test_the_server_of_the_tests_listens_on_loopback():
    with Stub(SGLANG, lambda *asked: None) as stub:
        assert re.match(r"http://127\.0\.0\.1:\d+$", stub.url)


def test_no_page_script_or_setting_of_the_project_opens_a_port_to_everybody():
    names = finish(["git", "ls-files"], cwd=ROOT).stdout.split()
    texts = [
        ROOT / name for name in names if name.endswith((".md", ".sh", ".yaml", ".yml", ".toml")) or name == "Makefile"
    ]
    if not texts:
        pytest.skip("no git checkout")
    assert [str(path) for path in texts if OPEN.search(path.read_text(encoding="utf-8"))] == []
