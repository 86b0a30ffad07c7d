"""Rules for every test: nothing is left behind, nothing blocks the loop, compiling does not count as testing."""

import asyncio
import asyncio.coroutines
import asyncio.format_helpers
import asyncio.runners
import contextlib
import gc
import multiprocessing
import os
import sys
import threading
import time
import weakref
from asyncio.selector_events import _SelectorTransport as SelectorTransport
from collections.abc import Callable, Generator, Iterator
from pathlib import Path

import pytest
import pytest_timeout
from blockbuster import BlockBuster
from hypothesis import settings

from selfplay.supervision import tasks as supervision_tasks
from tests.support.dialogue_checks import (
    pytest_runtest_logreport,  # noqa: F401  (hooks of pytest)
    pytest_sessionfinish,  # noqa: F401  (hooks of pytest)
)

# Waiting threads of OpenMP sleep instead of spinning; must be set before torch or Numba start theirs.
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
settings.register_profile("selfplay", settings(), deadline=None)  # no test asserts how fast something is
settings.load_profile("selfplay")

GRACE_S = 60.0  # how long a thread or process may take to end after its test, on a busy machine, too
SETUP_S = 540.0  # limit for fixtures: the first that compiles the rules may take minutes
PLAYS_GAMES = tuple(  # whose tests run the rules
    Path(__file__).parent / name
    for name in (
        "commands", "compilation", "dialogue", "evaluation", "games", "hostile", "imitation", "melee", "policy/browser",
        "ppo", "run", "runner", "scripts", "studies", "support",
    )
)  # fmt: skip
COVERS = tuple(Path(__file__).parent / name for name in ("league", "learner", "rollout", "supervision"))


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Tests beside other trainers import those for seconds: only where they are asked for."""
    return True if collection_path.name == "extras" and "not extras" in config.option.markexpr else None


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Collecting makes millions of objects that stay; to search them for garbage took a quarter of its time."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()  # nor are they searched in the tests
        gc.enable()


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Tests that play games get the rules compiled before their time-out starts to count, and by one process only.

    The first file plays games and the next ones do not: of two processes that share the files, one compiles while the
    other runs those. Files with the most tests come first, so that none is left with a long file at the end.
    """
    files: dict[Path, list[pytest.Item]] = {}
    for item in items:
        files.setdefault(item.path, []).append(item)
        if _plays_games(item.path) and isinstance(item, pytest.Function):
            item.fixturenames.insert(0, "compiled_rules")  # a usefixtures mark would come too late here
        if not any(item.path.is_relative_to(folder) for folder in COVERS):
            item.add_marker("no_cover")  # tracing makes tests a third slower, and those of the packages cover them
    order = sorted(files, key=lambda path: (_plays_games(path), -_work(files[path])))
    playing = [path for path in order if _plays_games(path)]
    if playing:
        order.remove(playing[0])
        order.insert(0, playing[0])
    items[:] = [item for path in order for item in files[path]]


def _plays_games(path: Path) -> bool:
    return any(path.is_relative_to(folder) for folder in PLAYS_GAMES)


def _work(items: list[pytest.Item]) -> int:
    """Of the tests of a file: those that are marked ``full`` take longer."""
    return sum(50 if item.get_closest_marker("full") else 1 for item in items)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_setup(item: pytest.Item) -> Generator[None, object, object]:
    with _limit(item, SETUP_S):
        return (yield)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_teardown(item: pytest.Item) -> Generator[None, object, object]:
    with _limit(item, getattr(item.config, "_env_timeout", None)):
        return (yield)


@contextlib.contextmanager
def _limit(item: pytest.Item, seconds: float | None) -> Iterator[None]:
    """A time limit for fixtures: pytest-timeout has one for the whole test, and one for the function alone."""
    if not getattr(item.config, "_env_timeout", None):  # none is wanted
        yield
        return
    settings = pytest_timeout.Settings(seconds, item.config._env_timeout_method, True, False)
    item.config.hook.pytest_timeout_set_timer(item=item, settings=settings)
    try:
        yield
    finally:
        item.config.hook.pytest_timeout_cancel_timer(item=item)


@pytest.fixture(scope="session")
def compiled_rules() -> None:
    """Compile the mock fighter, or load it from Numba's cache."""
    import numpy as np

    from selfplay_melee import controller
    from selfplay_melee.mock import MockMelee

    game = MockMelee(num_games=2)
    game.reset(np.arange(2, dtype=np.uint64))
    game.step(np.broadcast_to(controller.NEUTRAL, (2, 2, controller.ACTION_SPEC.width)).copy())


