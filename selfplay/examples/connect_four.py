import numpy as np

from selfplay.games import ArrayGame

ROWS, COLUMNS = 6, 7
LINES = [  # the 69 lines of four squares; BOARDS has a column of ones and zeros for each
    [(row + i * up, column + i * right) for i in range(4)]
    for up, right in ((0, 1), (1, 0), (1, 1), (1, -1))
    for row in range(ROWS - 3 * up)
    for column in range(3 if right < 0 else 0, COLUMNS - 3 * max(right, 0))
]
BOARDS = np.zeros((ROWS * COLUMNS, len(LINES)), np.float32)
for number, line in enumerate(LINES):
    BOARDS[[row * COLUMNS + column for row, column in line], number] = 1


def finisher(games, b, seat, rng):  # completes a line of its own, else one of the other player, else plays at random
    free = np.flatnonzero(games.legal_actions([b])[0, seat])
    for mark in (seat, 1 - seat):
        for column in free:
            stones = games.stones[b, mark].copy()
            stones[int(games.stones[b, :, :, column].sum()), column] = 1
            if (stones.reshape(-1) @ BOARDS == 4).any():
                return int(column)
    return int(rng.choice(free))


class ConnectFour(ArrayGame):
    num_actions, obs_width, max_steps = COLUMNS, 2 * ROWS * COLUMNS, ROWS * COLUMNS
    players = {"finisher": finisher}  # noqa: RUF012
    state = {"stones": ((2, ROWS, COLUMNS), np.float32), "turn": ((), np.int64)}  # noqa: RUF012

    def to_act(self):
        return self.turn[:, None] == (0, 1)

    def observe(self, games):  # one's own stones, then those of the other player
        stones = self.stones[games].reshape(-1, 2, ROWS * COLUMNS)
        return np.concatenate([stones, stones[:, ::-1]], -1)

    def legal_actions(self, games):
        free = self.stones[games, :, -1].sum(1) == 0
        return np.repeat(free[:, None], 2, 1)

    def play(self, actions):
        games, mover = np.arange(self.num_games), self.turn.copy()
        column = actions[games, mover]
        row = self.stones[games, :, :, column].sum((1, 2)).astype(np.int64)
        self.stones[games, mover, row, column] = 1
        self.turn[:] = 1 - mover
        won = (self.stones[games, mover].reshape(-1, ROWS * COLUMNS) @ BOARDS == 4).any(1)
        full = self.stones[:, :, -1].sum((1, 2)) == COLUMNS
        rewards = np.where(np.arange(2) == mover[:, None], won[:, None], -1.0 * won[:, None])
        return rewards, won | full, np.zeros_like(won)

    def render(self, b):
        marks = np.where(self.stones[b, 0] > 0, "O", np.where(self.stones[b, 1] > 0, "X", "."))
        return "\n".join(" ".join(row) for row in marks[::-1])
