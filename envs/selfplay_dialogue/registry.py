"""The entries of matching and of Kuhn poker in text. Needs the extra `dialogue`."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any, Final

from selfplay.dialogue.contract import DialogueEntry
from selfplay.dialogue.text_entry import changed
from selfplay_dialogue import kuhn, matching, texts
from selfplay_dialogue.drills import kuhn_drills, matching_drills
from selfplay_dialogue.kuhn import PLAYERS, KuhnPlayer, KuhnRules
from selfplay_dialogue.scripted import STYLES, MatchingPlayer
from selfplay_dialogue.states import LAPTOP, STATES_VERSION, MatchingRules, MatchingState, draw_states


def _matching(embedded: bool, settings: Mapping[str, Any]) -> MatchingRules:
    """Rules of the matching: those of the laptop at its size, dialop's at others."""
    usual = MatchingRules()
    size = settings.get("size", LAPTOP.size if embedded else usual.size)
    rules = LAPTOP if size == LAPTOP.size else usual
    texts: dict[str, Any] = {"table": usual.table, "told": usual.told, "retries": usual.retries}
    if embedded:
        texts = {"table": LAPTOP.table, "told": LAPTOP.told}
    return changed("matching", rules, {**texts, "size": size, **settings})


def _references(rules: MatchingRules, state: MatchingState) -> dict[str, float]:
    """Reference rewards: a random assignment, the mean of both players alone, the best."""
    anything = float(state.table.sum()) / rules.size
    alone = sum(state.solo(seat, rules.unseen) for seat in range(2)) / 2
    return {"random": anything / state.best, "solo": alone / state.best, "optimum": 1.0}


def _matching_player(name: str, rules: MatchingRules, seed: int) -> MatchingPlayer:
    return MatchingPlayer(rules, STYLES[name], seed)


def _kuhn_player(name: str, rules: KuhnRules, seed: int) -> KuhnPlayer:
    return KuhnPlayer(PLAYERS[name], seed)


MATCHING: Final = DialogueEntry(
    rules=MatchingRules,
    configure=_matching,
    states=draw_states,
    load=MatchingState.from_json,
    start=matching.start,
    players={name: partial(_matching_player, name) for name in STYLES},
    teacher="teacher",
    drills=matching_drills,
    vocabulary=texts.vocabulary,
    references=_references,
    shared_reward=True,
    players_version=1,
    versions={"states": STATES_VERSION},
)
KUHN_TEXT: Final = DialogueEntry(
    rules=KuhnRules,
    configure=lambda embedded, settings: changed(
        "kuhn_text", KuhnRules(told="nothing" if embedded else "full"), settings
    ),
    states=kuhn.deal,
    load=kuhn.hand_from_json,
    start=kuhn.start,
    players={name: partial(_kuhn_player, name) for name in PLAYERS},
    teacher="random",
    drills=kuhn_drills,
    vocabulary=kuhn.vocabulary,
    references=lambda _rules, _hand: {},  # the value of a hand depends on the players
    shared_reward=False,
    players_version=1,
    exact=kuhn.solved,
)
