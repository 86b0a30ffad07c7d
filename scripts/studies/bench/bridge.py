"""Speed of the bridge to Dolphin: beside libmelee alone, with a policy's answers, and at 60 frames a second."""

from __future__ import annotations

import os
import random
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any, Final

import melee
import numpy as np
import psutil

from envs.melee.controller import BUTTONS
from envs.melee.dolphin.install import SLIPPI_PORT, free_port
from envs.melee.dolphin.menus import Menus, Plan
from envs.melee.dolphin.pad import Pad
from envs.melee.mock import neutral_actions
from envs.melee.tables import CHARACTERS, STAGES
from envs.registry import find_game
from selfplay.checkpoint import ActionHeads
from selfplay.config.fighting import NetConfig
from selfplay.policy.inference_batcher import InferenceBatcher
from selfplay.policy.network import build_network
from selfplay.policy.recurrent_state import Infer, infer_directly
from selfplay.runner.block import Block
from selfplay.runner.process_game import ProcessGame
from selfplay.runner.segment import SegmentOrder

if TYPE_CHECKING:
    from scripts.studies.pages import Figures
    from selfplay.policy.network import ActorCritic

CHUNK: Final = 240  # frames of a sample
FRESH_PRESSES: Final = 0.12  # share of frames on which a button is down, as with a fresh policy
CHARACTER: Final = "fox"
STAGE: Final = "final_destination"
CAP: Final = 28_800
PACE: Final = 60.0  # frames a second of the game itself
NUM_PACED: Final = 4


@dataclass(frozen=True, slots=True)
class Place:
    """A Dolphin and its disc image."""

    dolphin: Path
    iso: Path


class Bare:
    """The usual loop with libmelee: step, decide, press; only the choice of buttons is ours."""

    def __init__(self, place: Place, slot: int) -> None:
        self._console = melee.Console(
            path=str(place.dolphin),
            slippi_port=free_port(SLIPPI_PORT, slot, 8),
            blocking_input=True,
            save_replays=False,
            emulation_speed=0,
            fullscreen=False,
        )
        controllers = [melee.Controller(self._console, port) for port in (1, 2)]
        self._console.run(iso_path=str(place.iso))
        if not self._console.connect() or not all(controller.connect() for controller in controllers):
            self.close()
            raise RuntimeError("libmelee could not connect")
        self._controllers = controllers
        self._rng = random.Random(0)
        self._to_game()

    def _to_game(self) -> None:
        plans = [Plan(Pad(controller), CHARACTERS[CHARACTER]) for controller in self._controllers]
        menus = Menus(plans, STAGES[STAGE], melee.MenuHelper(), person=False)
        while (state := self._console.step()).menu_state is not melee.Menu.IN_GAME or state.frame < 0:
            menus.press(state)
        for controller in self._controllers:
            controller.release_all()

    def play(self) -> None:
        """Play one sample."""
        for _ in range(CHUNK):
            if self._console.step().menu_state is not melee.Menu.IN_GAME:
                self._to_game()
            for controller in self._controllers:
                _press(controller, self._rng)

    def close(self) -> None:
        """Stop it."""
        self._console.stop()


def _press(controller: Any, rng: random.Random) -> None:  # noqa: ANN401
    """Press random buttons like a fresh policy, with libmelee's functions; only changed buttons are sent."""
    for name in BUTTONS:
        button, down = melee.Button(name), rng.random() < FRESH_PRESSES
        if down != controller.current.button[button]:
            (controller.press_button if down else controller.release_button)(button)
    controller.tilt_analog(melee.Button.BUTTON_MAIN, rng.randrange(17) / 16, rng.randrange(17) / 16)
    controller.tilt_analog(melee.Button.BUTTON_C, rng.randrange(17) / 16, rng.randrange(17) / 16)
    controller.press_shoulder(melee.Button.BUTTON_L, rng.randrange(5) / 4)


def _options(place: Place, slot: int, frame_skip: int) -> dict[str, Any]:
    return {
        "num_games": 1,
        "dolphin": str(place.dolphin),
        "iso": str(place.iso),
        "slot": slot,
        "slots": 8,
        "characters": [CHARACTER, CHARACTER],
        "stage": STAGE,
        "frame_skip": frame_skip,
        "bot_skip": 1,
        "max_episode_frames": CAP,
    }


