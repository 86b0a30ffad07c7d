"""Playing a text game in the terminal, against a model or a scripted player."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields, replace
from functools import partial
from itertools import count
from typing import TYPE_CHECKING, Final

from selfplay.dialogue.replies import is_refusal
from selfplay.dialogue.runner import GameSpec, Lost, play_games
from selfplay.seeding import derive

if TYPE_CHECKING:
    from selfplay.dialogue.contract import DialogueEntry, DialogueGame, Rules
    from selfplay.dialogue.runner import Player

Read = Callable[[str], str]
Write = Callable[[str], None]
RETRIES: Final = 100  # of a person who mistypes
LISTED: Final = 24  # legal replies that are shown


def play_in_terminal(
    entry: DialogueEntry, rules: Rules, name: str, opponent: Player, read: Read, write: Write, *, seed: int, seat: int
) -> None:
    """Play one game after the other until the person ends it; the seats swap each time, from ``seat`` on.

    ``read`` shows a prompt and returns an answer; EOFError is the end of the input.
    """
    valid = {field.name for field in fields(rules)}
    patient = {"retries": RETRIES, "error_penalty": 0.0, "told": "full"}
    if {field.name for field in fields(rules)} >= {"table"}:  # the format of tables belongs to what is told
        patient.pop("told")
    rules = replace(rules, **{key: value for key, value in patient.items() if key in valid})
    total, games = 0.0, 0
    try:
        for number in count(1):
            state = entry.states(rules, [derive(seed, "game", number)])[0]
            game = entry.start(rules, state)
            write(f"Game {number}: you have seat {seat}, {name} has seat {1 - seat}. Type quit any time.")
            person: Player = partial(_Person, game, read, write)
            pair = (person, opponent) if seat == 0 else (opponent, person)
            (played,) = play_games([GameSpec(0, "0", game, derive(seed, "play", number), pair)])
            if isinstance(played, Lost):
                write(f"The game failed: {played.why}")
            else:
                mine, other = played.outcome.rewards[seat], played.outcome.rewards[1 - seat]
                total, games = total + mine, games + 1
                write(f"The game is over ({played.outcome.reason}): {mine:g} for you, {other:g} for {name}.")
            if read("Again? [Y/n] ").strip().casefold() in ("n", "no", "quit"):
                break
            seat = 1 - seat
    except (EOFError, _Quit):
        write("")
    if games:
        write(f"Your mean reward: {total / games:.3f} in {games} game{'s' if games > 1 else ''}.")


class _Quit(BaseException):
    """The person has had enough. No ``Exception``, since errors of a player lose a game."""


class _Person:
    """A person at the terminal (``ScriptedPlayer``)."""

    def __init__(self, game: DialogueGame, read: Read, write: Write, _: int) -> None:
        self._game = game
        self._read = read
        self._write = write
        self._begun = False

    def reply(self, observation: str) -> str:
        seat = self._game.mover
        if not self._begun and (rules := self._game.system(seat)):
            self._write(rules)
        self._begun = True
        if observation:
            self._write(observation if is_refusal(observation) else f"> {observation.strip()}")
        legal = self._game.legal()
        listed = f" ({', '.join(legal[:LISTED])}{', ...' * (len(legal) > LISTED)})" if legal else ""
        try:
            answer = self._read(f"Your reply{listed}: ")
        except EOFError:
            raise _Quit from None
        if answer.strip().casefold() == "quit":
            raise _Quit
        return answer.replace("\\n", "\n")
