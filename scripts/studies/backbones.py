"""Compare the backbones of imitation on folders of replays; writes docs/imitation.md.

Every backbone learns from the same games in five folds by game and is judged on the games left out; differences are
paired by fold. The network after the last epoch counts, so nothing is chosen by the games that judge. What is finished
is not repeated: trainings in --runs, figures in docs/data/backbones/.
"""

from __future__ import annotations

import io
import sys
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from itertools import product
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING, Final

import torch

from envs.melee.controller import ACTION_SPEC, BUTTONS, FIELDS
from scripts.studies import ROOT
from scripts.studies.cells import Cell, Cells
from scripts.studies.command_line import Command, chosen, tell, whole_numbers
from scripts.studies.intervals import half95
from scripts.studies.pages import measured_here, put_between
from scripts.studies.pages import table as markdown
from selfplay.checkpoint import RunDir
from selfplay.config.imitation import ImitationConfig
from selfplay.errors import SelfPlayError
from selfplay.learner.baselines import Baselines
from selfplay.learner.imitation import look
from selfplay.learner.imitation_metrics import imitation_metrics
from selfplay.policy.heads import Heads
from selfplay.policy.policy import load_policy
from selfplay.replays.split import split
from selfplay.train.imitation.data import Games, open_library
from selfplay.train.imitation.export import LATEST
from selfplay.train.imitation.report import Reports
from selfplay.train.imitation.training import STICKS, Training

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable, Mapping, Sequence

    from envs.melee.examples import Examples
    from selfplay.learner.baselines import ActionCounts
    from selfplay.learner.imitation_metrics import ImitationMetrics
    from selfplay.replays.games import Game
    from selfplay.replays.library import Library

FOLDS: Final = 5
SEEN: Final = {"frame_skip", "delay", "character", "player"}  # data settings that change the examples
REFERENCE: Final = "mlp"
BACKBONES: Final = "mlp,gru,lstm,mamba,attention"
PARTS: Final = ("train", "page")
HEADS: Final = {
    "buttons": BUTTONS, "main stick": ("main_x", "main_y"), "c-stick": ("c_x", "c_y"), "shoulder": ("shoulder",),
}  # fmt: skip


@dataclass(slots=True)
class Sets:
    """Folders of replays by name, which train together and are judged separately."""

    libraries: dict[str, Library]

    def load(self, game: Game) -> list[Examples]:
        """See ``Library.load``."""
        return next(library for library in self.libraries.values() if game in library.games).load(game)

    def parts(self, fold: int) -> tuple[list[Game], dict[str, list[Game]]]:
        """Training games, and validation games by name of their folder; each folder is split by itself."""
        sides = {name: split(library.games, 0, FOLDS, fold) for name, library in self.libraries.items()}
        return [game for train, _ in sides.values() for game in train], {
            name: list(validation) for name, (_, validation) in sides.items()
        }


class BackboneStudy:
    """A study whose cells are ``<backbone>_<fold>``.

    Args:
        folders: Of replays.
        config: Of each training, except backbone and seed.
        runs: Where the trainings go, and the cache of the replays.
        out: Where the figures go.
        tell: Prints progress.
    """

    def __init__(
        self, folders: Sequence[Path], config: ImitationConfig, runs: Path, out: Path, tell: Callable[[str], None]
    ) -> None:
        self._folders, self._config, self._runs, self._tell = folders, config, runs, tell
        self._cells = Cells(out)

    def run(self, backbone: str, fold: int) -> None:
        """Train and judge a cell unless it is finished. Blocks.

        Raises:
            ConfigError: the finished cell has other settings or other games.
        """
        config = self._settings(backbone, fold)
        teach, judge = self._sets.parts(fold)
        games = Games(self._sets, teach, [], config)  # no validation games: they must not choose the network
        every = replace(games, validation=[game for some in judge.values() for game in some])
        settings = {
            "net": config.net.model_dump(mode="json"),
            "learn": config.learn.model_dump(mode="json"),
            "data": config.data.model_dump(mode="json", include=SEEN),
            "games": every.description()["hash"],
        }

        def measure() -> Cell:
            run = RunDir(self._runs / f"{backbone}_{fold}" / "imitation")
            run.path.mkdir(parents=True, exist_ok=True)
            action_counts = games.action_counts(Heads(ACTION_SPEC.binary, ACTION_SPEC.sizes), lambda _: None)
            seconds = _train(run, games, action_counts)
            found = {name: _judge(run, replace(games, train=some), action_counts) for name, some in judge.items()}
            losses = ", ".join(f"{name} {each.model.all:.4f}" for name, each in found.items())
            self._tell(f"{backbone}, fold {fold}: {losses}; {seconds:.0f} s")
            return {
                "backbone": backbone,
                "fold": fold,
                "settings": settings,
                **measured_here(),
                "training_s": round(seconds, 1),
                "rows": games.rows,
                "sets": {name: {"games": len(judge[name]), **asdict(each)} for name, each in found.items()},
            }

        self._cells.make(f"{backbone}_{fold}", measure, {"settings": settings})

    def write(self, page: Path, name: str, backbones: Sequence[str]) -> None:
        """Put the tables between the markers NAME of a page."""
        found = {backbone: self._cells.read(f"{backbone}_{fold}" for fold in range(FOLDS)) for backbone in backbones}
        cells = {backbone: each for backbone, each in found.items() if each}
        texts = [f"**{f.name}**\n\n{table(f.name, cells)}\n\n{heads_table(f.name, cells)}" for f in self._folders]
        put_between(page, name, "\n\n".join(texts))

    @cached_property
    def _sets(self) -> Sets:
        return Sets({folder.name: self._library(folder) for folder in self._folders})

    def _library(self, folder: Path) -> Library:
        data = self._config.data.model_copy(update={"replays": str(folder), "cache": str(self._runs / "cache")})
        return open_library(data, self._runs, lambda done, total: None)

    def _settings(self, backbone: str, fold: int) -> ImitationConfig:
        config = self._config
        net, run = config.net.model_copy(update={"backbone": backbone}), config.run.model_copy(update={"seed": fold})
        return config.model_copy(update={"net": net, "run": run})


