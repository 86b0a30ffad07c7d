"""The entry of a ``TextGame``: how it is drawn, begun, recorded and started from.

What a small model needs is found from random games: the vocabulary, and what both seats are paid.
"""

from __future__ import annotations

import hashlib
import math
import re
import string
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import cache, partial
from typing import TYPE_CHECKING, Any, Final, TypeVar, final

import numpy as np

from selfplay.dialogue.contract import DialogueEntry, JsonObject, RandomReplies, ScriptedPlayer, written
from selfplay.dialogue.replies import ERROR
from selfplay.dialogue.text_dialogue import TextDialogue, begun
from selfplay.dialogue.text_tree import TextTree, text_tree
from selfplay.games.errors import GameError, UnknownNameError, error_context
from selfplay.games.objective import PaidByScore, declared
from selfplay.games.text_game import TextGame, has_legal
from selfplay.seeding import derive

if TYPE_CHECKING:
    from selfplay.games.objective import Objective

RulesType = TypeVar("RulesType", bound=Any)
RANDOM: Final = "random"
SAMPLED: Final = 256  # random games from which the vocabulary is taken
SAMPLED_TURNS: Final = 8_192  # at most
REPLIES: Final = 512  # legal replies that are one token each; more are made of words
HABIT: Final = 0.8  # of the player whose games the embedded model reads first
MARKS: Final = 3  # tokens of a turn that are no text
CONTEXTS: Final = 512, 4096  # the least and the most
WORDS: Final = 2_000  # at most: the most frequent ones
CHARACTERS: Final = string.ascii_letters + string.digits + string.punctuation + " \n"
_WORD: Final = re.compile(r" ?\w+|\s|.")
_TYPES: Final = {bool: "true or false", int: "whole numbers", float: "numbers", str: "words"}


@dataclass(frozen=True, slots=True)
class TextRules:
    """Settings of a ``TextGame``."""

    retries: int = 0
    error_penalty: float = 0.0
    max_turns: int = 100
    told: str = "full"  # text before the first turn: `full`, the rules; or `nothing`


@cache
def entry_of(name: str, game: type[TextGame]) -> DialogueEntry:
    """The entry of a game.

    Raises:
        GameError: an attribute of the game is not valid, or random games of it fail.
    """
    with error_context(f"--game-type {name}"):
        objective = _declared(name, game)
    shared = (objective or _Sample.of(name, game).objective).kind == "shared"
    loss = max(0.0, -float(game.payoff_range[0])) if game.payoff_range else 0.0 if shared else 1.0
    penalty = loss if game.error_penalty is None else float(game.error_penalty)
    rules = TextRules(game.retries, penalty, game.max_turns)
    return DialogueEntry(
        rules=TextRules,
        configure=lambda embedded, settings: changed(
            name, replace(rules, told="nothing" if embedded else "full"), settings
        ),
        states=lambda _, seeds: [int(seed) for seed in seeds],
        load=partial(_seed_in, name),
        start=partial(_start, name, game, shared, loss),
        players=_players(name, game),
        teacher=RANDOM if has_legal(game) else next(iter(game.players), ""),
        start_player=(lambda _, seed: RandomReplies(seed, HABIT)) if has_legal(game) else None,
        drills=lambda *_: [],
        vocabulary=lambda _: list(_Sample.of(name, game).vocabulary),
        references=lambda *_: {} if game.best is None else {"optimum": float(game.best)},
        shared_reward=shared,
        players_version=game.version,
        versions={"rules_version": game.version},
        fingerprint=lambda: _Sample.of(name, game).fingerprint,
        context=lambda: _Sample.of(name, game).context,
        exact=None if shared or not has_legal(game) else cache(partial(_solved, game)),
    )


def changed(game: str, rules: RulesType, settings: Mapping[str, Any]) -> RulesType:
    """The rules of a game, a frozen dataclass, with some settings replaced.

    Raises:
        UnknownNameError: there is no such setting.
        GameError: a value is of another type, or the game has no such rules.
    """
    valid = [field.name for field in fields(rules)]
    for name, value in settings.items():
        if name not in valid:
            raise UnknownNameError(f"setting of {game}", name, valid)
        kind = type(getattr(rules, name))
        if type(value) is not kind and not (kind is float and type(value) is int):
            raise GameError(f"{game}: {name} is {value!r} (valid: {_TYPES[kind]})")
    return replace(rules, **settings)


def _declared(name: str, game: type[TextGame]) -> Objective | None:
    for attribute, least in (("retries", 0), ("max_turns", 1), ("version", 0)):
        value = getattr(game, attribute)
        if type(value) is not int or value < least:
            raise GameError(f"{attribute} is {value!r}; a whole number of at least {least} is needed")
    if game.__abstractmethods__:
        raise GameError(f"{game.__name__} has no {' and no '.join(sorted(game.__abstractmethods__))}")
    return declared(name, game.objective, game.payoff_range, game.payoff_unit)


