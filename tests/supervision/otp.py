"""Plays recorded OTP scenarios against this package, in the format of vectors.jsonl.

A scenario gives a tree and steps; after each step the reply, the events, the children, the living incarnations and the
state of the top supervisor are compared. Children have hosts that can be killed, as Erlang's processes can.
"""

from __future__ import annotations

import asyncio
import math
from collections import deque
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from selfplay.supervision import (
    NORMAL,
    SHUTDOWN,
    AlreadyStartedError,
    ChildError,
    ChildSpec,
    Context,
    ExitReason,
    Ignore,
    NotRunningError,
    Refuse,
    Report,
    Shutdown,
    SpecError,
    StartError,
    Supervisor,
    SupervisorEnded,
    SupervisorSpec,
    SupervisorStarted,
    SupervisorStartFailed,
    SupervisorStarting,
)
from tests.support.fake_clock import FakeClock

Json = Any
TOP = "top"


class Killed(Exception):
    """How a killed host looks to the coroutine that waits for it."""


class Crash(Exception):
    """An abnormal end."""


@dataclass(eq=False)
class Host:
    """Where one incarnation of a worker lives."""

    orders: asyncio.Queue[Json] = field(default_factory=asyncio.Queue)
    killed: bool = False

    def kill(self) -> None:
        self.killed = True
        self.orders.put_nowait("kill")