@pytest.fixture(autouse=True)
def nothing_left_behind(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Fail a test that leaves an asyncio task, a connection, a thread or a child process; see the marker ``leaves``.

    A connection that its closed loop has not closed would warn in a later test, in which it is collected as garbage.

    In the full suite loops are in debug mode, which finds calls from other threads and the origin of coroutines that
    were never awaited, and doubles what tests of supervision take. Elsewhere PYTHONASYNCIODEBUG=1 asks for it.
    """
    allowed = {marker.args[0] for marker in request.node.iter_markers("leaves")}
    tasks: list[str] = []
    cancel_all = asyncio.runners._cancel_all_tasks

    def note_and_cancel(loop: asyncio.AbstractEventLoop) -> None:
        tasks.extend(repr(task) for task in asyncio.all_tasks(loop))
        cancel_all(loop)

    leave = supervision_tasks._leave

    async def note_and_leave() -> None:
        tasks.extend(repr(task) for task in asyncio.all_tasks() if task is not asyncio.current_task())
        await leave()

    transports: weakref.WeakSet[SelectorTransport] = weakref.WeakSet()
    init = SelectorTransport.__init__

    def note_and_init(transport: SelectorTransport, *args: object, **kwargs: object) -> None:
        init(transport, *args, **kwargs)
        transports.add(transport)

    monkeypatch.setattr(SelectorTransport, "__init__", note_and_init)
    monkeypatch.setattr(asyncio.runners, "_cancel_all_tasks", note_and_cancel)
    monkeypatch.setattr(supervision_tasks, "_leave", note_and_leave)
    if "not full" not in request.config.option.markexpr:
        monkeypatch.setattr(asyncio.coroutines, "_is_debug_mode", lambda: True)
        # The stack of each callback is not kept: debug mode takes a third less without.
        monkeypatch.setattr(asyncio.format_helpers, "extract_stack", lambda frame=None, limit=None: [])
    threads = set(threading.enumerate())
    known = _child_pids()
    yield
    left = {"task": tasks, "connection": [repr(t) for t in transports if t._sock is not None and t._loop.is_closed()]}
    if "thread" not in allowed:
        left["thread"] = _after_grace(lambda: [t.name for t in threading.enumerate() if t not in threads])
    if "process" not in allowed:
        left["process"] = _after_grace(lambda: _commands(_child_pids() - known))
    found = [f"{kind}: {what}" for kind, what in left.items() if what and kind not in allowed]
    if found:
        pytest.fail("left behind " + "; ".join(found), pytrace=False)


@pytest.fixture(scope="session")
def _blocking_calls() -> BlockBuster:
    """The calls that block, made once: that takes as long as a small test."""
    calls = BlockBuster(["selfplay"])
    # httpcore tries `import sniffio` per request; two threads that do so wait for one import lock.
    acquire = calls.functions["threading.Lock.acquire"].can_block_in("<frozen importlib._bootstrap>", "acquire")
    acquire.can_block_in("coverage/collector.py", "lock_data")  # its tracer, while another thread begins
    return calls


@pytest.fixture(autouse=True)
def _responsive_loop(request: pytest.FixtureRequest, _blocking_calls: BlockBuster) -> Iterator[None]:
    """Code of ours that blocks the event loop raises; see the marker ``blocking``."""
    if request.node.get_closest_marker("blocking") is not None:
        yield
        return
    _blocking_calls.activate()
    yield
    _blocking_calls.deactivate()


def _after_grace(left: Callable[[], list[str]]) -> list[str]:
    """What is still left once things that are ending have ended."""
    deadline = time.monotonic() + GRACE_S
    while (what := left()) and time.monotonic() < deadline:
        time.sleep(0.01)
    return what


def _child_pids() -> set[int]:
    """Process ids of the children, ended ones that were not waited for included.

    A process that has just been started has no command line yet, so commands cannot tell which were there before.
    """
    if sys.platform == "linux" and not _has_children():
        return set()
    found = {child.pid for child in multiprocessing.active_children() if child.pid is not None}
    if sys.platform == "linux":
        for task in Path("/proc/self/task").iterdir():
            found.update(map(int, _read(task / "children").split()))
    return found


def _commands(pids: set[int]) -> list[str]:
    """What runs; the resource tracker of multiprocessing stays for the session."""
    if sys.platform != "linux":
        return sorted(f"{child.name} {child.pid}" for child in multiprocessing.active_children() if child.pid in pids)
    commands = {pid: _read(Path(f"/proc/{pid}/cmdline")).replace("\0", " ").strip() for pid in pids}
    stays = ("resource_tracker", "forkserver")
    return sorted(f"{line} {pid}" for pid, line in commands.items() if line and not any(name in line for name in stays))


def _has_children() -> bool:
    """Whether this process has any, ended or not: one call to the system, for the many tests that start none."""
    try:
        os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
    except ChildProcessError:
        return False
    return True


def _read(path: Path) -> str:
    """A file of /proc, empty once its process or thread has ended."""
    try:
        return path.read_bytes().decode(errors="replace")
    except (FileNotFoundError, ProcessLookupError):
        return ""
