"""How many rating games the share of rating in a run's time pays for."""

from __future__ import annotations


class RatingBudget:
    """Number of rating games allowed now, so that rating takes no more than its share of the time.

    Time is measured in seconds or, in deterministic runs, in frames, with each game counted at its longest.
    """

    def __init__(self, share: float, cap_frames: int, *, by_frames: bool, cost_s: float = 0.05) -> None:
        """``cost_s``: seconds that a game is thought to take before any was played."""
        self._share = share
        self._cap_frames = cap_frames
        self._by_frames = by_frames
        self._cost = float(cap_frames) if by_frames else cost_s  # of a game, in the clock's unit; measured as it goes
        self.spent = 0.0

    def games(self, elapsed_s: float, frames: int, part: float = 1.0) -> int:
        """Games that fit now; ``part`` keeps some of the share for later."""
        total = float(frames) if self._by_frames else elapsed_s
        return max(0, int((self._share * part * total - self.spent) / self._cost))

    def games_of(self, seconds: float, part: float = 1.0) -> int:
        """Games that the share of some seconds pays for."""
        return int(self._share * part * seconds / self._cost)

    def pay(self, games: int, seconds: float) -> None:
        """Account for games, or for other work of rating where ``games`` is 0, which leaves the cost of a game."""
        if self._by_frames:
            self.spent += games * self._cap_frames
        else:
            self.spent += seconds
            if games:
                self._cost = 0.5 * self._cost + 0.5 * seconds / games
