"""Runs that need more memory than there is are refused, by an estimate that measured runs confirm."""

import re
import sys
import textwrap

import pytest

from selfplay.cli.ppo import parse
from selfplay.config.resolve import with_defaults
from selfplay.errors import ConfigError
from selfplay.memory_limits import GB, Available
from selfplay.ppo import memory
from selfplay.ppo.memory import FILES_MB, MB, check_memory, estimate
from tests.support.processes import finish

MEASURED = textwrap.dedent(
    """
    import sys
    import threading

    from selfplay.commands.cli.train import main

    done = threading.Event()
    peak = 0

    def sample():
        global peak
        while not done.wait(0.005):
            with open("/proc/self/status") as status:
                now = next(int(line.split()[1]) for line in status if line.startswith("RssAnon"))
            peak = max(peak, now)

    thread = threading.Thread(target=sample)
    thread.start()
    try:
        code = main()
    finally:
        done.set()
        thread.join()
    print("peak", peak // 1024)
    sys.exit(code)
    """
)
"""Prints the peak of anonymous memory. VmHWM would count mapped files too, and how many of their pages are resident
depends on what else the machine does."""


def config_of(*arguments):
    return with_defaults(parse(["--preset", "none", *map(str, arguments)]).config)


@pytest.fixture(autouse=True)
def _sixteen_gigabytes(monkeypatch):
    monkeypatch.setattr(memory, "available_memory", lambda: Available(15 * GB, "this machine"))
    monkeypatch.setattr(memory, "resident_memory", lambda: GB)


@pytest.mark.parametrize(
    ("arguments", "flag"),
    [
        (("--num-games", "1e9"), "--num-games 1000000000"),
        (("--num-games", "1e7"), "--num-games 10000000"),
        (("--rollout-length", "1e9"), "--rollout-length 1000000000"),
        (("--game-type", "kuhn", "--num-games", "1e9"), "--num-games 1000000000"),
        (("--game-type", "kuhn", "--num-games", "1e9", "--rollout-length", "1"), "--num-games 1000000000"),
        (("--game-type", "dolphin", "--num-games", "1e4"), "--num-games 10000"),
        (("--hidden", ",".join(["8192"] * 32)), "--hidden 8192,8192,"),
        (("--backbone", "gru", "--hidden", ",".join(["8192"] * 64)), "--hidden 8192,8192,"),
        (("--host", "process", "--num-games", "1000", "--runners", "500"), "--runners 500"),
        (
            ("--hidden", "8192", "--num-games", "4096", "--rollout-length", "64", "--batch-size", "1e9"),
            "--batch-size 1000000000",
        ),
    ],
)
def test_too_much_is_refused_with_the_flag_to_lower(arguments, flag):
    with pytest.raises(ConfigError) as caught:
        check_memory(config_of(*arguments), resumed=False)
    message = str(caught.value)
    start = r"the run needs about [\d.,]+ [TPEG]B of memory, and this machine has 16\.0 GB for it: lower "
    assert re.match(start, message)
    assert flag in message
    assert "\n" not in message


def test_a_resumed_run_cannot_become_smaller(monkeypatch):
    monkeypatch.setattr(memory, "available_memory", lambda: Available(0, "this container"))
    monkeypatch.setattr(memory, "resident_memory", lambda: GB // 4)
    with pytest.raises(ConfigError, match=r"this container has 256 MB for it: resume it where there is more"):
        check_memory(config_of(), resumed=True)


def test_a_machine_that_is_too_small_for_the_libraries(monkeypatch):
    monkeypatch.setattr(memory, "resident_memory", lambda: 0)
    monkeypatch.setattr(memory, "available_memory", lambda: Available(GB // 4, "this machine"))
    with pytest.raises(ConfigError, match=r"this machine has 256 MB for it: end what else uses memory"):
        check_memory(config_of(), resumed=False)


@pytest.mark.parametrize("arguments", [(), ("--preset", "laptop"), ("--game-type", "kuhn"), ("--mode", "league")])
def test_what_is_usual_passes(arguments):
    config = config_of(*arguments)
    check_memory(config, resumed=False)
    assert estimate(config).total < GB


def test_where_nothing_is_known_nothing_is_refused(monkeypatch):
    monkeypatch.setattr(memory, "available_memory", lambda: None)
    check_memory(config_of("--num-games", "1e9"), resumed=False)


@pytest.mark.parametrize("backbone", ["gru", "lstm", "mamba", "attention"])
def test_networks_with_memory_need_more(backbone):
    plain, recurrent = (estimate(config_of("--num-games", 64, "--backbone", name)) for name in ("mlp", backbone))
    assert recurrent.minibatches > plain.minibatches
    assert recurrent.segments > plain.segments


@pytest.mark.full
@pytest.mark.skipif(sys.platform != "linux", reason="peaks are read from /proc")
@pytest.mark.parametrize(("games", "steps"), [(4, 16), (2000, 64)], ids=["small", "large"])
def test_the_estimate_is_near_the_measured_peak(tmp_path, games, steps):
    size = (
        "--game-type",
        "kuhn",
        "--num-games",
        games,
        "--rollout-length",
        steps,
        "--runners",
        2,
        "--set",
        "run.threads=2",
    )
    # In one iteration alone, the peaks of both runners and of the update may miss each other: with 4,000 games 549 to
    # 591 MB in six runs, and 464 on a busy machine. In four iterations they were 635 to 645 MB.
    flags = (*size, "--timesteps", 4 * games * steps, "--ppo-epochs", 1)
    estimated, peak = estimate(config_of(*size)).total / MB - FILES_MB, 0
    for run in range(3):
        command = [sys.executable, "-c", MEASURED, *map(str, flags), "--checkpoint", tmp_path / f"run_{run}"]
        done = finish([str(word) for word in command], check=True)
        peak = max(peak, int(re.search(r"^peak (\d+)$", done.stdout, re.MULTILINE)[1]))
        if estimated <= 1.3 * peak:
            break
    assert peak / 1.3 < estimated < 1.6 * peak  # peaks miss each other more on a busy machine: 655 and 454 MB
