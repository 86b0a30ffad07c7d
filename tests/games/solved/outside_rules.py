"""Rules of somebody else: higher number wins what it says, from a deal that both see."""


class HighNumber:
    actions = ("one", "two", "three")

    def starts(self):
        return [(bonus,) for bonus in (0, 1)]

    def legal(self, state, seat):
        return (0, 1, 2)

    def after(self, state, actions):
        return (*state, *actions)

    def payoff(self, state):
        if len(state) == 1:
            return None
        bonus, mine, other = state
        return float(mine - other + bonus)

    def observe(self, state, seat):
        return (float(state[0]), float(seat))

    def render(self, state):
        return str(state)


RULES = HighNumber()


class Endless(HighNumber):
    def legal(self, state, seat):
        return (0, 1)

    def payoff(self, state):
        return None

    def observe(self, state, seat):
        return (0.0, float(seat))
