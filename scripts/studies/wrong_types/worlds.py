"""Small folders with every document that the commands read, and the commands that read each."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from scripts.studies.wrong_types.calls import call
from selfplay.checkpoint.store import MANIFEST, open_folder, write_folder
from selfplay.errors import CheckpointError, SelfPlayError

if TYPE_CHECKING:
    from pathlib import Path

    from scripts.studies.wrong_types.mutate import Form

_SMALL: Final = "--num-games 4 --rollout-length 16 --hidden 8 --set run.threads=1 --seed 1 --set run.keep_checkpoints=1"
_DIALOGUE: Final = "--model model --num-games 8 --set grpo.games_per_state=4 --seed 1 --set run.keep_checkpoints=1"


@dataclass(frozen=True, slots=True)
class Document:
    """A file of a world.

    Args:
        path: In the folder of the world.
        reads: Command lines without the program.
        form: What is in it.
        signed: It is in a folder with a manifest.
        every: Only every so many mutations are tried: the commands are slow.
    """

    path: str
    reads: tuple[str, ...]
    form: Form = "json"
    signed: bool = False
    every: int = 1

    def put(self, folder: Path, data: bytes) -> None:
        """Replace the content in a copy of the world, with a manifest that agrees."""
        path = folder / self.path
        if not self.signed:
            path.write_bytes(data)
            return
        stored = open_folder(path.parent)
        files = {name: stored.read(name) for name in stored.manifest.files}
        write_folder(path.parent, files | {path.name: data}, replace=True)


@dataclass(frozen=True, slots=True)
class World:
    """A folder: the commands that fill it, its documents, and what else writes files before the commands run."""

    name: str
    makes: tuple[str, ...]
    documents: tuple[Document, ...]
    begins: Callable[[Path], None] = lambda _: None
    ends: Callable[[Path], None] = lambda _: None

    def make(self, folder: Path) -> None:
        """Fill a folder.

        Raises:
            SelfPlayError: a command failed.
        """
        folder.mkdir(parents=True)
        self.begins(folder)
        for line in self.makes:
            ended = call(tuple(line.split()), folder)
            if ended.code != 0:
                raise SelfPlayError(f"selfplay {line}: {ended.trace or ended.said}")
        self.ends(folder)
        for document in self.documents:
            if not (folder / document.path).is_file():
                raise CheckpointError(f"{self.name}: the commands wrote no {document.path}")


_RESUME: Final = "train --resume --checkpoint run --timesteps 320"
_GO_ON: Final = "train --resume --checkpoint run --games 16"
_BOARD: Final = ("leaderboard run", "leaderboard run --json", "leaderboard run --html page.html")
_RATE: Final = "rate run --budget 4"
_RUN: Final = (_RESUME, _RATE, *_BOARD, "tree run", "evaluate run random --games 2")
_CRASH: Final = {
    "format_version": 1, "time": "2026-01-02T03:04:05Z", "id": "root/runner-000", "incarnation": 1, "kind": "error",
    "started": True, "restarts": 0, "lived_s": 1.0, "message": "m", "first_cause": "c", "file": "f", "line": 1,
    "function": "g", "traceback": "t",
}  # fmt: skip


def _solved(folder: Path) -> None:
    (folder / "games.csv").write_text("first,second,score,pair\na,b,1,x\nb,a,0.5,y\n", "utf-8")
    (folder / "run.toml").write_text(
        '[run]\nseed = 5\nhost = "thread"\n[game]\ntype = "kuhn"\n[net]\nhidden = [8]\n', "utf-8"
    )


def _ended(folder: Path) -> None:
    (folder / "run" / "best.json").write_text('{"best": "gen_4"}', "utf-8")
    (folder / "run" / "crashes.jsonl").write_text(json.dumps(_CRASH) + "\n", "utf-8")


def _played(folder: Path) -> None:
    from tests.melee.commands.page_games import page_game

    (folder / "game.json").write_text(json.dumps(page_game()), "utf-8")


def _met(folder: Path) -> None:
    row = json.loads((folder / "run" / "ledger.jsonl").read_text("utf-8").partition("\n")[0])
    row["seats"][1] |= {"player": "person-ada", "version": "person"}
    (folder / "run" / "people.jsonl").write_text(json.dumps(row) + "\n", "utf-8")


def _model(folder: Path) -> None:
    from tests.dialogue.models import model_folder

    model_folder(folder / "model")


SOLVED: Final = World(
    "solved",
    (f"train --game-type kuhn --track-elo --timesteps 256 --set run.save_interval=2 {_SMALL} --checkpoint run",
     "rate run --calibrate --games 2"),
    (
        Document("run/run.json", (*_RUN, "watch run --out fight.html")),
        Document("run/summary.json", (_RESUME, "tree run", *_BOARD)),
        Document("run/best.json", ("evaluate run random --games 2", _RESUME, "exploit run --steps 0")),
        Document(
            "run/generations/gen_4/policy.json",
            (*_RUN, "evaluate run/generations/gen_4 random --games 2",
             "train --game-type kuhn --pretrained run --timesteps 1 --checkpoint other --num-games 4 --hidden 8",
             "train --game-type kuhn --mode opponents --opponent run --timesteps 1 --checkpoint other --num-games 4"),
            signed=True,
        ),
        Document("run/generations/gen_4/policy.json", ("export run --format torch --out policy.pt2 --check 2",),
                 signed=True, every=19),
        Document(f"run/generations/gen_4/{MANIFEST}", (_RESUME, "evaluate run random --games 2")),
        Document("run/learner/iter_4/learner.json", (_RESUME,), signed=True),
        Document("run/ledger.jsonl", (*_BOARD, _RATE, _RESUME), "rows"),
        Document("run/metrics.jsonl", (_BOARD[2], _RESUME), "rows"),
        Document("run/tree.json", ("tree run", "tree run --json", _RESUME)),
        Document("run/crashes.jsonl", ("tree run", "tree run --crashes 3", "tree run --json", _RESUME), "rows"),
        Document("run/anchors.json", (_RATE, _RESUME, *_BOARD)),
        Document("games.csv", ("leaderboard --games games.csv", "leaderboard --games games.csv --html page.html"),
                 "csv"),
        Document("run.toml", ("train --config run.toml --checkpoint run",), "toml"),
    ),
    _solved,
    _ended,
)  # fmt: skip
LEAGUE: Final = World(
    "league",
    (f"train --game-type kuhn --mode league --track-elo --set league.gate=sprt --timesteps 256 {_SMALL} "
     "--set run.save_interval=2 --checkpoint run",),
    (Document("run/learner/iter_4/learner.json", (_RESUME,), signed=True),),
)  # fmt: skip
FIGHTS: Final = World(
    "fights",
    (f"train --game-type mock --max-episode-frames 120 --track-elo --timesteps 256 --set run.save_interval=2 {_SMALL} "
     "--checkpoint run",),
    (
        Document("run/run.json", ("watch run --out fight.html --seconds 1 --seed 1", _RESUME, _RATE, *_BOARD)),
        Document("run/generations/gen_4/policy.json",
                 ("watch run --out fight.html --seconds 1 --seed 1", "evaluate run idle --games 2",
                  "record --policy run --opponent idle --games 1 --out games", _RESUME, _BOARD[2]), signed=True),
        Document("run/learner/iter_4/learner.json", (_RESUME,), signed=True),
        Document("run/ledger.jsonl", (*_BOARD, _RATE, _RESUME, "watch run --game 0 --out fight.html"), "rows"),
        Document("run/people.jsonl", (*_BOARD, "play --add game.json"), "rows"),
        Document("game.json", ("play strong --add game.json", "watch game.json --out fight.html")),
    ),
    _played,
    _met,
)  # fmt: skip
DIALOGUE: Final = World(
    "dialogue",
    (f"train --game-type kuhn_text --games 8 --set run.save_interval=1 {_DIALOGUE} --checkpoint run",
     "rate run --budget 4"),
    (
        Document("run/run.json", (_GO_ON, _RATE, *_BOARD, "tree run"), every=7),
        Document("run/learner/iter_1/learner.json", (_GO_ON,), signed=True, every=7),
        Document("run/generations/gen_1/selfplay.json", (_GO_ON, _RATE, "inspect-dialogue --model run/generations/gen_1"
                                                         " --game kuhn_text"), signed=True, every=7),
        Document("run/generations/gen_1/config.json", (_GO_ON, _RATE), signed=True, every=7),
        Document("run/ledger.jsonl", (_GO_ON, _RATE, *_BOARD), "rows"),
        Document("run/transcripts.jsonl", (_BOARD[2],), "rows"),
    ),
    _model,
)  # fmt: skip
IMITATION: Final = World(
    "imitation",
    ("record --game-type kuhn --players always_bet --games 4 --out games.jsonl",
     "imitate --game-type kuhn --replays games.jsonl --epochs 1 --checkpoint made --hidden 8"),
    (
        Document("games.jsonl",
                 ("imitate --game-type kuhn --replays games.jsonl --epochs 1 --checkpoint other --hidden 8",), "rows"),
        Document("made/imitation/learner/iter_1/learner.json", ("imitate --resume --checkpoint made --epochs 2",),
                 signed=True),
    ),
)  # fmt: skip
FILES: Final = World(
    "dialogue files",
    ("generate-games --folder files --model model --game kuhn_text --num-games 8 --games-per-state 4",
     "convert-games --folder files"),
    (
        Document("files/settings.json", ("convert-games --folder files", "inspect-dialogue --games "
                                         "files/selfplay_games.jsonl", "train-dialogue --folder files --epochs 1")),
        Document("files/selfplay_games.jsonl", ("convert-games --folder files",
                                                "inspect-dialogue --games files/selfplay_games.jsonl"), "rows"),
    ),
    _model,
)  # fmt: skip
WORLDS: Final = (SOLVED, LEAGUE, FIGHTS, DIALOGUE, IMITATION, FILES)
