"""A sweep from its first round to its results; one that was ended, however that was, goes on where it stood."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING

from selfplay.sweep.cells import Cell, CellFile, Folder, Measured, check_contained
from selfplay.sweep.jobs import Host, Job, run_jobs
from selfplay.sweep.judging import Measure, measured, ratings_of
from selfplay.sweep.methods import JudgedRound, Round, next_round
from selfplay.sweep.plan import spelled
from selfplay.sweep.results import Results, write_results
from selfplay.sweep.settings import OptunaSearch
from selfplay.sweep.standings import Entry, standings

if TYPE_CHECKING:
    from selfplay.sweep.plan import Plan
    from selfplay.sweep.space import Values


@dataclass(eq=False)
class Sweep:
    """What is trained in a folder.

    ``host`` trains and plays. ``notice`` gets a line for each cell that ends, ``progress`` how many of the cells to
    train in this round have ended, and their number. Once ``stopped`` says so, trainers save and end.
    """

    plan: Plan
    measure: Measure
    folder: Folder
    host: Host
    notice: Callable[[str], object] = lambda _: None
    progress: Callable[[int, int], object] = lambda done, total: None
    stopped: Callable[[], bool] = lambda: False
    _errors: dict[str, str] = field(default_factory=dict)
    _entries: dict[int, Entry] = field(default_factory=dict)
    _rows: dict[float, list[Sequence[Cell]]] = field(default_factory=dict)  # judged cells by length

    def run(self) -> Results | None:
        """The results; None if the sweep was stopped. Blocks."""
        if not isinstance(self.plan.asked.method, OptunaSearch):
            check_contained(self.folder.settings, self.plan.first, self.folder.path)
        done: list[JudgedRound] = []
        while (planned := next_round(self.plan, done, self.folder.settings)) is not None:
            self.folder.begin(planned.settings, self.measure.by)
            cells = [[self.folder.cell(values, seed) for seed in self._seeds] for values in planned.settings]
            if not self._train([cell for row in cells for cell in row], planned.share):
                return None
            done.append(self._judged(planned, cells))
            write_results(self.folder.path, self._results())
        return self._results()

    @property
    def _seeds(self) -> tuple[int, ...]:
        return self.plan.asked.seeds

    def _train(self, cells: Sequence[Cell], share: float) -> bool:
        """Train and measure all cells that have no result yet; False if the sweep was stopped."""
        todo = {cell.name: cell for cell in cells if cell.measured(share) is None}
        finished = len(cells) - len(todo)
        if finished:
            self.notice(f"{finished} of {len(cells)} cells are there already")
        given = {name: self._job(cell, share) for name, cell in todo.items()}
        left = len(todo)

        def ended(name: str, result: Measured | str, seconds: float) -> None:
            nonlocal left
            left -= 1
            self.notice(f"{name}: {self._end(todo[name], result)}, {seconds:.0f} s")
            self.progress(len(todo) - left, len(todo))

        for cell in todo.values():
            cell.write(cell.read())
        run_jobs(given, self.host, ended, self.stopped, self.notice)
        return left == 0

    def _job(self, cell: Cell, share: float) -> Job:
        given = self.plan.given(cell.values, cell.seed, share)
        where = ("train", "--game-type", self.plan.game, "--checkpoint", str(cell.run.path))

        def words(values: Values, *start: str) -> tuple[str, ...]:
            named = {"run.threads": self.host.threads, **values}
            sets = [word for name, value in named.items() for word in ("--set", f"{name}={spelled(value)}")]
            return (*where, *start, *sets)

        return Job(
            cell.run,
            begin=words(given, "--preset", self.plan.asked.preset),
            resume=words(self.plan.named_again(given), "--resume"),
            log=cell.log,
            judge=partial(measured, cell.run, self.plan, self.measure, share),
        )

    def _end(self, cell: Cell, result: Measured | str) -> str:
        """Keep the result of a cell whose trainer has ended; it in words."""
        before = cell.read()
        if isinstance(result, str):
            self._errors[cell.name] = result
            cell.write(before.model_copy(update={"error": result}))
            return f"failed, {result}"
        cell.write(CellFile(values=cell.values, seed=cell.seed, measured=(*before.measured, result)))
        return "trained" if result.strength is None else f"{self.measure.name} {self.measure.figure(result.strength)}"

    def _judged(self, planned: Round, cells: Sequence[Sequence[Cell]]) -> JudgedRound:
        """The strength of each setting: the mean over its seeds. Games are between all cells of equal length."""
        rows = self._rows.setdefault(planned.share, [])
        rows += cells
        found = {cell.name: cell.measured(planned.share) for row in rows for cell in row}
        known = {name: each for name, each in found.items() if each is not None}
        strength = {name: each.strength for name, each in known.items() if each.strength is not None}
        if self.measure.by == "games" and known:
            of = {cell.name: cell for row in rows for cell in row}
            policies = {name: of[name].policy(each) for name, each in known.items()}
            groups = {name: of[name].setting for name in known}
            self.notice(f"Games between {len(policies)} policies")
            with self.host.matches() as (play, at_once):
                strength = ratings_of(policies, groups, self.plan, play, at_once)
        for row in rows:
            strengths = tuple(strength.get(cell.name) for cell in row)
            self._entries[row[0].setting] = Entry(row[0].setting, row[0].values, planned.share, strengths)
        return JudgedRound(planned, tuple(map(self._mean, cells)))

    def _mean(self, row: Sequence[Cell]) -> float | None:
        strengths = self._entries[row[0].setting].strengths
        known = [strength for strength in strengths if strength is not None]
        return sum(known) / len(known) if len(known) == len(strengths) else None

    def _results(self) -> Results:
        ranked = tuple(standings([*self._entries.values()]))
        return Results(self.plan.game, self.measure, ranked, dict(self._errors))
