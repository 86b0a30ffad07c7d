"""Ratings for TensorBoard: Elo by steps with its interval, and the leaderboard as text.

New games change the ratings of old generations, which appended events cannot express. So the ratings have a folder of
their own, with one file that each new table replaces.
"""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Final

from tensorboard.compat.proto.event_pb2 import Event, SessionLog
from tensorboard.compat.proto.summary_pb2 import Summary
from tensorboard.plugins.custom_scalar import layout_pb2
from tensorboard.plugins.custom_scalar import metadata as layout_metadata
from tensorboard.plugins.text import metadata as text_metadata
from tensorboard.util.tensor_util import make_tensor_proto

from selfplay.errors import DiskError
from selfplay.league.records import generation_number
from selfplay.league.render import to_text
from selfplay.report.event_file import EventFile

if TYPE_CHECKING:
    from selfplay.league.leaderboard import Leaderboard

CURVE: Final = ("rating/elo", "rating/low", "rating/high")
TEXT: Final = "rating/leaderboard"


def write_ratings(folder: Path, board: Leaderboard, steps_per_iteration: int) -> None:
    """Replace the content of ``folder`` by the events of this table.

    Args:
        folder: created if missing; all other files in it are removed.
        board: the ratings.
        steps_per_iteration: converts generation numbers to steps.

    Raises:
        DiskError: writing failed; the old content is kept.
    """
    old = list(folder.iterdir()) if folder.exists() else []
    writer = EventFile(folder)
    try:
        # TensorBoard drops points of the old file at this mark.
        writer.add(Event(wall_time=time.time(), step=0, session_log=SessionLog(status=SessionLog.START)))
        writer.add(Event(wall_time=time.time(), step=0, summary=Summary(value=[_layout()])))
        last = 0
        for number, row in sorted((generation_number(row.policy) or 0, row) for row in board.rows if not row.scripted):
            last = number * steps_per_iteration
            points = (row.elo, row.elo if row.low is None else row.low, row.elo if row.high is None else row.high)
            values = [Summary.Value(tag=tag, simple_value=value) for tag, value in zip(CURVE, points, strict=True)]
            writer.add(Event(wall_time=time.time(), step=last, summary=Summary(value=values)))
        writer.add(Event(wall_time=time.time(), step=last, summary=Summary(value=[_text(to_text(board))])))
    except DiskError:
        writer.discard()
        raise
    writer.close()
    for path in old:
        path.unlink(missing_ok=True)


def _layout() -> Summary.Value:
    value, lower, upper = CURVE
    series = layout_pb2.MarginChartContent.Series(value=value, lower=lower, upper=upper)
    chart = layout_pb2.Chart(title="Elo, 95% interval", margin=layout_pb2.MarginChartContent(series=[series]))
    layout = layout_pb2.Layout(category=[layout_pb2.Category(title="Ratings", chart=[chart])])
    return Summary.Value(
        tag=layout_metadata.CONFIG_SUMMARY_TAG,
        metadata=layout_metadata.create_summary_metadata(),
        tensor=make_tensor_proto(layout.SerializeToString()),
    )


def _text(table: str) -> Summary.Value:
    code = "\n".join(f"    {line}" for line in table.splitlines())
    return Summary.Value(
        tag=TEXT,
        metadata=text_metadata.create_summary_metadata(display_name="Leaderboard", description=""),
        tensor=make_tensor_proto([code.encode()]),
    )
