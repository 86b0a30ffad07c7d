"""A node that plays recordings again with a module, while Python plays the next."""

import json
import struct
from pathlib import Path

from selfplay_melee.browser.assets import RULES_JS, table_bytes
from selfplay_melee.tables import CHARACTERS, STAGES
from tests.support.node import gather, start_node

HERE = Path(__file__).parent


class Comparer:
    """``with Comparer(module, folder) as comparer``: the module's answers to recordings, one after the other."""

    def __init__(self, module, folder, tables=None):
        script = gather(folder, RULES_JS, HERE / "compare.js", HERE / "compare_stream.js")
        (folder / "rules.wasm").write_bytes(module)
        (folder / "tables").write_bytes(tables or table_bytes(CHARACTERS, STAGES))
        self._process = start_node(script, folder / "rules.wasm", folder / "tables")

    def __enter__(self):
        self._process.__enter__()
        return self

    def __exit__(self, *error):
        self._process.__exit__(*error)

    def send(self, recording):
        self._process.stdin.write(struct.pack("<I", len(recording)) + recording)
        self._process.stdin.flush()

    def result(self):
        """Of the first recording without one: see ``compare`` in compare.js."""
        line = self._process.stdout.readline()
        assert line, "node ended; its standard error says why"
        return json.loads(line)


def results(recordings, comparers):
    """All results of all comparers; Python plays a game while they compare the one before."""
    waiting = False
    for recording in recordings:
        if waiting:
            yield from [comparer.result() for comparer in comparers]
        for comparer in comparers:
            comparer.send(recording)
        waiting = True
    yield from [comparer.result() for comparer in comparers]
