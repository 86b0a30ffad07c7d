"""Weights & Biases, the extra ``wandb``. ``WANDB_MODE``, ``WANDB_PROJECT``, ``WANDB_DIR`` and the like have effect."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from selfplay.errors import ConfigError, boundary
from selfplay.report.trackers.tracker import Tracker

if TYPE_CHECKING:
    from selfplay.report.trackers.tracker import Cell, TrackedRun

PROJECT: Final = "selfplay"
FINISH_S: Final = 100.0  # for the last uploads; without a limit the program would not end before them
REFUSED: Final = "--report-to wandb: W&B"
REMEDY: Final = "WANDB_MODE=offline keeps the records here"
STEP: Final = "total_steps"  # the horizontal axis; W&B's own step may not go back, as a resumed run does


def check() -> None:
    """Refuse to start without a login, which W&B would ask for in the middle of the run, or with one that fails."""
    import wandb

    with boundary(ConfigError, f"{REFUSED} cannot log in ({REMEDY})"):
        settings: Any = wandb.setup().settings
        ready = settings.mode not in ("online", "shared") or wandb.login(prompt=False)
    if not ready:
        raise ConfigError(f"{REFUSED} has no API key: log in with wandb login, or {REMEDY}")


class WandbTracker(Tracker):
    """One run of W&B for a run and all its resumptions."""

    def start(self, run: TrackedRun) -> str:
        import wandb

        self._run: Any = wandb.init(
            project=os.environ.get("WANDB_PROJECT", PROJECT),
            id=run.id,
            name=run.name,
            resume="allow",
            config=run.config,
            settings=wandb.Settings(console="off", silent=True, finish_timeout=FINISH_S),
        )
        self._run.define_metric(STEP)
        self._run.define_metric("*", step_metric=STEP)
        return f"W&B: {Path(self._run.dir).parent if self._run.offline else self._run.url}"

    def metrics(self, step: int, values: Mapping[str, float]) -> None:
        self._run.log({STEP: step, **values})

    def table(self, step: int, name: str, columns: Sequence[str], rows: Sequence[Sequence[Cell]]) -> None:
        import wandb

        self._run.log({STEP: step, name: wandb.Table(columns=list(columns), data=[list(row) for row in rows])})

    def video(self, step: int, name: str, path: Path) -> None:
        import wandb

        self._run.log({STEP: step, name: wandb.Video(str(path), format="gif")})

    def policy(self, step: int, name: str, folder: Path) -> None:
        import wandb

        artifact = wandb.Artifact(f"policy-{self._run.id}", "model", metadata={STEP: step, "policy": name})
        for file in sorted(folder.iterdir()):  # ``add_dir`` prints
            artifact.add_file(str(file))
        self._run.log_artifact(artifact, aliases=["latest", name])

    def close(self) -> None:
        self._run.finish()
