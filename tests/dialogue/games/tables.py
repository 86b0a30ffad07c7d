"""Games between scripted players."""

from selfplay_dialogue.matching import start
from selfplay_dialogue.scripted import STYLES, MatchingPlayer


def self_play(rules, state, players, game=start):
    """A game, and what its seats were told."""
    game, read = game(rules, state), []
    while game.outcome is None:
        seat = game.mover
        read.append(game.observe(seat))
        game.act(players[seat].reply(read[-1]))
    return game, read


def with_itself(rules, state, style, seed):
    """A game of a scripted player of the matching with itself."""
    return self_play(rules, state, [MatchingPlayer(rules, STYLES[style], 2 * seed + seat) for seat in range(2)])[0]
