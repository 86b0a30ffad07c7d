"""The results of a sweep: results.json, results.md and the table in the terminal."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from rich.markup import escape
from rich.table import Table

from selfplay.checkpoint.documents import encode_json
from selfplay.checkpoint.store import write_file
from selfplay.report.saving import save_text
from selfplay.sweep.plan import shown
from selfplay.sweep.standings import Standing, ends_text, verdict

if TYPE_CHECKING:
    from selfplay.sweep.judging import Measure

ALIKE: Final = "* 0 lies in the interval: not distinguishable from the best, or one seed tells no difference"


@dataclass(frozen=True, slots=True)
class Results:
    """The settings, the best first, and the errors of failed cells by name."""

    game: str
    measure: Measure
    standings: tuple[Standing, ...]
    errors: Mapping[str, str]

    @property
    def verdict(self) -> str:
        return verdict(self.standings, self.measure)

    def document(self) -> dict[str, Any]:
        """As JSON; figures are strengths: more is better, so that a NashConv is negative."""
        return {
            "game": self.game,
            "measure": asdict(self.measure),
            "verdict": self.verdict,
            "settings": [asdict(each) for each in self.standings],
            "errors": dict(self.errors),
        }


def write_results(folder: Path, found: Results) -> None:
    write_file(folder / "results.json", encode_json(found.document(), "results.json"))
    save_text(folder / "results.md", "\n".join(_page(found)))


def table(found: Results) -> Table:
    """For the terminal."""
    made = Table(box=None, pad_edge=False)
    for i, name in enumerate(_head(found)):
        made.add_column(name, justify="right" if i else "left", overflow="fold")
    for row in _rows(found):
        made.add_row(*map(escape, row))
    return made


def _head(found: Results) -> list[str]:
    names = [name.rpartition(".")[2] for name in _names(found)]
    unit = f", {found.measure.unit}" if found.measure.unit else ""
    length = ["length"] if _rungs(found) else []
    return ["", *names, *length, "seeds", f"{found.measure.name}{unit}", "95% interval", "behind the best"]


def _rungs(found: Results) -> bool:
    """Whether settings were trained for different lengths."""
    return len({each.share for each in found.standings}) > 1


def _names(found: Results) -> list[str]:
    return list(dict.fromkeys(name for each in found.standings for name in each.values))


def _rows(found: Results) -> Iterator[tuple[str, ...]]:
    measure = found.measure
    for each in found.standings:
        values = [shown(each.values[name]) for name in _names(found)]
        seeds = f"{len(each.strengths)}" + (f", {each.failed} failed" if each.failed else "")
        mean = "" if each.over_seeds is None else f"{measure.sign * each.over_seeds.mean:{measure.form}}"
        ends = "" if each.over_seeds is None else ends_text(each.over_seeds, measure.form, measure.sign)
        length = [f"{each.share:.0%}"] if _rungs(found) else []
        yield each.name, *values, *length, seeds, mean, ends, _behind(each, measure)


def _behind(each: Standing, measure: Measure) -> str:
    if each.behind is None:
        return ""
    form = measure.form.removeprefix("+")
    ends = ends_text(each.behind, form)
    return f"{each.behind.mean:{form}}" + (f" ({ends})" if ends else "") + ("" if each.told_apart else " *")


def _page(found: Results) -> Iterator[str]:
    yield from (f"# Sweep of {found.game}", "", found.verdict, "")
    yield f"Judged by {found.measure}. Intervals are 95%, by Student's t over seeds; of differences by Welch's method."
    yield ""
    yield from _markdown(_head(found), list(_rows(found)))
    yield from ("", ALIKE.replace("*", "\\*"))
    if found.errors:
        yield from ("", "## Failed cells", "")
        yield from _markdown(["Cell", "Error"], sorted(found.errors.items()))
    yield ""


def _markdown(head: Sequence[str], rows: Sequence[Sequence[str]]) -> Iterator[str]:
    for row in (head, ["---"] * len(head), *rows):
        yield f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in row)} |"
