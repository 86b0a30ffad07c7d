"""The leaderboard as text for TensorBoard.

New games change the ratings of old generations, which appended events cannot express. So the table has a folder of its
own, with one file that each new table replaces.
"""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Final

from tensorboard.compat.proto.event_pb2 import Event, SessionLog
from tensorboard.compat.proto.summary_pb2 import Summary
from tensorboard.plugins.text import metadata as text_metadata
from tensorboard.util.tensor_util import make_tensor_proto

from selfplay.errors import DiskError
from selfplay.league.render import to_text
from selfplay.report.files import EventFile

if TYPE_CHECKING:
    from selfplay.league.leaderboard import Leaderboard

TEXT: Final = "rating/leaderboard"


def write_ratings(folder: Path, board: Leaderboard, total_steps: int) -> None:
    """Replace the content of ``folder`` by the events of this table.

    Args:
        folder: created if missing; all other files in it are removed.
        board: the ratings.
        total_steps: of the run, when the ratings were made.

    Raises:
        DiskError: writing failed; the old content is kept.
    """
    old = list(folder.iterdir()) if folder.exists() else []
    writer = EventFile(folder)
    try:
        # TensorBoard drops points of the old file at this mark.
        writer.add(Event(wall_time=time.time(), step=0, session_log=SessionLog(status=SessionLog.START)))
        writer.add(Event(wall_time=time.time(), step=total_steps, summary=Summary(value=[_text(to_text(board))])))
    except DiskError:
        writer.discard()
        raise
    writer.close()
    for path in old:
        path.unlink(missing_ok=True)


def _text(table: str) -> Summary.Value:
    code = "\n".join(f"    {line}" for line in table.splitlines())
    return Summary.Value(
        tag=TEXT,
        metadata=text_metadata.create_summary_metadata(display_name="Leaderboard", description=""),
        tensor=make_tensor_proto([code.encode()]),
    )
