"""The sequential test of one player against another by payoffs."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from selfplay.league.sprt import SprtBounds, SprtResult, sprt

if TYPE_CHECKING:
    from numpy.typing import ArrayLike


def sprt_of_payoffs(payoffs: ArrayLike, pairs: ArrayLike | None = None, bounds: SprtBounds | None = None) -> SprtResult:
    """Test whether A is stronger, by its payoffs [N]. Games with one label in ``pairs`` [N] share a seed.

    Payoffs have the unit that makes a game as noisy as one that is won or lost, see ``Scale``: 30 Elo of the bounds are
    0.09 standard deviations of a game.
    """
    paid = np.asarray(payoffs, dtype=np.float64).ravel()
    size = float(np.sqrt(np.square(paid).mean())) if paid.size else 0.0
    return sprt(0.5 + paid / (2.0 * size or 1.0), pairs, bounds)