def _train(run: RunDir, games: Games, action_counts: ActionCounts) -> float:
    """Train; the seconds that it took."""
    reports = Reports(run.path, io.StringIO())
    training = Training(run, games, action_counts, reports, "cpu", games.config.run.threads or 1, lambda: False)
    try:
        training.run()
    finally:
        training.close()
        reports.close()
    return training.elapsed_s


def _judge(run: RunDir, games: Games, action_counts: ActionCounts) -> ImitationMetrics:
    network = load_policy(run.path / f"{LATEST}_policy").network
    decisions = look(network, games.judging())
    generator = torch.Generator().manual_seed(0)
    found = imitation_metrics(network.heads, decisions, Baselines(action_counts), STICKS, generator)
    if found is None:
        raise SelfPlayError("the validation games have no decisions")
    return found


def table(name: str, cells: Mapping[str, Sequence[Cell]]) -> str:
    """Losses on one folder in nats per decision: means over folds, paired differences with 95% intervals."""
    first = next(iter(cells.values()))
    lines = [
        "| | all decisions | less than `mlp` by | where the controller changes | less than `mlp` by | seconds |",
        "|---|---|---|---|---|---|",
    ]
    for label, key in (("head marginals", "marginals"), ("repeats the last controller", "repeat")):
        means = [fmean(cell["sets"][name][key][kind] for cell in first) for kind in ("all", "changed")]
        lines.append(f"| {label} | {means[0]:.3f} | | {means[1]:.3f} | | |")
    for backbone, found in cells.items():
        columns = []
        for kind in ("all", "changed"):
            mine = {cell["fold"]: cell["sets"][name]["model"][kind] for cell in found}
            theirs = {cell["fold"]: cell["sets"][name]["model"][kind] for cell in cells.get(REFERENCE, [])}
            columns += [f"{fmean(mine.values()):.3f}", "" if backbone == REFERENCE else paired(theirs, mine)]
        seconds = fmean(cell["training_s"] for cell in found)
        lines.append(f"| `{backbone}` | {' | '.join(columns)} | {seconds:.0f} |")
    return "\n".join(lines)


def heads_table(name: str, cells: Mapping[str, Sequence[Cell]]) -> str:
    """Losses of the parts of the controller on one folder, in nats per decision."""
    rows = []
    for backbone, found in cells.items():
        sums = (
            fmean(sum(cell["sets"][name]["parts"][FIELDS.index(part)] for part in parts) for cell in found)
            for parts in HEADS.values()
        )
        rows.append((f"`{backbone}`", *(f"{value:.3f}" for value in sums)))
    return markdown(("", *HEADS), rows)


def paired(one: dict[int, float], other: dict[int, float]) -> str:
    """Mean difference ``one`` - ``other`` by fold, and its 95% interval."""
    gaps = [one[fold] - other[fold] for fold in sorted(one.keys() & other.keys())]
    return f"{fmean(gaps):.4f} ± {half95(gaps):.4f}" if len(gaps) > 1 else ""


def main() -> int:
    """Run the command; the exit code."""
    command = Command("backbones", __doc__)
    command.add_argument("--replays", type=Path, nargs="+", required=True, metavar="DIR", help="folders of .slp files")
    command.add_argument("--backbones", default=BACKBONES, metavar="NAME,NAME", help="(default: %(default)s)")
    command.add_argument(
        "--folds", type=whole_numbers, default="0,1,2,3,4", metavar="N,N", help="(default: %(default)s)"
    )
    command.add_argument("--epochs", type=int, default=8, metavar="N", help="of a training (default: %(default)s)")
    command.add_argument("--window-size", type=int, default=60, metavar="N", help="(default: %(default)s)")
    command.add_argument("--delay", type=int, default=0, metavar="N", help="(default: %(default)s)")
    command.add_parts(PARTS)
    command.add_argument("--runs", type=Path, default=ROOT / "checkpoints" / "backbones", help="where trainings go")
    command.add_argument(
        "--name", default="backbones", help="folder of the figures and markers of the page (default: %(default)s)"
    )
    return command.execute(_run)


def _run(options: argparse.Namespace) -> None:
    parts = chosen("--parts", options.parts, PARTS)
    backbones = chosen("--backbones", options.backbones, BACKBONES.split(","))
    folds = chosen("--folds", options.folds, range(FOLDS))
    settings = {
        "data": {"delay": options.delay}, "net": {"window": options.window_size}, "learn": {"epochs": options.epochs},
    }  # fmt: skip
    config = ImitationConfig.model_validate(settings)
    study = BackboneStudy(options.replays, config, options.runs, ROOT / "docs" / "data" / options.name, tell)
    if "train" in parts:
        for fold, backbone in product(folds, backbones):
            study.run(backbone, fold)
    if "page" in parts:
        study.write(ROOT / "docs" / "imitation.md", options.name, backbones)


if __name__ == "__main__":
    sys.exit(main())
