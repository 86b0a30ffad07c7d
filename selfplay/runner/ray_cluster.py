"""A Ray cluster for as long as a run lasts: one of our own on this machine, or one that is there already.

A program that can reach a cluster can run code on it: token authentication is always on, and our own cluster listens
to this machine alone. Everything here blocks; it is called where there is no event loop yet, or none any more. Ray is
loaded here and nowhere else, because it reads its settings from the environment when it is loaded.
"""

from __future__ import annotations

import importlib.util
import os
import re
import secrets
import socket
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import FIRST_COMPLETED, Future, InvalidStateError, wait
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any, Final

from selfplay.distribution import install_command, python_path
from selfplay.errors import ActorLostError, ConfigError, RunnerError, SelfPlayError, describe
from selfplay.games.errors import GameError
from selfplay.machine import usable_cores
from selfplay.runner.process_reaper import ProcessReaper

CONNECT_S: Final = 20.0  # until a cluster that is there must have answered
START_S: Final = 120.0  # until one of our own must be up, on a busy machine, too
STOP_S: Final = 15.0  # for letting go of it
REACH_S: Final = 5.0  # for a first connection to an address
STORE_BYTES: Final = 512 * 2**20  # of our own cluster's objects; orders and segments stay for less than an iteration
TOKEN_FILE: Final = Path(".ray") / "auth_token"  # in the home folder: where Ray looks
ROOM_S: Final = 5.0  # in which a CPU must be found for an actor
_LONGEST: Final = 300  # characters of Ray's message about a dead actor


class Cluster:
    """Makes actors; see ``connected``."""

    def __init__(self, ray: Any) -> None:  # noqa: ANN401
        self._ray = ray

    def link(self, kind: type, name: str) -> RayLink:
        """An actor of a class, named in messages. Does not wait for it."""
        return RayLink(self._ray, kind, name)

    def put(self, value: object) -> object:
        """Store an object once for all actors; a returned reference arrives at an actor as the object."""
        return self._ray.put(value)

    def room(self, actors: int | None) -> int:
        """So many actors, by default one for each free CPU.

        ConfigError if fewer CPUs are free; it names the CPUs wanted, in the cluster, and free.
        """
        resources = self._ray.cluster_resources(), self._ray.available_resources()
        there, free = (found.get("CPU", 0.0) for found in resources)
        wanted = max(1, int(free)) if actors is None else actors
        if free < wanted:
            raise ConfigError(
                f"--host ray: {wanted} actors want a CPU each, but the cluster has {there:g}, of which {free:g} are "
                "free; add nodes, or give fewer --runners (--jobs of a sweep)"
            )
        return wanted


@contextmanager
def connected(address: str | None, actors: int | None) -> Iterator[Cluster]:
    """Connect to a cluster with room for so many actors; disconnect at the end, and shut it down if it is our own.

    ``address`` is ``auto`` or ``HOST:PORT`` of one that is there, this machine being one of its nodes; None: our own.
    ``actors`` None: as many as there is room for, on this machine one a core.
    """
    if importlib.util.find_spec("ray") is None:
        raise ConfigError(f"--host ray needs Ray, which is not installed: {install_command('ray')}")
    _prepare_environment()
    if address is None:
        with _scratch() as reaper, ExitStack() as stack:
            options = {"address": "local", "num_cpus": actors or usable_cores(), "num_gpus": 0}
            options |= {"object_store_memory": STORE_BYTES, "include_dashboard": False, "_temp_dir": str(reaper.folder)}
            with _environment_of_children(reaper):
                ray = stack.enter_context(_Session(options, START_S, "a cluster on this machine"))
            yield Cluster(ray)
        return
    if _token() is None:
        raise ConfigError(
            "--ray-address needs the token of the cluster: in RAY_AUTH_TOKEN, in a file that RAY_AUTH_TOKEN_PATH "
            f"names, or in ~/{TOKEN_FILE} (ray get-auth-token --generate makes one, for all nodes the same)"
        )
    _check_reachable(address)
    with _Session({"address": address}, CONNECT_S, f"--ray-address {address}") as ray:
        cluster = Cluster(ray)
        cluster.room(actors)
        yield cluster


