"""Real games for tests: mock games behind the names and options of games in real time."""

from dataclasses import replace

from selfplay.games.registry import find_game
from selfplay_melee import bots
from selfplay_melee.dolphin.roster import PLAYERS
from selfplay_melee.mock import MockMelee
from tests.support.kinds import bring

EMULATOR = (
    "dolphin", "iso", "slot", "slots", "slippi_port", "headless", "fast_forward", "play_on", "cpu_level", "human_port",
    "replay_dir", "start_timeout_s", "frame_timeout_s", "recycle_frames", "recycle_mb", "restarts",
)  # fmt: skip
"""Options that only emulators have."""


class Emulated(MockMelee):
    """A mock game with the computer players of the real one, who stand still."""

    bot_names = PLAYERS

    def reset(self, seeds):
        self.bots[self.bots >= len(bots.NAMES)] = 0
        return super().reset(seeds)


class Emulators:
    """Stands in for ``ProcessGame``: makes mock games, and remembers what it was asked for."""

    def __init__(self):
        self.opened = []  # (name, options, start_timeout_s)
        self.process_mb = []  # of each
        self.games = []
        self.outsider = None  # seat of somebody whom we do not move
        self.before = lambda slot: None  # called before one is opened

    def __call__(self, name, options, start_timeout_s, process_mb):
        self.opened.append((name, options, start_timeout_s))
        self.process_mb.append(process_mb)
        self.before(options["slot"])
        game = Emulated(**{key: value for key, value in options.items() if key not in EMULATOR})
        game.outsider = self.outsider
        self.games.append(game)
        return game


def emulated(monkeypatch):
    """Let ``--game-type dolphin`` play mock games for this test; who opens them."""
    mock = replace(find_game("dolphin"), make=MockMelee, starts_at_once=lambda: True, prepare=None)
    bring(monkeypatch, "dolphin", mock)
    monkeypatch.setattr("selfplay_melee.dolphin.paths.with_dolphin_paths", lambda config, notice: config)
    emulators = Emulators()
    for module in ("selfplay.runner.block_server", "selfplay_melee.dolphin.host"):
        monkeypatch.setattr(f"{module}.ProcessGame", emulators)
    return emulators
