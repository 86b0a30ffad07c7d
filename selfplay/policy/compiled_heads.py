"""Drawing, probability and entropy of actions and their gradient, compiled for the CPU.

``browser/heads.js`` draws actions in the same way, number for number.

Rows are processed in tiles of ``LANES`` rows and transposed, so that every operation works on neighbouring numbers and
compiles to vector instructions. The result of a row does not depend on the rows beside it. A class k of a categorical
is kept as x = z_k - max z, a button b as x = -|b|, both with e = exp x. With S = sum e and M = sum (e / S) x over a
categorical:

    log p_k = x_k - log S       H = log S - M             dH/dz_k = -p_k (x_k - M)
    log p   = [b] - max(b, 0) - log(1 + e)                dH/db   = -b s (1 - s), s = sigmoid(b)

The two divergences between this distribution and another one, q, whose x is y:

    KL(p, q) = M - sum p y + log S_q - log S     its gradient: p_k (x_k - y_k - sum p (x - y))
    KL(q, p)                                     its gradient: p_k - q_k

Logarithms add up over the parts of an action, so one logarithm of their product is taken. All compiled functions that
call each other are in this file because Numba's cache only watches the file of the function that it stores.
"""

from __future__ import annotations

import math
from functools import cache
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from selfplay.compilation.compile import inner
from selfplay.compilation.compile import kernel as kernel  # also for the learner, which does not import the games
from selfplay.rollout.buffers import Workspace

if TYPE_CHECKING:
    from selfplay.games.api import Actions

F32 = NDArray[np.float32]
F64 = NDArray[np.float64]

LANES: Final = 64  # rows of a tile
TINY: Final = np.float32(2.0**-26)  # below every random number but 0
ZERO, ONE = np.float32(0.0), np.float32(1.0)
MOST_BITS: Final = 1000.0  # of the product of all 1 + e and S, a float64

# exp x = 2^n exp y with y = x - n log 2 in [-log 2 / 2, log 2 / 2], where exp y is a polynomial; the coefficients are
# those of the Cephes library (S. L. Moshier), good to 2 units in the last place. Adding ROUND leaves n in the low bits.
LOG2_E: Final = np.float32(1.44269504)
LN2_HIGH: Final = np.float32(0.693359375)
LN2_LOW: Final = np.float32(-2.12194440e-4)
LOWEST: Final = np.float32(-87.0)  # below it the result is 0
ROUND: Final = np.float32(1.5 * 2**23)
ONE_BITS: Final = 127 << 23
C0, C1, C2 = np.float32(1.9875691500e-4), np.float32(1.3981999507e-3), np.float32(8.3334519073e-3)
C3, C4, C5 = np.float32(4.1665795894e-2), np.float32(1.6666665459e-1), np.float32(5.0000001201e-1)


class Layout(NamedTuple):
    """The parts of an action."""

    binary: int  # buttons
    sizes: NDArray[np.int64]  # classes of each categorical


class Tile(NamedTuple):
    """The distributions of one tile of rows."""

    x: F32  # [L, lanes]
    e: F32  # [L, lanes]
    mass: F32  # [categoricals, lanes] S
    mean: F32  # [categoricals, lanes] M
    product: F64  # [lanes] of all 1 + e and S
    entropy: F32  # [lanes] without the logarithm of the product


class Distributions(NamedTuple):
    """The distributions of N rows: T tiles."""

    tiles: Tile  # every array with a T in front
    logprob: F32  # [N] of the given actions
    entropy: F64  # [N]


@cache
def can_handle(binary: int, sizes: tuple[int, ...]) -> bool:
    """Return True if no product can overflow: S is at most the number of classes, and 1 + e is at most 2."""
    return binary + sum(math.log2(size) for size in sizes) < MOST_BITS


@cache
def layout(binary: int, sizes: tuple[int, ...]) -> Layout:
    return Layout(binary, np.array(sizes, np.int64))


def draw(parts: Layout, logits: F32, uniform: F32, dtype: np.dtype[Any]) -> tuple[Actions, F32]:
    """Draw an action [N, A] for each row by the inverse of its cumulative distribution; its log-probability [N].

    ``uniform`` [N, A] in [0, 1) has a random number for each part, and ``dtype`` is that of the actions. What must not
    be drawn has ``heads.NEVER``.
    """
    actions = np.empty(uniform.shape, dtype)
    logprob = np.empty(len(logits), np.float32)
    _draw(parts, logits, uniform, actions, logprob)
    return actions, logprob


