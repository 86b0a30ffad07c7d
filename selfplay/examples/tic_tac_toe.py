import numpy as np

from selfplay.games import Game

LINES = [[0, 1, 2], [3, 4, 5], [6, 7, 8], [0, 3, 6], [1, 4, 7], [2, 5, 8], [0, 4, 8], [2, 4, 6]]


def finisher(game, seat, rng):  # completes a line of its own, else one of the other player, else plays at random
    for mark in (seat, 1 - seat):
        for line in LINES:
            if sorted(game.board[line]) == sorted([-1, mark, mark]):
                return next(cell for cell in line if game.board[cell] == -1)
    return int(rng.choice(np.flatnonzero(game.board == -1)))


class TicTacToe(Game):
    num_actions, obs_width, players = 9, 18, {"finisher": finisher}

    def reset(self, seed):
        self.board, self.seat = np.full(9, -1), 0

    def to_act(self):
        return (self.seat,)

    def observe(self, seat):
        return np.concatenate([self.board == seat, self.board == 1 - seat])

    def legal(self, seat):
        return self.board == -1

    def step(self, actions):
        mover, self.seat = self.seat, 1 - self.seat
        self.board[actions[mover]] = mover
        won = float(any((self.board[line] == mover).all() for line in LINES))
        return (won, -won) if mover == 0 else (-won, won), bool(won or (self.board >= 0).all()), False

    def render(self):
        return "\n".join(" ".join("OX."[mark] for mark in row) for row in self.board.reshape(3, 3))