class Inside:
    """The worker's loop: scripted players decide in the worker, and long steps need few messages."""

    SKIP: Final = 30

    def __init__(self, place: Place, slot: int) -> None:
        self._game = ProcessGame("dolphin", _options(place, slot, self.SKIP))
        self._game.bots[:] = self._game.bot_names.index("random")
        self._game.reset(np.array([0], np.uint64))

    def play(self) -> None:
        """Play one sample."""
        for _ in range(CHUNK // self.SKIP):
            self._game.step(neutral_actions(1))

    def close(self) -> None:
        """Stop it."""
        self._game.close()


class Asked:
    """A policy in the trainer decides on every frame, for both seats."""

    def __init__(self, place: Place, slot: int, network: ActorCritic, ask: Infer = infer_directly) -> None:
        self._network = network
        self._block = Block(ProcessGame("dolphin", _options(place, slot, frame_skip=1)), slot, ask)
        self.play()

    def play(self) -> None:
        """Play one sample."""
        self._block.collect(SegmentOrder(0, CHUNK, 0, self._network, {}, ())).release()

    def close(self) -> None:
        """Stop it."""
        self._block.close()


def a_network() -> ActorCritic:
    """A fresh network of the default size."""
    game = find_game("dolphin")
    heads = ActionHeads(binary=game.actions.binary, sizes=game.actions.sizes)
    return build_network(NetConfig().spec(game.obs_width), heads).requires_grad_(requires_grad=False)


def unpaced(place: Place, rounds: int, notify: Callable[[str], object]) -> Figures:
    """Microseconds a frame: libmelee alone, decided inside the worker, answered by a policy. Samples take turns."""
    network = a_network()
    with ExitStack() as stack:
        bare = stack.enter_context(closing(Bare(place, 0)))
        inside = stack.enter_context(closing(Inside(place, 1)))
        asked = stack.enter_context(closing(Asked(place, 2, network)))
        parts = {"libmelee_alone": bare.play, "inside_worker": inside.play, "policy_every_frame": asked.play}
        samples: dict[str, list[float]] = {name: [] for name in parts}
        for number in range(rounds):
            for name, play in parts.items():
                started = time.perf_counter()
                play()
                samples[name].append((time.perf_counter() - started) / CHUNK * 1e6)
            if number % 10 == 9:
                notify(", ".join(f"{name} {median(values):.0f} us" for name, values in samples.items()))
    alone, worker, policy = (median(values) for values in samples.values())
    return {
        **{f"{name}_us_per_frame": median(values) for name, values in samples.items()},
        "inside_to_alone": worker / alone,
        "policy_more_us_per_frame": policy - alone,
        "policy_more_than_inside_us_per_frame": policy - worker,
        "samples_of_each": rounds,
        "frames_of_a_sample": CHUNK,
    }


def paced(place: Place, seconds: float, notify: Callable[[str], object], instances: int = NUM_PACED) -> Figures:
    """Figures of instances at 60 frames a second, with one policy that answers every frame of all of them."""
    network = a_network()
    with ExitStack() as stack:
        ask = InferenceBatcher()
        blocks = [stack.enter_context(closing(Asked(place, slot, network, ask))) for slot in range(instances)]
        notify(f"{instances} instances play for {seconds:g} s")
        rates: list[list[float]] = [[] for _ in blocks]
        stop = threading.Event()

        def work(index: int) -> None:
            while not stop.is_set():
                started = time.perf_counter()
                blocks[index].play()
                rates[index].append(CHUNK / (time.perf_counter() - started))

        with _used() as used:
            threads = [threading.Thread(target=work, args=(i,)) for i in range(instances)]
            for thread in threads:
                thread.start()
            time.sleep(seconds)
            stop.set()
            for thread in threads:
                thread.join()
    cores = used["cores"]
    return {
        **{f"instance_{i}_frames_per_s": median(rate) for i, rate in enumerate(rates)},
        "slowest_sample_frames_per_s": min(min(rate) for rate in rates),
        "paced_instances": instances,
        "cores_used": cores,
        "trainer_cores_used": used["trainer_cores"],
        "instances_a_core": instances / cores,
        "memory_mb_an_instance": used["megabytes"] / instances,
        "pipes_an_instance": used["pipes"] / instances,
        "processes_an_instance": used["processes"] / instances,
    }


@contextmanager
def _used() -> Iterator[dict[str, float]]:
    """Processor time, memory and pipes of this process and its children, written into the dictionary at the end."""
    used: dict[str, float] = {}
    me = psutil.Process()
    family = [me, *me.children(recursive=True)]
    before, started = [_seconds(one) for one in family], time.perf_counter()
    yield used
    took = time.perf_counter() - started
    spent = [_seconds(one) - earlier for one, earlier in zip(family, before, strict=True)]
    others = [one for one in family[1:] if one.is_running()]
    used["cores"] = sum(spent) / took
    used["trainer_cores"] = spent[0] / took
    used["megabytes"] = sum(_megabytes(one) for one in others)
    used["processes"] = len(others)
    used["pipes"] = sum(_pipes(one.pid) for one in others)


def _seconds(process: psutil.Process) -> float:
    times = process.cpu_times()
    return float(times.user + times.system)


def _megabytes(process: psutil.Process) -> float:
    """Memory of a process; shared memory is split among its users if the system reports it."""
    info = process.memory_full_info()
    return float(getattr(info, "pss", info.rss)) / (1 << 20)


def _pipes(pid: int) -> int:
    """Ends of pipes that a process has open, 0 if the system does not report it."""
    folder = Path(f"/proc/{pid}/fd")
    if not folder.is_dir():
        return 0
    count = 0
    for one in folder.iterdir():
        try:
            target = os.readlink(one)
        except OSError:
            continue
        count += target.startswith("pipe:") or "/Pipes/" in target
    return count