def distributions(parts: Layout, logits: F32, actions: Actions, workspace: Workspace | None = None) -> Distributions:
    """Log-probability of actions [N, A], entropy of each row, and what ``gradient`` needs; logits [N, L].

    With a workspace the result lies in it.
    """
    workspace, rows = workspace or Workspace(), len(logits)
    lanes, heads = max(1, min(LANES, rows)), len(parts.sizes)
    count = -(-rows // lanes)
    tiles = Tile(
        x=workspace.array("tiles x", (count, logits.shape[1], lanes), np.float32),
        e=workspace.array("tiles e", (count, logits.shape[1], lanes), np.float32),
        mass=workspace.array("tiles mass", (count, heads, lanes), np.float32),
        mean=workspace.array("tiles mean", (count, heads, lanes), np.float32),
        product=workspace.array("tiles product", (count, lanes), np.float64),
        entropy=workspace.array("tiles entropy", (count, lanes), np.float32),
    )
    found = Distributions(tiles, np.empty(rows, np.float32), np.empty(rows, np.float64))
    _distributions(parts, logits, actions, found)
    return found


def gradient(
    parts: Layout,
    logits: F32,
    actions: Actions,
    found: Distributions,
    along_logprob: F32,
    along_entropy: float,
    grad: F32,
) -> None:
    """Write the gradient with respect to the logits into ``grad`` [N, L].

    Arguments as of ``distributions``, whose result ``found`` is overwritten. ``along_logprob`` [N] and
    ``along_entropy`` are the gradients with respect to the log-probability and the entropy of every row.
    """
    _gradient(parts, logits, actions, found.tiles, along_logprob, np.float32(along_entropy), grad)


def add_divergences(parts: Layout, logits: F32, others: F32, weights: tuple[float, float], grad: F32) -> F64:
    """Sums of KL(Q, P) and KL(P, Q) over all rows, [2]; adds the gradient of their weighted sum to ``grad`` [N, L].

    ``logits`` [N, L], by which the gradient is, are of P, and ``others`` of Q.
    """
    sums = np.zeros(2)
    _divergences(parts, logits, others, np.array(weights, np.float32), grad, sums)
    return sums


@inner
def _tile(tiles, i):
    return Tile(tiles.x[i], tiles.e[i], tiles.mass[i], tiles.mean[i], tiles.product[i], tiles.entropy[i])


@inner
def _load(parts, logits, first, rows, tile):
    """Fill x and e from ``rows`` rows, and repeat the first row in the lanes that are left."""
    x = tile.x
    lanes = x.shape[1]
    for r in range(lanes):
        row = first + r if r < rows else first
        for k in range(x.shape[0]):
            x[k, r] = logits[row, k]
    for k in range(parts.binary):
        for r in range(lanes):
            b = x[k, r]
            x[k, r] = -b if b > ZERO else b
    top = np.empty(lanes, np.float32)
    at = parts.binary
    for size in parts.sizes:
        for r in range(lanes):
            top[r] = x[at, r]
        for k in range(at + 1, at + size):
            for r in range(lanes):
                z = x[k, r]
                top[r] = z if z > top[r] else top[r]
        for k in range(at, at + size):
            for r in range(lanes):
                x[k, r] -= top[r]
        at += size
    _exp(x, tile.e)


@inner
def _exp(x, out):
    """The exponential of numbers [K, lanes] that are 0 or less; NaN stays NaN."""
    lanes = x.shape[1]
    rounded, power = np.empty(lanes, np.float32), np.empty(lanes, np.int32)
    bits, scale = rounded.view(np.int32), power.view(np.float32)
    for k in range(x.shape[0]):
        for r in range(lanes):
            rounded[r] = x[k, r] * LOG2_E + ROUND
        for r in range(lanes):
            power[r] = (bits[r] << 23) + ONE_BITS
        for r in range(lanes):
            n = rounded[r] - ROUND
            y = (x[k, r] - n * LN2_HIGH) - n * LN2_LOW
            p = ((((C0 * y + C1) * y + C2) * y + C3) * y + C4) * y + C5
            p = ((p * y * y + y) + ONE) * scale[r]
            out[k, r] = ZERO if x[k, r] < LOWEST else p


@inner
def _masses(parts, tile):
    """Fill S, M, the product and the entropy from x and e."""
    x, e, mass, mean, product, entropy = tile
    lanes = x.shape[1]
    for r in range(lanes):
        product[r] = 1.0
        entropy[r] = ZERO
    for k in range(parts.binary):
        for r in range(lanes):
            q = ONE + e[k, r]
            product[r] *= q
            entropy[r] -= x[k, r] * e[k, r] / q
    at = parts.binary
    for head in range(len(parts.sizes)):
        for r in range(lanes):
            mass[head, r] = ZERO
            mean[head, r] = ZERO
        for k in range(at, at + parts.sizes[head]):
            for r in range(lanes):
                mass[head, r] += e[k, r]
                mean[head, r] += e[k, r] * x[k, r]
        for r in range(lanes):
            mean[head, r] /= mass[head, r]
            entropy[r] -= mean[head, r]
            product[r] *= mass[head, r]
        at += parts.sizes[head]


@inner
def _taken(parts, logits, action, row, r, x):
    """Log-probability of one action, [A], of row ``row`` in lane ``r``, without the logarithm of the product."""
    total = ZERO
    for k in range(parts.binary):
        b = logits[row, k]
        total += (b if action[k] else ZERO) - (b if b > ZERO else ZERO)
    at = parts.binary
    for head in range(len(parts.sizes)):
        total += x[at + action[parts.binary + head], r]
        at += parts.sizes[head]
    return total


@kernel
def _draw(parts, logits, uniform, actions, logprob):
    binary, width, heads, lanes = parts.binary, logits.shape[1], len(parts.sizes), max(1, min(LANES, len(logits)))
    x, e = np.empty((width, lanes), np.float32), np.empty((width, lanes), np.float32)
    mass, mean = np.empty((heads, lanes), np.float32), np.empty((heads, lanes), np.float32)
    tile = Tile(x, e, mass, mean, np.empty(lanes, np.float64), np.empty(lanes, np.float32))
    point, below = np.empty(lanes, np.float32), np.empty(lanes, np.float32)
    chosen = np.empty(lanes, np.int32)
    for first in range(0, len(logits), lanes):
        rows = min(lanes, len(logits) - first)
        _load(parts, logits, first, rows, tile)
        _masses(parts, tile)
        for r in range(rows):
            for k in range(binary):
                likely = ONE if logits[first + r, k] > ZERO else e[k, r]
                actions[first + r, k] = uniform[first + r, k] * (ONE + e[k, r]) < likely
        at = binary
        for head in range(len(parts.sizes)):
            size = parts.sizes[head]
            for r in range(lanes):
                row = first + min(r, rows - 1)
                point[r] = max(uniform[row, binary + head], TINY) * mass[head, r]  # never a class of probability 0
                below[r] = ZERO
                chosen[r] = 0
            for k in range(at, at + size - 1):
                for r in range(lanes):
                    below[r] += e[k, r]
                    chosen[r] += below[r] < point[r]
            for r in range(rows):
                actions[first + r, binary + head] = chosen[r]
            at += size
        for r in range(rows):
            row = first + r
            logprob[row] = _taken(parts, logits, actions[row], row, r, x) - math.log(tile.product[r])


@kernel
def _distributions(parts, logits, actions, found):
    tiles, logprob, entropy = found
    lanes = tiles.x.shape[2]
    for i in range(len(tiles.x)):
        first = i * lanes
        rows = min(lanes, len(logits) - first)
        tile = _tile(tiles, i)
        _load(parts, logits, first, rows, tile)
        _masses(parts, tile)
        for r in range(rows):
            row, log = first + r, math.log(tile.product[r])
            logprob[row] = _taken(parts, logits, actions[row], row, r, tile.x) - log  # rounded as in _draw
            entropy[row] = tile.entropy[r] + log


@kernel
def _gradient(parts, logits, actions, tiles, along_logprob, along_entropy, grad):
    lanes = tiles.x.shape[2]
    along = np.zeros(lanes, np.float32)
    for i in range(len(tiles.x)):
        first = i * lanes
        rows = min(lanes, len(logits) - first)
        for r in range(rows):
            along[r] = along_logprob[first + r]
        tile = _tile(tiles, i)
        _scale_tile(parts, tile, along, along_entropy)
        _write_tile(parts, logits, actions, first, rows, tile.e, along, along_entropy, grad)


@inner
def _scale_tile(parts, tile, along, along_entropy):
    """Overwrite e: of a button with the smaller of p and 1 - p, of a class with its gradient but for the choice."""
    x, e, mass, mean, _, _ = tile
    lanes = x.shape[1]
    for k in range(parts.binary):  # s = (1 or e) / (1 + e); b s (1 - s) = b e / (1 + e)^2
        for r in range(lanes):
            e[k, r] /= ONE + e[k, r]
    at = parts.binary
    for head in range(len(parts.sizes)):
        for r in range(lanes):
            mass[head, r] = ONE / mass[head, r]
        for k in range(at, at + parts.sizes[head]):
            for r in range(lanes):
                p = e[k, r] * mass[head, r]
                e[k, r] = -p * (along[r] + along_entropy * (x[k, r] - mean[head, r]))
        at += parts.sizes[head]


@inner
def _write_tile(parts, logits, actions, first, rows, e, along, along_entropy, grad):
    binary = parts.binary
    for r in range(rows):
        row = first + r
        for k in range(binary):
            b, small = logits[row, k], e[k, r]
            on = ONE - small if b > ZERO else small
            pressed = ONE if actions[row, k] else ZERO
            grad[row, k] = along[r] * (pressed - on) - along_entropy * b * small * (ONE - small)
        for k in range(binary, e.shape[0]):
            grad[row, k] = e[k, r]
        at = binary
        for head in range(len(parts.sizes)):
            grad[row, at + actions[row, binary + head]] += along[r]
            at += parts.sizes[head]


@inner
def _empty_tile(parts, width, lanes):
    heads = len(parts.sizes)
    return Tile(
        np.empty((width, lanes), np.float32), np.empty((width, lanes), np.float32),
        np.empty((heads, lanes), np.float32), np.empty((heads, lanes), np.float32),
        np.empty(lanes, np.float64), np.empty(lanes, np.float32),
    )  # fmt: skip


@kernel
def _divergences(parts, logits, others, weights, grad, sums):
    lanes, width = max(1, min(LANES, len(logits))), logits.shape[1]
    mine, theirs = _empty_tile(parts, width, lanes), _empty_tile(parts, width, lanes)
    totals = np.empty((2, lanes), np.float32)  # the divergences without the logarithms of S
    for first in range(0, len(logits), lanes):
        rows = min(lanes, len(logits) - first)
        _load(parts, logits, first, rows, mine)
        _load(parts, others, first, rows, theirs)
        _masses(parts, mine)
        _masses(parts, theirs)
        totals[...] = ZERO
        _diverge_buttons(parts, logits, others, first, rows, mine.e, theirs.e, weights, totals, grad)
        _diverge_classes(parts, first, rows, mine, theirs, weights, totals, grad)
        for r in range(rows):
            log = math.log(mine.product[r]) - math.log(theirs.product[r])
            sums[0] += totals[0, r] + log
            sums[1] += totals[1, r] - log


@inner
def _diverge_buttons(parts, logits, others, first, rows, e, others_e, weights, totals, grad):
    for k in range(parts.binary):
        for r in range(rows):
            a, b = logits[first + r, k], others[first + r, k]
            p, q = e[k, r] / (ONE + e[k, r]), others_e[k, r] / (ONE + others_e[k, r])
            p, q = ONE - p if a > ZERO else p, ONE - q if b > ZERO else q
            rest = (a if a > ZERO else ZERO) - (b if b > ZERO else ZERO)
            totals[0, r] += q * (b - a) + rest
            totals[1, r] += p * (a - b) - rest
            grad[first + r, k] += weights[0] * (p - q) + weights[1] * p * (ONE - p) * (a - b)


@inner
def _diverge_classes(parts, first, rows, mine, theirs, weights, totals, grad):
    lanes = mine.x.shape[1]
    apart = np.empty(lanes, np.float32)  # sum p (x - y)
    at = parts.binary
    for head in range(len(parts.sizes)):
        end = at + parts.sizes[head]
        for r in range(lanes):
            apart[r] = ZERO
        for k in range(at, end):
            for r in range(lanes):
                gap = mine.x[k, r] - theirs.x[k, r]
                apart[r] += mine.e[k, r] / mine.mass[head, r] * gap
                totals[0, r] -= theirs.e[k, r] / theirs.mass[head, r] * gap
        for r in range(lanes):
            totals[1, r] += apart[r]
        for k in range(at, end):
            for r in range(rows):
                p, q = mine.e[k, r] / mine.mass[head, r], theirs.e[k, r] / theirs.mass[head, r]
                gap = mine.x[k, r] - theirs.x[k, r]
                grad[first + r, k] += weights[0] * (p - q) + weights[1] * p * (gap - apart[r])
        at = end