@contextmanager
def cluster_for(host: str, address: str | None, actors: int | None) -> Iterator[Cluster | None]:
    """The cluster of a run with ``--host ray``, see ``connected``; None for other hosts. Blocks."""
    if host != "ray":
        yield None
        return
    with connected(address, actors) as cluster:
        yield cluster


def _prepare_environment() -> None:
    """Set the environment variables that Ray reads when it is imported."""
    os.environ.update(
        RAY_AUTH_MODE="token",
        RAY_USAGE_STATS_ENABLED="0",
        RAY_ENABLE_AUTO_CONNECT="0",  # a late call must not start another cluster
        RAY_DEDUP_LOGS_SKIP_REGEX=".",  # its messages would break the screen; supervision reports dead actors
        RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO="0",
        RAY_ENABLE_UV_RUN_RUNTIME_ENV="0",  # actors run in what their node was started in
    )
    os.environ.pop("RAY_ADDRESS", None)  # it would count for more than what was typed


@contextmanager
def _scratch() -> Iterator[ProcessReaper]:
    """Folder and token of our own cluster; ends its processes however this process ends."""
    reaper = ProcessReaper(by_environment=True)
    try:
        # The switch of systems where clusters are for developers: everything listens to this machine alone.
        os.environ["RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER"] = "0"
        made = _token() is None
        if made:
            file = reaper.folder / "token"
            file.touch(0o600)
            file.write_text(secrets.token_hex(32))
            os.environ["RAY_AUTH_TOKEN_PATH"] = str(file)
        try:
            yield reaper
        finally:
            if made:
                del os.environ["RAY_AUTH_TOKEN_PATH"]
    finally:
        reaper.close()


@contextmanager
def _environment_of_children(reaper: ProcessReaper) -> Iterator[None]:
    """Set the environment that processes of our own cluster inherit, so that actors import this copy of the code."""
    folders = ("TMPDIR", "TEMP", "TMP")  # several: the title of an agent is written over some of its variables
    before = {name: os.environ.get(name) for name in (*folders, "PYTHONPATH")}
    os.environ.update(dict.fromkeys(folders, reaper.environment["TMPDIR"]))
    os.environ["PYTHONPATH"] = python_path()
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value


def _token() -> str | None:
    """Source of the token that Ray would use: the name of a variable, or a file; None if there is none."""
    for name in ("RAY_AUTH_TOKEN", "RAY_AUTH_TOKEN_PATH"):
        if os.environ.get(name):
            return name
    file = Path(os.path.expanduser("~")) / TOKEN_FILE
    return str(file) if file.is_file() else None


def _check_reachable(address: str) -> None:
    """A first look, because Ray itself takes long to say so."""
    if address == "auto":
        return
    host, colon, port = address.rpartition(":")
    if "//" in address or not colon or not host or not port.isdigit():
        raise ConfigError(
            f"--ray-address {address}: give auto or HOST:PORT, and start the trainer on a node of the cluster "
            "(ray:// is slower by far)"
        )
    try:
        socket.create_connection((host, int(port)), REACH_S).close()
    except OSError as error:
        raise ConfigError(f"--ray-address {address}: nobody answers there: {describe(error)}") from error


class _Session:
    """Ray, connected, in a thread that lives as long: the processes of a cluster die with the thread that made them."""

    def __init__(self, options: dict[str, Any], limit_s: float, what: str) -> None:
        self._options = options
        self._limit_s = limit_s
        self._what = what
        self._settled, self._over = threading.Event(), threading.Event()
        self._ray: Any = None
        self._error: BaseException | None = None
        self._thread = threading.Thread(target=self._work, name="ray", daemon=True)

    def __enter__(self) -> Any:  # noqa: ANN401
        self._thread.start()
        try:
            answered = self._settled.wait(self._limit_s)
        except BaseException:  # a person has lost patience
            self._over.set()
            raise
        if not answered:
            self._over.set()
            raise ConfigError(
                f"--host ray: {self._what} did not answer within {self._limit_s:g} s; if it does run, the token that "
                "was found here may not be its own"
            )
        if self._error is not None:
            self._thread.join(STOP_S)
            raise ConfigError(f"--host ray: {self._what}: {_explained(self._error)}") from self._error
        return self._ray

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join(STOP_S)

    def _work(self) -> None:
        try:
            import ray

            ray.init(**self._options, log_to_driver=False, logging_level="CRITICAL", configure_logging=True)
            self._ray = ray
        except BaseException as error:  # raised by ``__enter__``
            self._error = error
        self._settled.set()
        if self._error is None:
            self._over.wait()
        with suppress(Exception):  # nothing can be done about it any more
            sys.modules["ray"].shutdown()


