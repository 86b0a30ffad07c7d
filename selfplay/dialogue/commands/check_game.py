"""Is a text game right? Plays it at random and with replies that no game expects, and lists what is broken."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from itertools import product
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from selfplay.dialogue.contract import LONG, REFUSED, written
from selfplay.dialogue.find import find_dialogue
from selfplay.games.errors import EnumerationError, GameError
from selfplay.games.objective import EQUAL
from selfplay.games.registry import find_kind
from selfplay.seeding import derive

if TYPE_CHECKING:
    from selfplay.commands.time_limit import TimeLimit
    from selfplay.dialogue.contract import DialogueEntry, DialogueGame, GameOutcome, Rules
    from selfplay.games.text_game import TextGame

GAMES: Final = 200
MANY: Final = 100
FEW: Final = 32  # games of each pair of scripted players, and with each odd reply
ODD: Final = {
    "an empty reply": "",
    "a blank": " ",
    "any characters": "xq)(7",
    "brackets": "[]",
    "a line break": "\n",
    "other letters": "\u00e9\u4e2d\U0001f600\x00",
    "20,000 characters": "long " * 4000,
}


@dataclass(slots=True)
class TextReport:
    """Result of the checks."""

    game: str
    broken: list[str] = field(default_factory=list)  # promises
    notes: list[str] = field(default_factory=list)  # hints for the author
    players: tuple[str, ...] = ()
    objective: str = ""
    turns: float | None = None  # of a random game, mean
    rewards: tuple[float, float] | None = None  # mean of random games
    turns_per_s: float = 0.0
    words: int = 0  # vocabulary of the embedded model
    exact: str | None = None

    def breaks(self, what: str) -> None:
        if what not in self.broken:
            self.broken.append(what)


class _Step(NamedTuple):
    mover: int
    text: str  # that it read
    legal: tuple[str, ...] | None
    reply: str
    error: str | None


@dataclass(frozen=True, slots=True)
class _Game:
    """A finished game."""

    seed: int
    told: tuple[str, ...]  # rules
    steps: tuple[_Step, ...]
    outcome: GameOutcome


def examine(name: str, limit: TimeLimit) -> TextReport:
    """Check a text game. Blocks. GameError if it does not exist."""
    found = TextReport(name)
    try:
        entry = find_dialogue(name)
        rules = entry.configure(False, {})
        with limit.part("Playing at random", 0.4):
            played = _play_at_random(entry, rules, found, limit)
        with limit.part("Odd replies", 0.4):
            _try_odd_replies(entry, rules, played, found, limit)
        with limit.part("Scripted players", 0.5):
            _try_players(entry, rules, found, limit)
        found.words = len(entry.vocabulary(rules))
        if not found.broken:
            with limit.part("Counting its information sets", 1.0):
                found.exact = _exact(entry, rules)
    except GameError as error:
        found.breaks(str(error).removeprefix(f"--game-type {name}: ").removeprefix(f"{name}: "))
    return found


def _play_at_random(entry: DialogueEntry, rules: Rules, found: TextReport, limit: TimeLimit) -> list[_Game]:
    found.players = tuple(entry.players)
    found.objective = "both seats share a reward" if entry.shared_reward else "each seat has its own reward"
    began, played = time.perf_counter(), list[_Game]()
    for number in range(GAMES):
        played.append(_played(entry, rules, derive(0, "check", number), (found.players[0],) * 2))
        if not limit.step(GAMES):
            break
    turns = sum(len(game.steps) for game in played)
    found.turns_per_s = turns / (time.perf_counter() - began)
    found.turns = turns / len(played)
    first, second = np.mean([game.outcome.rewards for game in played], 0).tolist()
    found.rewards = first, second
    for game in played[:FEW]:
        again = _begun(entry, rules, game.seed)
        if _finished(again, game.seed, [step.reply for step in game.steps]) != game:
            found.breaks("the same seed and the same replies give another game: reset(seed) must fix all randomness")
            break
    _check_games(entry, rules, played, found)
    return played


def _check_games(entry: DialogueEntry, rules: Rules, played: Sequence[_Game], found: TextReport) -> None:
    ended = [game for game in played if game.outcome.reason not in (LONG, REFUSED)]
    if len(ended) < len(played):
        found.notes.append(f"{len(played) - len(ended)} of {len(played)} random games did not end by the rules")
    movers = {step.mover for game in played for step in game.steps}
    found.notes += [f"seat {seat} never replied in {len(played)} random games" for seat in (0, 1) if seat not in movers]
    if len({(game.told, game.steps[0]) for game in played}) == 1 < len(played):
        found.notes.append("all seeds begin alike")
    if entry.shared_reward and any(abs(np.ptp(game.outcome.rewards)) > EQUAL for game in ended):
        found.breaks("objective is 'shared', but the rewards of the seats differ")
    paid = [reward for game in ended for reward in game.outcome.rewards] or [0.0]
    kind: Any = find_kind(found.game)
    if isinstance(kind.entry(), type):
        _check_declared(kind.entry(), paid, rules.error_penalty, found, shared=entry.shared_reward)


def _check_declared(
    kind: type[TextGame], paid: Sequence[float], penalty: float, found: TextReport, *, shared: bool
) -> None:
    """Compare what a game says of its rewards with those of random games."""
    low, high = kind.payoff_range or (min(paid), max(paid))
    if not low - EQUAL <= min(paid) <= max(paid) <= high + EQUAL:
        found.breaks(f"payoff_range is {kind.payoff_range}, but random games were paid {min(paid):g} to {max(paid):g}")
    if kind.best is not None and shared and np.mean(paid) > kind.best + EQUAL:
        found.breaks(f"best is {kind.best:g}, but random games were paid {np.mean(paid):g} on average")
    if not shared and low < -penalty - EQUAL:
        found.notes.append(
            f"a game can cost {-low:g}, a refused reply costs {penalty:g}: a seat that is losing gains by "
            "it; set payoff_range or error_penalty"
        )


def _try_odd_replies(
    entry: DialogueEntry, rules: Rules, played: Sequence[_Game], found: TextReport, limit: TimeLimit
) -> None:
    """Write odd replies at each turn of some games: they must be refused without a change, or be valid."""
    patient = replace(rules, retries=MANY, error_penalty=0.0)
    for game, (what, reply) in product(played[:FEW], ODD.items()):
        for turn in range(len(game.steps)):
            try:
                if (broken := _broken_by(entry, patient, game, turn, reply)) is not None:
                    found.breaks(f"{what}: {broken}")
            except GameError as error:
                found.breaks(f"{what}: {error}")
        if not limit.step(FEW * len(ODD)):
            found.notes.append("the time was over, so not all odd replies were tried")
            return


def _broken_by(entry: DialogueEntry, rules: Rules, game: _Game, turn: int, reply: str) -> str | None:
    """What is broken if this reply comes first in a turn of a game; None if nothing is."""
    begun, replies = _begun(entry, rules, game.seed), [step.reply for step in game.steps]
    for before in replies[:turn]:
        begun.act(before)
    begun.observe(begun.mover)
    legal = game.steps[turn].legal
    if begun.act(reply).error is None:
        return "act accepts it, but legal does not list it" if legal is not None and reply not in legal else None
    if begun.outcome is not None:
        return None
    rest = _finished(begun, game.seed, replies[turn:])
    same = [(step.mover, step.legal) for step in rest.steps] == [(step.mover, step.legal) for step in game.steps[turn:]]
    if not same or rest.outcome != game.outcome or rest.steps[1:] != game.steps[turn + 1 :]:
        return "act refuses it, but the game goes on differently afterwards"
    return None


def _try_players(entry: DialogueEntry, rules: Rules, found: TextReport, limit: TimeLimit) -> None:
    """Let all scripted players play each other."""
    for pair in product(entry.players, repeat=2):
        refused = 0
        for number in range(FEW):
            refused += _played(entry, rules, derive(1, "check", number), pair).outcome.reason == REFUSED
            if not limit.step(FEW * len(entry.players) ** 2):
                found.notes.append("the time was over, so not all scripted players were checked")
                return
        if refused:
            found.notes.append(f"{refused} of {FEW} games of {' with '.join(pair)} ended by refused replies")


def _begun(entry: DialogueEntry, rules: Rules, seed: int) -> DialogueGame:
    return entry.start(rules, entry.states(rules, [seed])[0])


def _played(entry: DialogueEntry, rules: Rules, seed: int, names: Sequence[str]) -> _Game:
    players = [entry.players[name](rules, derive(seed, "player", seat)) for seat, name in enumerate(names)]
    game = _begun(entry, rules, seed)
    return _finished(game, seed, (), lambda text: written(players[game.mover], text, game))


def _finished(
    game: DialogueGame, seed: int, replies: Sequence[str], otherwise: Callable[[str], str] = lambda _: ""
) -> _Game:
    """Play a game to its end with these replies, and then others."""
    told, steps, left = (game.system(0), game.system(1)), list[_Step](), iter(replies)
    while game.outcome is None:
        mover, text, legal = game.mover, game.observe(game.mover), game.legal()
        reply = next(left, None)
        turn = game.act(otherwise(text) if reply is None else reply)
        steps.append(_Step(mover, text, None if legal is None else tuple(legal), turn.text, turn.error))
        if turn.error is not None and legal is not None and turn.text in legal:
            raise GameError(f"legal lists {turn.text!r}, which act refuses: {turn.error}")
    return _Game(seed, told, tuple(steps), game.outcome)


def _exact(entry: DialogueEntry, rules: Rules) -> str | None:
    if entry.exact is None:
        return None
    try:
        return f"yes, {len(entry.exact(rules).information_sets):,} information sets"
    except EnumerationError as error:
        return f"no, {error}"
