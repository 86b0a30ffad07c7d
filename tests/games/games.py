"""Small games of two seats, for tests of what plays them."""

import numpy as np

from selfplay.games.game import Game


class Nim(Game):
    """Take one to three stones in turn; the last one wins."""

    num_actions = 3
    obs_width = 13
    max_steps = 20

    def reset(self, seed):
        self.left = 8 + seed % 5
        self.seat = 0

    def to_act(self):
        return (self.seat,)

    def observe(self, seat):
        return np.arange(13) == self.left

    def legal(self, seat):
        return np.arange(3) < self.left

    def step(self, actions):
        self.left -= actions[self.seat] + 1
        won = float(self.left == 0)
        rewards = (won, -won) if self.seat == 0 else (-won, won)
        self.seat = 1 - self.seat
        return rewards, self.left == 0, False

    def render(self):
        return "|" * self.left


class Bids(Game):
    """Bid one of the higher of many numbers, five times in turn; the higher sum wins. No action fits into an int8."""

    num_actions = 300
    obs_width = 2

    def reset(self, seed):
        self.steps, self.sums = 0, [seed % 7, 0]

    def to_act(self):
        return (self.steps % 2,)

    def observe(self, seat):
        return [self.steps / 10, (self.sums[seat] - self.sums[1 - seat]) / 300]

    def legal(self, seat):
        return np.arange(300) >= 150 + self.steps

    def step(self, actions):
        self.sums[self.steps % 2] += actions[self.steps % 2]
        self.steps += 1
        ahead = float(np.sign(self.sums[0] - self.sums[1])) if self.steps == 10 else 0.0
        return (ahead, -ahead), self.steps == 10, False


class Meeting(Game):
    """Both seats are paid alike: 1 to 4 coins if they name the same number, in one step."""

    num_actions = 4
    obs_width = 1
    objective = "shared"
    payoff_unit = "coins"

    def reset(self, seed):
        self.seed = seed

    def to_act(self):
        return (0, 1)

    def observe(self, seat):
        return [float(seat)]

    def step(self, actions):
        paid = float(actions[0] + 1) if actions[0] == actions[1] else 0.0
        return (paid, paid), True, False


class Duel(Game):
    """Both seats choose at once, a number and a side; rewards are shared in part; the third step ends the game."""

    num_actions = (3, 2)
    obs_width = 2
    version = 4

    def reset(self, seed):
        self.rng = np.random.default_rng(seed)
        self.steps = 0
        self.luck = float(self.rng.integers(100))

    def observe(self, seat):
        return [self.luck, self.steps + 10 * seat]

    def step(self, actions):
        self.steps += 1
        self.luck = float(self.rng.integers(100))
        (a, side), (b, other) = actions
        return (a - b + 0.25 * (side == other), b - a), self.steps == 3, False


class Uncounted(Duel):
    """A game that does not repeat itself."""

    begun = 0

    def reset(self, seed):
        Uncounted.begun += 1
        super().reset(seed + Uncounted.begun)


class Cheated(Nim):
    """A game with a scripted player that is broken."""

    players = {"cheat": lambda game, seat, rng: 99}  # noqa: RUF012


class Endless(Nim):
    max_steps = 6

    def step(self, actions):
        self.seat = 1 - self.seat
        return (1.0, 0.0), False, False


class Remembers(Nim):
    """A game that a reset does not begin anew."""

    episodes = 0

    def reset(self, seed):
        self.episodes += 1
        super().reset(seed + self.episodes)
