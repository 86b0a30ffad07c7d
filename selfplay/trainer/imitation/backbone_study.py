"""Which backbone imitates best? Every one learns from the same games, five folds by game, and is judged on the rest.

A cell is one training, of a backbone on a fold; its figures are a JSON file, and only what is missing is made. All
backbones of a fold see the same games and have one seed, so that differences are paired by fold. Nothing is chosen by
looking at the games that judge: the network after the last epoch counts.
"""

from __future__ import annotations

import io
import json
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING, Any, Final

import torch

from envs.melee.controller import ACTION_SPEC, BUTTONS, FIELDS
from selfplay.checkpoint import RunDir
from selfplay.errors import ConfigError, SelfPlayError
from selfplay.league.chance import half95
from selfplay.learner.baselines import Baselines
from selfplay.learner.imitation import look
from selfplay.learner.likeness import likeness
from selfplay.policy.heads import Heads
from selfplay.policy.policy import load_policy
from selfplay.replays.split import split
from selfplay.trainer.imitation.data import Games, open_library
from selfplay.trainer.imitation.export import LATEST
from selfplay.trainer.imitation.report import Reports
from selfplay.trainer.imitation.training import STICKS, Training
from selfplay.trainer.machine import processor
from selfplay.trainer.pages import put_between

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from envs.melee.examples import Examples
    from selfplay.learner.baselines import Habits
    from selfplay.learner.likeness import Likeness
    from selfplay.replays.games import Game
    from selfplay.replays.library import Library
    from selfplay.trainer.imitation.config import ImitationConfig

FOLDS: Final = 5
SEEN: Final = {"frame_skip", "delay", "character", "player"}  # settings of what is made of a file
REFERENCE: Final = "mlp"
HEADS: Final = {
    "buttons": BUTTONS, "main stick": ("main_x", "main_y"), "c-stick": ("c_x", "c_y"), "shoulder": ("shoulder",)
}  # fmt: skip


@dataclass(slots=True)
class Sets:
    """Several folders of replays, by name, which teach together and judge apart."""

    libraries: dict[str, Library]

    def load(self, game: Game) -> list[Examples]:
        """See ``Library.load``."""
        return next(library for library in self.libraries.values() if game in library.games).load(game)

    def parts(self, fold: int) -> tuple[list[Game], dict[str, list[Game]]]:
        """Games that teach, and those that judge by the name of their set; every set is split by itself."""
        sides = {name: split(library.games, 0, FOLDS, fold) for name, library in self.libraries.items()}
        return [game for train, _ in sides.values() for game in train], {
            name: list(validation) for name, (_, validation) in sides.items()
        }


