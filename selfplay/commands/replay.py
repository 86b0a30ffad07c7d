"""Replays rated games: the same players with the same seed must end as the ledger says.

Games of classes of their own are recorded step by step, for a page.
"""

from __future__ import annotations

import base64
import io
import json
import re
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from selfplay.errors import IncompatibleError, SelfPlayError, boundary
from selfplay.evaluation.players import contender
from selfplay.games.vector import SyncVectorGame
from selfplay.league.schedule import Matchup
from selfplay.ppo.rating import config_of, settings_of
from selfplay.runner.match import Contender, play_in

if TYPE_CHECKING:
    from selfplay.checkpoint import RunDir
    from selfplay.games.api import Actions, Bool
    from selfplay.games.game import Game
    from selfplay.league.records import GameRecord

BECAUSE: Final = "it was played by an earlier version, or the network's sums are rounded otherwise here"
BYTES: Final = 400_000  # of a game on a page: of longer ones only the last steps are kept
WIDTH: Final = 480  # maximum width of a picture, and its height, in pixels
COLOURS: Final = 32  # of a picture, so that it takes few bytes
_COLOUR_CODES: Final = re.compile(r"\x1b\[[0-9;]*m")


class Replayer:
    """Plays games of a run's ledger again. Loads each player once."""

    def __init__(self, run: RunDir) -> None:
        """Raise IncompatibleError where this version cannot read the run's settings, or its games were in real time."""
        self._run = run
        config = config_of(run)
        self.kind = config.game.kind
        if self.kind.real_time:
            raise IncompatibleError("games in real time do not follow from their seed; --save-replays keeps them")
        if not self.kind.repeats:
            raise IncompatibleError(f"games of {config.game.type} do not follow from their seed")
        self.settings = settings_of(config)
        self._players: dict[str, Contender] = {}

    def players_of(self, game: GameRecord) -> dict[str, Contender]:
        """The players of a game; IncompatibleError if they, or the settings, are not those of then."""
        if game.settings != self.settings.settings:
            raise IncompatibleError(
                f"it was played under the settings {game.settings}; this version plays those of the run as "
                f"{self.settings.settings} (other rules of the game, or other scripted players)"
            )
        rules = self.settings.rules
        players = {seat.player: self._player(seat.player) for seat in game.seats}
        for seat in game.seats:
            if rules.traits(players[seat.player]).version != seat.version:
                raise IncompatibleError(f"{seat.player} is not the one that played: its weights were replaced since")
        if (game.sampling == "greedy") != rules.greedy:
            raise IncompatibleError(f"its actions were {game.sampling}, which the run's rating games are not")
        return players

    def _player(self, name: str) -> Contender:
        if name not in self._players:
            try:
                self._players[name] = contender(name, self._run, self.settings.rules.game)
            except SelfPlayError as error:
                raise IncompatibleError(f"{name} cannot be loaded any more: {error}") from error
        return self._players[name]


class StepReplayer(Replayer):
    """Plays games of a class of their own again."""

    def __init__(self, run: RunDir) -> None:
        """Raise IncompatibleError where games of this kind are not shown, too; see ``Replayer``."""
        super().__init__(run)
        if self.kind.single is None or self.kind.table is not None:  # tables draw scripted players' actions otherwise
            raise IncompatibleError(f"games of {self.settings.rules.game} are not shown step by step")
        self._single = self.kind.single

    def steps(self, game: GameRecord) -> dict[str, Any]:
        """A rated game, step by step, for ``steps/stepper.js``; IncompatibleError if it goes otherwise. Blocks."""
        players, (first, second) = self.players_of(game), (seat.player for seat in game.seats)
        matchup = Matchup((first, second), seed=game.seed).games(self.settings.rules.conditions.roles)[0]
        with boundary(IncompatibleError, "played again it fails"):
            recorder = Recorder(self._single(True))
            try:
                score = play_in(recorder, [matchup], players, self.settings.rules)[0].score
            finally:
                recorder.close()
        if score[0] != game.score:
            ends = f"{score[0]:g} to {score[1]:g}, not {game.score:g} to {1 - game.score:g}"
            raise IncompatibleError(f"played again it ends {ends}: {BECAUSE}")
        return recorder.recorded(matchup.players, score[0])


class Recorder(SyncVectorGame):
    """One game that keeps what it shows at the start and after each step, and what was played, for one episode."""

    def __init__(self, game: Game) -> None:
        super().__init__(lambda: game, 1)
        self._moments: list[dict[str, Any]] = []

    def recorded(self, names: tuple[str, str], score: float) -> dict[str, Any]:
        """The last steps of the game, and the number of the ``first``; ``score`` is that of seat 0."""
        size, kept = 0, list[dict[str, Any]]()
        for moment in reversed(self._moments):
            size += len(json.dumps(moment))
            if size > BYTES and kept:
                break
            kept.append(moment)
        result = "Draw" if score == 0.5 else f"{names[0] if score else names[1]} wins"
        return {"names": names, "result": result, "first": len(self._moments) - len(kept), "moments": kept[::-1]}

    def _step_all(self, actions: Actions) -> tuple[NDArray[np.float64], Bool, Bool]:
        if not self._moments:
            self._moments.append(_moment(self.view()))
        played = [[seat, self.action_name(actions[0, seat].tolist())] for seat in self.games[0].to_act()]
        stepped = super()._step_all(actions)
        self._moments.append(_moment(self.view()) | {"played": played})
        return stepped


def _moment(shown: str | NDArray[np.uint8] | None) -> dict[str, Any]:
    """Rendered text or picture of a game, as JSON for a page."""
    if shown is None:
        return {}
    if isinstance(shown, str):
        return {"text": _COLOUR_CODES.sub("", shown)}
    picture, file = Image.fromarray(shown), io.BytesIO()
    picture.thumbnail((WIDTH, WIDTH))
    picture.quantize(COLOURS).save(file, "png", optimize=True)
    return {"picture": f"data:image/png;base64,{base64.b64encode(file.getvalue()).decode()}"}
