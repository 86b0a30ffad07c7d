"""Reads what Weights & Biases and trackio wrote without a network."""

import json
import sqlite3
import struct
from types import SimpleNamespace

HEADER, BLOCK = 7, 2**15  # bytes of a header, of the file or of a record, and of a block, as LevelDB's log has them
LAST = (1, 4)  # kinds of a record's last part


def wandb_records(path):
    """The records of a file of W&B, in order."""
    from wandb.proto.wandb_internal_pb2 import Record

    data, place, parts = path.read_bytes(), HEADER, b""
    assert data.startswith(b":W&B")
    while place + HEADER <= len(data):
        left = BLOCK - place % BLOCK
        if left < HEADER:
            place += left
            continue
        length, kind = struct.unpack_from("<HB", data, place + 4)
        place += HEADER + length
        parts += data[place - length : place]
        if kind in LAST:
            yield Record.FromString(parts)
            parts = b""


def wandb_sessions(folder):
    """What each session wrote: id, config, rows of figures, artifacts by name with their files; the oldest first."""
    found = []
    for path in sorted(folder.glob("wandb/offline-run-*/run-*.wandb")):
        session = SimpleNamespace(folder=path.parent, id=None, config={}, rows=[], artifacts={})
        for record in wandb_records(path):
            kind = record.WhichOneof("record_type")
            if kind == "run":
                session.id = record.run.run_id
                session.config |= {each.key: json.loads(each.value_json) for each in record.run.config.update}
            elif kind == "history":
                named = {"/".join(each.nested_key) or each.key: each.value_json for each in record.history.item}
                session.rows.append({name: json.loads(value) for name, value in named.items()})
            elif kind == "artifact" or (kind == "request" and record.request.HasField("log_artifact")):
                artifact = record.artifact if kind == "artifact" else record.request.log_artifact.artifact
                session.artifacts[artifact.name] = {entry.path for entry in artifact.manifest.contents}
        found.append(session)
    return found


def trackio_rows(folder):
    """Rows of figures by run, each with its step."""
    with sqlite3.connect(folder / "trackio" / "selfplay.db") as database:
        rows = database.execute("SELECT run_name, step, metrics FROM metrics ORDER BY id").fetchall()
    database.close()
    found = {}
    for run, step, metrics in rows:
        found.setdefault(run, []).append({"total_steps": step, **json.loads(metrics)})
    return found


def trackio_artifacts(folder):
    """Names of the files of each artifact."""
    with sqlite3.connect(folder / "trackio" / "selfplay.db") as database:
        sql = "SELECT name, manifest FROM artifacts JOIN artifact_versions ON artifacts.id = artifact_id"
        rows = database.execute(sql).fetchall()
    database.close()
    return dict(rows)