class BackboneStudy:
    """A study in two folders: ``runs`` holds what was trained, ``out`` the figures that are committed.

    Args:
        folders: Of replays; the name of a set is that of its folder.
        config: Of each training, but for backbone and seed.
        runs: Where the trainings go, and the cache of the replays.
        out: Where the cells go.
        tell: Is told how it goes.
    """

    def __init__(
        self, folders: Sequence[Path], config: ImitationConfig, runs: Path, out: Path, tell: Callable[[str], None]
    ) -> None:
        self._config, self._runs, self._out, self._tell = config, runs, out, tell
        self._sets = Sets({folder.name: self._library(folder) for folder in folders})
        out.mkdir(parents=True, exist_ok=True)

    def run(self, backbone: str, fold: int) -> None:
        """Train and judge a cell, unless it is there. Blocks.

        Raises:
            ConfigError: a cell of other settings or other games is there.
        """
        cell = self._cell(backbone, fold)
        config = self._settings(backbone, fold)
        teach, judge = self._sets.parts(fold)
        games = Games(self._sets, teach, [], config)  # without games that judge nothing is chosen by them
        every = replace(games, validation=[game for some in judge.values() for game in some])
        settings = {
            "net": config.net.model_dump(mode="json"),
            "learn": config.learn.model_dump(mode="json"),
            "data": config.data.model_dump(mode="json", include=SEEN),
            "games": every.description()["hash"],
        }
        if cell.exists():
            if json.loads(cell.read_text(encoding="utf-8"))["settings"] != settings:
                raise ConfigError(f"{cell} is of other settings; move it away")
            return
        run = RunDir(self._runs / f"{backbone}_{fold}" / "imitation")
        run.path.mkdir(parents=True, exist_ok=True)
        heads = Heads(ACTION_SPEC.binary, ACTION_SPEC.sizes)
        habits = games.habits(heads, lambda _: None)
        seconds = self._train(run, games, habits)
        found = {name: self._judge(run, replace(games, train=some), habits) for name, some in judge.items()}
        document = {
            "backbone": backbone,
            "fold": fold,
            "settings": settings,
            "date": datetime.now(UTC).date().isoformat(),
            "processor": processor(),
            "training_s": round(seconds, 1),
            "rows": games.rows,
            "sets": {name: {"games": len(judge[name]), **asdict(each)} for name, each in found.items()},
        }
        cell.write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")
        losses = ", ".join(f"{name} {each.model.all:.4f}" for name, each in found.items())
        self._tell(f"{backbone}, fold {fold}: {losses}; {seconds:.0f} s")

    def write(self, page: Path, name: str, backbones: Sequence[str]) -> None:
        """Put the tables between the markers NAME of a page."""
        parts = []
        cells = {backbone: found for backbone in backbones if (found := self._read(backbone))}
        for folder in self._sets.libraries:
            parts += [f"**{folder}**", "", table(folder, cells), "", heads_table(folder, cells), ""]
        put_between(page, name, "\n".join(parts).rstrip())

    def _library(self, folder: Path) -> Library:
        data = self._config.data.model_copy(update={"replays": str(folder), "cache": str(self._runs / "cache")})
        return open_library(self._config.model_copy(update={"data": data}), self._runs, lambda done, total: None)

    def _settings(self, backbone: str, fold: int) -> ImitationConfig:
        config = self._config
        net, run = config.net.model_copy(update={"backbone": backbone}), config.run.model_copy(update={"seed": fold})
        return config.model_copy(update={"net": net, "run": run})

    def _train(self, run: RunDir, games: Games, habits: Habits) -> float:
        reports = Reports(run.path, io.StringIO())
        training = Training(run, games, habits, reports, "cpu", games.config.run.threads or 1, lambda: False)
        try:
            training.run()
        finally:
            training.close()
            reports.close()
        return training.elapsed_s

    def _judge(self, run: RunDir, games: Games, habits: Habits) -> Likeness:
        network = load_policy(run.path / f"{LATEST}_policy").network
        decisions = look(network, games.judging())
        found = likeness(network.heads, decisions, Baselines(habits), STICKS, torch.Generator().manual_seed(0))
        if found is None:
            raise SelfPlayError("there is no decision to judge by")
        return found

    def _cell(self, backbone: str, fold: int) -> Path:
        return self._out / f"{backbone}_{fold}.json"

    def _read(self, backbone: str) -> list[dict[str, Any]]:
        cells = [self._cell(backbone, fold) for fold in range(FOLDS)]
        return [json.loads(cell.read_text(encoding="utf-8")) for cell in cells if cell.exists()]


def table(name: str, cells: dict[str, list[dict[str, Any]]]) -> str:
    """Losses on one set, nats a decision, in Markdown; means over folds, differences with a paired 95% interval."""
    lines = [
        "| | all decisions | less than `mlp` by | where the controller changes | less than `mlp` by | seconds |",
        "|---|---|---|---|---|---|",
    ]
    first = next(iter(cells.values()))
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


def heads_table(name: str, cells: dict[str, list[dict[str, Any]]]) -> str:
    """Where the loss on one set comes from: nats a decision of the parts of the controller, in Markdown."""
    lines = ["| | " + " | ".join(HEADS) + " |", "|---|" + "---|" * len(HEADS)]
    for backbone, found in cells.items():
        sums = [
            fmean(sum(cell["sets"][name]["parts"][FIELDS.index(part)] for part in parts) for cell in found)
            for parts in HEADS.values()
        ]
        lines.append(f"| `{backbone}` | {' | '.join(f'{value:.3f}' for value in sums)} |")
    return "\n".join(lines)


def paired(one: dict[int, float], other: dict[int, float]) -> str:
    """How much ``one`` lies above ``other``, by fold, with the 95% interval of the mean difference."""
    gaps = [one[fold] - other[fold] for fold in sorted(one.keys() & other.keys())]
    if len(gaps) < 2:
        return ""
    return f"{fmean(gaps):.4f} ± {half95(gaps):.4f}"