def _explained(error: BaseException) -> str:
    """Ray's message in one line, with a remedy where one is known."""
    line = " ".join(str(error).split())
    for sign, explanation in _EXPLANATIONS.items():
        if sign in line:
            return explanation.replace("{line}", line[:400])
    return describe(error)[:500]


_EXPLANATIONS: Final = {
    "Version mismatch": "Python and Ray must be the same on all nodes: {line}",
    "uthentication": "it refuses the token that was found here",
    "node_ip_address.json": "this machine is no node of it; join it first: ray start --address=HOST:PORT",
    "Could not find any running Ray instance": "no cluster runs here; start one (ray start --head), or leave "
    "--ray-address out",
}


class RayLink:
    """An actor of its own in a cluster (``block_client.Link``), as long-lived: Ray restarts none, supervision does.

    Its class ``kind`` is made without arguments, which must not fail; ``name`` says in messages what it is for.
    """

    def __init__(self, ray: Any, kind: type, name: str) -> None:  # noqa: ANN401
        self._ray = ray
        self._kind = kind
        self._name = name
        self._severed: Future[None] = Future()
        self._actor: Any = None
        with _runner_error(name):
            # Without one, an actor that waits for a CPU could not be told from one that starts slowly.
            self._place = ray.util.placement_group([{"CPU": 1}])

    def ready(self) -> None:
        """See ``Link``; blocks until the actor has begun."""
        with _runner_error(self._name):
            free = 0.0 if (placed := self._place.wait(ROOM_S)) else self._ray.available_resources().get("CPU", 0.0)
        if not placed:
            raise ActorLostError(
                f"{self._name}: no node of the cluster has had room for its actor within {ROOM_S:g} s: it needs 1 CPU "
                f"of one node; {free:g} are free on all together"
            )
        with _runner_error(self._name):
            there = self._ray.util.scheduling_strategies.PlacementGroupSchedulingStrategy(self._place)
            remote = self._ray.remote(num_cpus=1, max_restarts=0, max_task_retries=0, scheduling_strategy=there)
            self._actor = remote(self._kind).remote()
        self.call("__ray_ready__")

    def call(self, method: str, *arguments: object, **named: object) -> Any:  # noqa: ANN401
        with _runner_error(self._name):
            answer: Future[Any] = getattr(self._actor, method).remote(*arguments, **named).future()
        wait([answer, self._severed], return_when=FIRST_COMPLETED)
        if not answer.done():
            raise RunnerError(f"{self._name}: its actor is no longer waited for")
        with _runner_error(self._name):
            return answer.result()

    def sever(self) -> None:
        with suppress(InvalidStateError):  # it was already
            self._severed.set_result(None)

    def close(self) -> None:
        self.sever()
        with suppress(Exception):  # theirs: the cluster is gone, and the actor with it
            self._ray.util.remove_placement_group(self._place)  # and whatever is in it


@contextmanager
def _runner_error(name: str) -> Iterator[None]:
    """Convert errors of an actor to RunnerError with the first cause."""
    try:
        yield
    except Exception as error:  # theirs; what an actor raised is in it, and may be of its class, with a page of text
        cause = getattr(error, "cause", None)
        if isinstance(error, SelfPlayError) and cause is None:
            raise
        if isinstance(cause, SelfPlayError | GameError):
            raise RunnerError(str(cause)) from None
        if isinstance(cause, Exception):
            raise RunnerError(describe(cause)) from None
        raise ActorLostError(f"{name}: its actor is gone: {first_cause(str(error))}") from None


def first_cause(text: str) -> str:
    """The reason in Ray's message about a dead actor."""
    line = " ".join(text.split())
    found = re.search(
        r"(?:is dead|died) because (.+)|unavailable: (?:The actor is temporarily unavailable: )?(.+)", line
    )
    reason = next(filter(None, found.groups())) if found else line
    return re.split(r"\.? (?:Worker exit type|Some common causes|The task may)", reason)[0].rstrip(". ")[:_LONGEST]
