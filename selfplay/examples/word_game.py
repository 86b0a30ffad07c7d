"""A text game of one's own: seat 0 knows a number and writes one word, from which seat 1 guesses it."""

import random

from selfplay import TextGame


class Hint(TextGame):
    objective, best, words = "shared", 1.0, ["tiny", "small", "low", "high", "big", "huge"]

    def reset(self, seed):
        self.secret, self.hint, self.mover = random.Random(seed).randint(1, 6), "", 0

    def observe(self, seat):
        return f"hint {self.hint}" if seat else f"secret {self.secret}"

    def legal(self, seat):
        return list("123456") if seat else self.words

    def act(self, text):
        if text not in self.legal(self.mover):
            return f"write one of {', '.join(self.legal(self.mover))}"
        if self.mover == 0:
            self.hint, self.mover = text, 1
            return None
        reward = 1 - abs(int(text) - self.secret) / 5
        return reward, reward