def _start(name: str, game: type[TextGame], shared: bool, loss: float, rules: TextRules, seed: int) -> TextDialogue:
    return TextDialogue(
        begun(game, name, seed),
        name,
        retries=rules.retries,
        error_penalty=rules.error_penalty,
        loss=loss,
        max_turns=rules.max_turns,
        told=rules.told != "nothing",
        shared=shared,
        record=partial(_recorded, seed),
    )


def _solved(game: type[TextGame], rules: TextRules) -> TextTree:
    return text_tree(game, rules.max_turns, told=rules.told != "nothing")


def _recorded(seed: int, game: TextDialogue) -> JsonObject:
    return {"seed": seed, "replies": [turn.text for turn in game.turns]}


def _seed_in(name: str, document: object) -> int:
    match document:
        case {"seed": int(seed)} if 0 <= seed < 2**64:
            return seed
    raise GameError(f"{name}: a record has a seed from 0 to 2**64 - 1")


# ---------------------------------------------------------------- scripted players


def _players(name: str, game: type[TextGame]) -> dict[str, Callable[[Any, int], ScriptedPlayer]]:
    """Scripted players, with a random one if the game brings none of that name."""
    found: dict[str, Callable[[Any, int], ScriptedPlayer]] = {RANDOM: lambda _, seed: RandomReplies(seed)}
    for player, made in game.players.items():
        found[player] = partial(_scripted, f"{name}: player {player}", made)
    return found


def _scripted(where: str, made: Any, _: object, seed: int) -> ScriptedPlayer:  # noqa: ANN401
    rng = np.random.default_rng(seed)
    with error_context(where):
        return _Scripted(where, made(rng).reply if isinstance(made, type) else partial(_called, made, rng))


def _called(made: Callable[[str, np.random.Generator], str], rng: np.random.Generator, observation: str) -> str:
    return made(observation, rng)


@final
class _Scripted:
    """A player of the game's own (``ScriptedPlayer``)."""

    def __init__(self, where: str, reply: Callable[[str], str]) -> None:
        self._where = where
        self._reply = reply

    def reply(self, observation: str) -> str:
        with error_context(self._where):
            text = self._reply(observation)
            if not isinstance(text, str):
                raise GameError(f"its reply to {observation!r} is {text!r}; a str is needed")
            return text


# ---------------------------------------------------------------- what random games show


@dataclass(frozen=True, slots=True)
class _Sample:
    """What is known from random games."""

    vocabulary: tuple[str, ...]
    objective: Objective
    fingerprint: str  # of all that was read and written
    context: int  # tokens that the embedded model sees

    @staticmethod
    @cache
    def of(name: str, game: type[TextGame]) -> _Sample:
        """Play games of the random player with itself, and of each scripted player with itself."""
        players = _players(name, game)
        legal, texts, paid, turns, longest = dict[str, None](), Counter[str](), PaidByScore(), 0, 0
        rules = TextRules(game.retries, 0.0, game.max_turns)
        for number in range(SAMPLED):
            made = [*players.values()][number % len(players)]
            played = _start(name, game, False, 0.0, rules, derive(0, "sample", number))
            seats = [made(rules, derive(0, "sample", number, seat)) for seat in range(2)]
            lengths = [0, 0]
            while played.outcome is None:
                replies = played.legal() or ()
                read = played.observe(played.mover)
                legal.update(dict.fromkeys(replies))
                texts.update([read, *replies])
                turn = played.act(written(seats[played.mover], read, played))
                lengths[turn.seat] += len(_WORD.findall(read)) + len(_WORD.findall(turn.text)) + MARKS
                texts.update([turn.text, ERROR + (turn.error or "")])
                turns += 1
            longest = max(longest, *lengths)
            paid.add_game(_score(played.outcome.rewards), played.outcome.rewards)
            if turns >= SAMPLED_TURNS:
                break
        digest = hashlib.sha256(repr([*texts.items()]).encode()).hexdigest()
        return _Sample(tuple(_pieces([*legal], texts)), paid.objective(), digest[:12], _context(longest))


def _context(longest: int) -> int:
    """Tokens for games half as long again as the longest random game."""
    return int(min(max(CONTEXTS[0], 2 ** math.ceil(math.log2(1.5 * longest + 1))), CONTEXTS[1]))


def _score(rewards: tuple[float, float]) -> float:
    return 0.5 + 0.5 * float(np.sign(rewards[0] - rewards[1]))


def _pieces(legal: Sequence[str], texts: Counter[str]) -> list[str]:
    """The vocabulary: legal replies if there are few, the most frequent words, and single characters."""
    words = Counter[str]()
    for text, count in texts.items():
        for word in _WORD.findall(text):
            words[word] += count
    characters = dict.fromkeys([*CHARACTERS, *"".join(texts)])
    whole = [reply for reply in legal if reply] if len(legal) <= REPLIES else []
    return list(dict.fromkeys([*whole, *(word for word, _ in words.most_common(WORDS)), *characters]))
