"""Leduc poker as somebody might write it: six cards of three ranks, two rounds, raises of 2 and 4."""

import numpy as np

from selfplay.games import Game

FOLD, CALL, RAISE = range(3)


class Leduc(Game):
    num_actions = 3
    obs_width = 2 + 3 + 3 + 2 * 4 * 2
    payoff_unit = "chips"
    objective = "reward"
    players = {  # noqa: RUF012
        "caller": lambda game, seat, rng: CALL,
        "raiser": lambda game, seat, rng: RAISE if game.legal(seat)[RAISE] else CALL,
        "mixer": lambda game, seat, rng: RAISE if game.legal(seat)[RAISE] and rng.random() < 0.25 else CALL,
    }

    def reset(self, seed):
        deck = np.random.default_rng(seed).permutation(6) // 2
        self.cards, self.board = deck[:2], deck[2]
        self.round = self.raises = self.seat = self.acted = 0
        self.pot, self.history = [1.0, 1.0], [[], []]

    def to_act(self):
        return (self.seat,)

    def legal(self, seat):
        return np.array([self.pot[1 - seat] > self.pot[seat], True, self.raises < 2])

    def observe(self, seat):
        out = np.zeros(self.obs_width, np.float32)
        out[[seat, 2 + self.cards[seat]]] = 1
        if self.round:
            out[5 + self.board] = 1
        for number, done in enumerate(self.history):
            for i, action in enumerate(done):
                out[8 + (number * 4 + i) * 2 + (action == RAISE)] = 1
        return out

    def step(self, actions):
        seat, action = self.seat, int(actions[self.seat])
        self.history[self.round].append(action)
        self.acted += 1
        self.seat = 1 - seat
        if action == FOLD:
            return self.won(1 - seat)
        if action == RAISE:
            self.pot[seat] = self.pot[1 - seat] + (2.0, 4.0)[self.round]
            self.raises += 1
            return (0.0, 0.0), False, False
        self.pot[seat] = max(self.pot)
        if self.acted == 1:
            return (0.0, 0.0), False, False
        if self.round:
            return self.showdown()
        self.round, self.raises, self.acted, self.seat = 1, 0, 0, 0
        return (0.0, 0.0), False, False

    def showdown(self):
        one, other = (9 if card == self.board else card for card in self.cards)
        return ((0.0, 0.0), True, False) if one == other else self.won(int(other > one))

    def won(self, seat):
        chips = self.pot[1 - seat] if seat == 0 else -self.pot[0]
        return (chips, -chips), True, False
