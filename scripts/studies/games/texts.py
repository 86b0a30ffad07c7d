"""Text games: their settings, and what a seat reads."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from typing import Final

from scripts.studies.games import parts
from scripts.studies.pages import table
from selfplay.dialogue.find import find_dialogue

MEANINGS: Final[dict[str, Mapping[str, str]]] = {
    "matching": {
        "size": "papers, and reviewers",
        "known": "probability that a player sees a cell",
        "values": "cells are worth 0 to this, less 1",
        "unseen": "assumed value of a cell that a player does not see",
        "hardness": "minimum of the best value over that of either player's own assignment",
        "scaled": "each player sees values times a factor of its own, from 1 to 10",
        "max_turns": "turns of both together",
        "retries": "refused replies a turn; one more ends the game",
        "error_penalty": "cost of a refused reply",
        "table": "format of the cells",
        "told": "text before the first turn",
    },
    "kuhn_text": {
        "retries": "refused replies a turn; one more ends the game",
        "error_penalty": "cost of a refused reply, in antes",
        "told": "text before the first turn",
    },
}
PLAYERS: Final[dict[str, Mapping[str, str]]] = {
    "matching": {
        "random": "proposes an assignment at random, without a message",
        "greedy": "proposes the best assignment of its own cells, without a message",
        "teacher": "up to two messages of cells, then proposes; noisy values",
        "pooling": "one to three messages of cells, then proposes",
        "pooling_best": "two or three messages, its largest cells first, then proposes",
    },
    "kuhn_text": {
        "random": "bets half of the time with every card",
        "honest": "bets with the king only",
        "equilibrium": "plays the equilibrium of [`kuhn`](kuhn.md)",
    },
}


def text(name: str) -> str:
    """The tables of a game's page."""
    entry = find_dialogue(name)
    embedded, others = entry.configure(True, {}), entry.configure(False, {})
    rows = [
        (f"`{field.name}`", MEANINGS[name][field.name], getattr(embedded, field.name), getattr(others, field.name))
        for field in fields(entry.rules)
    ]
    state = entry.states(embedded, [0])[0]
    game = entry.start(embedded, state)
    read = game.observe(game.mover)
    versions = [("players", entry.players_version), *entry.versions.items()]
    return parts.joined(
        [
            ("Settings", table(("setting", "meaning", "with `tiny`", "with other models"), rows)),
            ("Observation", f"Text. What the first seat reads with `tiny`, seed 0:\n\n```text\n{read.strip()}\n```"),
            ("Versions", table(("of", "version"), versions)),
            (
                "Scripted players",
                table(("player", "what it does"), [(f"`{each}`", PLAYERS[name][each]) for each in entry.players]),
            ),
        ]
    )
