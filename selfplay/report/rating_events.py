"""Ratings for TensorBoard: Elo over steps with the band of its interval, and the leaderboard as text.

Ratings of old generations move with every new game, which no appended event can say. So the newest table takes the
place of the one before: a folder of its own, always one file.
"""

from __future__ import annotations

import time
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
    from pathlib import Path

    from selfplay.league.leaderboard import Leaderboard

CURVE: Final = ("rating/elo", "rating/low", "rating/high")
TEXT: Final = "rating/leaderboard"


def write_ratings(folder: Path, board: Leaderboard, steps_per_iteration: int) -> None:
    """Replace what ``folder`` holds by the events of this table.

    Args:
        folder: made when missing; nothing else may be kept in it.
        board: the ratings.
        steps_per_iteration: of the run, which give each generation its place on the axis.

    Raises:
        DiskError: the disk refuses; what was there stays.
    """
    old = list(folder.iterdir()) if folder.exists() else []
    writer = EventFile(folder)
    try:
        # A viewer that has the old file open forgets its points at this mark.
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
    """The curve and its band as one chart of the Custom Scalars tab."""
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
    """Indented, so that the viewer's Markdown leaves the columns as they are."""
    code = "\n".join(f"    {line}" for line in table.splitlines())
    return Summary.Value(
        tag=TEXT,
        metadata=text_metadata.create_summary_metadata(display_name="Leaderboard", description=""),
        tensor=make_tensor_proto([code.encode()]),
    )
