"""What is said when a cluster cannot be had, with a module in the place of Ray; tests/extras has the real one."""

import socket
import sys
import threading
import types

import pytest

from selfplay.errors import ConfigError, RunnerError
from selfplay.runner import ray_cluster
from selfplay.runner.ray_cluster import RayLink, cluster_for, connected, first_cause
from tests.support.processes import LIMIT_S


class Ray(types.ModuleType):
    """As much of Ray as connecting needs; ``init`` does what a test wants."""

    def __init__(self, init=lambda: None, free=4.0):
        super().__init__("ray")
        self.told = []
        self.over = threading.Event()
        self._init = init
        self._free = free

    def init(self, **options):
        self.told.append(options)
        self._init()

    def shutdown(self):
        self.over.set()

    def cluster_resources(self):
        return {"CPU": 8.0}

    def available_resources(self):
        return {"CPU": self._free}


@pytest.fixture(autouse=True)
def environment(monkeypatch, tmp_path):
    for name in ("RAY_AUTH_TOKEN", "RAY_AUTH_TOKEN_PATH", "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER", "PYTHONPATH"):
        monkeypatch.setenv(name, "")  # what is set meanwhile goes again with the test
        monkeypatch.delenv(name)
    for name in ("RAY_AUTH_MODE", "RAY_USAGE_STATS_ENABLED", "RAY_DEDUP_LOGS_SKIP_REGEX"):
        monkeypatch.setenv(name, "")
    monkeypatch.setenv("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "")
    monkeypatch.setenv("HOME", str(tmp_path))


@pytest.fixture
def installed(monkeypatch):
    def install(ray):
        monkeypatch.setitem(sys.modules, "ray", ray)
        monkeypatch.setattr(ray_cluster.importlib.util, "find_spec", lambda name: object())
        return ray

    return install


def refused(address, actors=2):
    with pytest.raises(ConfigError) as caught, connected(address, actors):
        pytest.fail("connected")
    return str(caught.value)


def raising(error):
    def init():
        raise error

    return init


def test_without_ray_it_says_what_to_install(monkeypatch):
    monkeypatch.setattr(ray_cluster.importlib.util, "find_spec", lambda name: None)
    assert refused(None) == "--host ray needs Ray, which is not installed: pip install -e '.[ray]'"


def test_a_given_address_needs_a_token(installed):
    ray = installed(Ray())
    message = refused("auto")
    assert "RAY_AUTH_TOKEN, in a file that RAY_AUTH_TOKEN_PATH" in message
    assert "~/.ray/auth_token" in message
    assert ray.told == []


@pytest.mark.parametrize("address", ["ray://host:1", "host", ":1", "host:port"])
def test_what_is_no_address_is_told_at_once(installed, monkeypatch, address):
    installed(Ray())
    monkeypatch.setenv("RAY_AUTH_TOKEN", "a")
    assert f"--ray-address {address}: give auto or HOST:PORT" in refused(address)


def test_where_nobody_listens_nobody_is_waited_for(installed, monkeypatch):
    ray = installed(Ray())
    monkeypatch.setenv("RAY_AUTH_TOKEN", "a")
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))  # and does not listen
        port = taken.getsockname()[1]
        assert "nobody answers there" in refused(f"127.0.0.1:{port}")
    assert ray.told == []


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (
            RuntimeError("Version mismatch: The cluster was started with:\n    Ray: 2.9"),
            "must be the same on all nodes",
        ),
        (RuntimeError("AuthenticationError: invalid token"), "refuses the token"),
        (ValueError("Can't find a `node_ip_address.json` file"), "no node of it"),
        (ConnectionError("Could not find any running Ray instance."), "no cluster runs here"),
        (OSError("whatever else"), "OSError: whatever else"),
    ],
)
def test_what_ray_says_becomes_one_line(installed, monkeypatch, error, words):
    installed(Ray(raising(error)))
    monkeypatch.setenv("RAY_AUTH_TOKEN", "a")
    message = refused("auto")
    assert words in message
    assert "\n" not in message


def test_who_does_not_answer_is_given_up(installed, monkeypatch):
    answer = threading.Event()
    ray = installed(Ray(answer.wait))
    monkeypatch.setenv("RAY_AUTH_TOKEN", "a")
    monkeypatch.setattr(ray_cluster, "CONNECT_S", 0.05)
    assert "did not answer within 0.05 s" in refused("auto")
    answer.set()
    assert ray.over.wait(LIMIT_S)  # what connects late is let go of


def test_a_cluster_that_is_too_small_is_refused(installed, monkeypatch):
    ray = installed(Ray(free=1.0))
    monkeypatch.setenv("RAY_AUTH_TOKEN", "a")
    message = refused("auto", actors=3)
    assert "3 actors want a CPU each, but the cluster has 8, of which 1 are free" in message
    assert ray.over.wait(LIMIT_S)


def test_our_own_listens_to_this_machine_alone_and_leaves_nothing(installed, monkeypatch):
    seen = {}

    def look():
        import os
        from pathlib import Path

        token = Path(os.environ["RAY_AUTH_TOKEN_PATH"])
        seen.update(mode=token.stat().st_mode & 0o777, length=len(token.read_text()), folder=token.parent)
        seen.update({name: os.environ[name] for name in ("RAY_AUTH_MODE", "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER")})
        assert "RAY_ADDRESS" not in os.environ

    ray = installed(Ray(look))
    with connected(None, 3):
        (options,) = ray.told
        assert (options["num_cpus"], options["include_dashboard"]) == (3, False)
        assert options["_temp_dir"] == str(seen["folder"])
    assert seen["mode"] == 0o600
    assert seen["length"] == 64
    assert seen["RAY_AUTH_MODE"] == "token"
    assert seen["RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER"] == "0"
    assert not seen["folder"].exists()
    assert ray.over.is_set()


def test_a_token_that_is_there_is_used(installed, monkeypatch, tmp_path):
    import os

    (tmp_path / ".ray").mkdir()
    (tmp_path / ".ray" / "auth_token").write_text("mine")
    installed(Ray())
    with connected(None, 1):
        assert "RAY_AUTH_TOKEN_PATH" not in os.environ


@pytest.mark.parametrize(
    ("text", "cause"),
    [
        (
            "The actor died unexpectedly before finishing this task.\n\tpid: 1\nThe actor is dead because its worker "
            "process has died. Worker exit type: SYSTEM_ERROR Worker exit detail: and so on",
            "its worker process has died",
        ),
        ("The actor died because its node has died. Node Id: 12.", "its node has died. Node Id: 12"),
        (
            "The actor ab is unavailable: The actor is temporarily unavailable: RPC error: Socket closed rpc_code: 14. "
            "The task may or may not have been executed on the actor",
            "RPC error: Socket closed rpc_code: 14",
        ),
        ("something\nnew", "something new"),
    ],
)
def test_of_a_death_the_reason_is_told(text, cause):
    assert first_cause(text) == cause


class Places:
    """Placement groups that are never found a place for."""

    def placement_group(self, bundles):
        assert bundles == [{"CPU": 1}]
        return types.SimpleNamespace(wait=lambda seconds: False)


def test_an_actor_without_room_says_so():
    ray = Ray(free=0.0)
    ray.util = Places()
    with pytest.raises(RunnerError, match=r"runner-007: no node of the cluster has had room .* 1 CPU of one node; 0 "):
        RayLink(ray, object, "runner-007").ready()


def test_other_hosts_need_no_cluster():
    with cluster_for("thread", None, 2) as cluster:
        assert cluster is None
