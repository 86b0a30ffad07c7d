"""trackio, the extra ``trackio``: a local folder, or a Space by ``TRACKIO_SPACE_ID``."""

from __future__ import annotations

import io
import os
from collections.abc import Mapping, Sequence
from contextlib import redirect_stdout
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from selfplay.report.trackers.tracker import Tracker

if TYPE_CHECKING:
    from selfplay.report.trackers.tracker import Cell, TrackedRun

PROJECT: Final = "selfplay"


class TrackioTracker(Tracker):
    """One run of trackio for a run and all its resumptions."""

    def start(self, run: TrackedRun) -> str:
        import trackio

        project = os.environ.get("TRACKIO_PROJECT", PROJECT)
        with redirect_stdout(io.StringIO()):  # its lines would break the live view
            self._run: Any = trackio.init(
                project=project,
                name=f"{run.name}-{run.id}",  # runs of equal names would be one
                resume="allow",
                config=run.config,
                embed=False,
                auto_log_gpu=False,
                auto_log_cpu=False,
            )
        return f"trackio: trackio show --project {project}"

    def metrics(self, step: int, values: Mapping[str, float]) -> None:
        self._run.log(dict(values), step=step)

    def table(self, step: int, name: str, columns: Sequence[str], rows: Sequence[Sequence[Cell]]) -> None:
        import trackio

        self._run.log({name: trackio.Table(columns=list(columns), data=[list(row) for row in rows])}, step=step)

    def video(self, step: int, name: str, path: Path) -> None:
        import trackio

        self._run.log({name: trackio.Video(str(path), format="gif")}, step=step)

    def policy(self, step: int, name: str, folder: Path) -> None:
        import trackio

        artifact = trackio.Artifact(f"policy-{self._run.name}", "model", metadata={"total_steps": step, "policy": name})
        artifact.add_dir(str(folder))
        self._run.log_artifact(artifact)

    def close(self) -> None:
        with redirect_stdout(io.StringIO()):
            self._run.finish()