class Scenario:
    """One line of vectors.jsonl, played."""

    def __init__(self, recorded: Json) -> None:
        self.recorded = recorded
        self.clock = FakeClock()
        self.events: list[Json] = []
        self.alive: set[tuple[str, int]] = set()
        self.hosts: dict[str, Host] = {}  # newest incarnation of each worker
        self.paths: dict[str, str] = {}  # of each supervisor
        self.failures: dict[str, deque[str]] = {id: deque(hows) for id, hows in recorded["prefail"]}
        self.top: Supervisor | None = None
        self.exit: Json = None  # of a top supervisor that could not even be made or started

    def play(self) -> list[Json]:
        """Plays all steps; returns what was seen in the shape of the recorded trace."""
        return self.clock.run(self._play())

    async def _play(self) -> list[Json]:
        try:
            return [await self._step(entry["step"]) for entry in self.recorded["trace"]]
        finally:
            if self.top is not None and self.top.host is not None:
                self.top.kill()
                await self.top.wait()
                await self.clock.settle()

    async def _step(self, step: Json) -> Json:
        name, *arguments = step
        reply = await getattr(self, f"_do_{name}")(*arguments)
        await self.clock.settle()
        return {
            "step": step,
            "reply": reply,
            "events": self._take_events(),
            "children": self._children(),
            "alive": sorted([id, incarnation] for id, incarnation in self.alive),
            "sup": self._state(),
        }

    # ---- the tree

    def _supervisor_spec(self, flags: Json, children: Json) -> SupervisorSpec:
        known = {name: flags[name] for name in ("strategy", "intensity", "auto_shutdown") if name in flags}
        if "period" in flags:
            known["period_s"] = flags["period"]
        return SupervisorSpec(children=tuple(map(self._child_spec, children)), **known)

    def _child_spec(self, spec: Json) -> ChildSpec:
        shutdown = spec.get("shutdown")
        if shutdown == "infinity":
            shutdown = math.inf
        elif isinstance(shutdown, int | float):
            shutdown = shutdown / 1000
        start = self._supervisor_spec(*spec["sup"]) if "sup" in spec else partial(self._worker, spec.get("kind"))
        return ChildSpec(
            spec["id"],
            start,
            restart=spec.get("restart", "permanent"),
            shutdown_s=shutdown,
            significant=spec.get("significant", False),
        )

    async def _worker(self, kind: str | None, ctx: Context) -> None:
        name = [ctx.id, ctx.incarnation]
        how = self.failures[ctx.id].popleft() if self.failures.get(ctx.id) else None
        if how is not None:
            self.events.append(["start_ignored" if how == "ignore" else "start_failed", *name])
            raise {"error": Refuse("refused"), "crash": Crash("crash"), "ignore": Ignore()}[how]
        host = self.hosts[ctx.id] = Host()
        ctx.on_kill(host.kill)
        self.alive.add((ctx.id, ctx.incarnation))
        self.events.append(["started", *name])
        ctx.ready()
        try:
            while True:
                try:
                    await self._obey(name, host)
                    return
                except asyncio.CancelledError as asked:
                    if host.killed:
                        raise
                    self.events.append(["ignored_shutdown" if kind == "stubborn" else "stopped", *name, asked.args[0]])
                    if kind == "dirty":
                        raise Crash("dirty") from asked
                    if kind != "stubborn":
                        raise
        finally:
            self.alive.discard((ctx.id, ctx.incarnation))

    async def _obey(self, name: Json, host: Host) -> None:
        reason = await host.orders.get()
        if host.killed:
            raise Killed
        self.events.append(["exited", *name, reason])
        if reason == "shutdown":
            raise Shutdown
        if isinstance(reason, list) and reason[0] == "shutdown":
            raise Shutdown(reason[1])
        if reason != "normal":
            raise Crash(reason)

    def _on_report(self, report: Report) -> None:
        if not isinstance(report, SupervisorStarting | SupervisorStarted | SupervisorStartFailed | SupervisorEnded):
            return
        id = report.supervisor.rpartition("/")[2]
        name = (id, report.incarnation)
        match report:
            case SupervisorStarting():
                self.paths[id] = report.supervisor.partition("/")[2]
                self.alive.add(name)
                self.events.append(["sup_starting", *name])
            case SupervisorStarted():
                self.events.append(["sup_started", *name])
            case SupervisorStartFailed():
                self.alive.discard(name)
                self.events.append(["sup_start_failed", *name])
            case SupervisorEnded():
                self.alive.discard(name)

    # ---- the steps

    async def _do_start(self) -> Json:
        try:
            spec = self._supervisor_spec(self.recorded["flags"], self.recorded["children_spec"])
            self.top = Supervisor(spec, name=TOP, clock=self.clock, on_report=self._on_report)
            await self.top.start()
        except SpecError as error:
            self.events += [["sup_starting", TOP, 1], ["sup_start_failed", TOP, 1]]
            self.exit = ["start_spec", error.code]
            return ["error", self.exit]
        except StartError as error:
            return ["error", _reason(error.reason)]
        return ["ok", [TOP, 1]]

    async def _do_crash(self, id: str, reason: Json) -> Json:
        if id in self.hosts:  # a message to the dead is lost
            self.hosts[id].orders.put_nowait(reason)
        return "ok"

    async def _do_kill(self, id: str) -> Json:
        if id in self.hosts:
            self.hosts[id].kill()
        return "ok"

    async def _do_kill_sup(self, id: str) -> Json:
        (self.top if id == TOP else self.top.find(self.paths[id], Supervisor)).kill()
        return "ok"

    async def _do_fail_next(self, id: str, hows: list[str]) -> Json:
        self.failures[id] = deque(hows)
        return "ok"

    async def _do_sleep(self, milliseconds: float) -> Json:
        await self.clock.sleep(milliseconds / 1000)
        return "ok"

    async def _do_count(self) -> Json:
        try:
            counts = self.top.count_children()
        except NotRunningError:
            return ["exit", "noproc"]
        return [[kind, getattr(counts, kind)] for kind in ("specs", "active", "supervisors", "workers")]

    async def _do_start_child(self, spec: Json) -> Json:
        return await self._call(lambda: self.top.start_child(self._child_spec(spec)), gives_child=True)

    async def _do_terminate_child(self, id: str) -> Json:
        return await self._call(lambda: self.top.terminate_child(id))

    async def _do_restart_child(self, id: str) -> Json:
        return await self._call(lambda: self.top.restart_child(id), gives_child=True)

    async def _do_delete_child(self, id: str) -> Json:
        return await self._call(lambda: self.top.delete_child(id))

    async def _do_stop_sup(self, reason: Json) -> Json:
        before = self.clock.time()
        if reason == "kill":
            self.top.kill()
            await self.top.wait()
        else:
            await self.top.stop(_exit_reason(reason))
        return ["took_about_ms", round((self.clock.time() - before) * 10) * 100]

    async def _call(self, call: Any, *, gives_child: bool = False) -> Json:
        try:
            child = await call()
        except NotRunningError:
            return ["exit", "noproc"]
        except AlreadyStartedError as error:
            return ["error", [error.code, [error.ref.id, error.ref.incarnation]]]
        except (ChildError, SpecError) as error:
            return ["error", error.code]
        except StartError as error:
            return ["error", _reason(error.reason)]
        if not gives_child:
            return "ok"
        return ["ok", None if child is None else [child.id, child.incarnation]]

    # ---- what is seen

    def _take_events(self) -> list[Json]:
        events, self.events = self.events, []
        return events

    def _children(self) -> Json:
        if self.top is None or not self.top.alive:
            return []
        shown = {"running": lambda row: [row.ref.id, row.ref.incarnation], "restarting": lambda row: "restarting"}
        return [[row.id, shown.get(row.state, lambda row: None)(row)] for row in self.top.which_children()]

    def _state(self) -> Json:
        if self.exit is not None:
            return ["exited", self.exit]
        if self.top.alive:
            return "alive"
        return ["exited", _reason(self.top.host.reason)]


def _reason(reason: ExitReason) -> Json:
    if reason.kind == "shutdown" and reason.detail is not None:
        return ["shutdown", *reason.detail] if isinstance(reason.detail, tuple) else ["shutdown", reason.detail]
    if reason.kind != "error":
        return reason.kind
    return "EXIT" if reason.detail is None else reason.detail  # {'EXIT', ...} is what a raising start function gives


def _exit_reason(reason: Json) -> ExitReason:
    if reason == "normal":
        return NORMAL
    if reason == "shutdown":
        return SHUTDOWN
    if isinstance(reason, list) and reason[0] == "shutdown":
        return ExitReason("shutdown", detail=reason[1])
    return ExitReason("error", detail=reason)
