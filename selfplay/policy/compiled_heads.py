"""The arithmetic of ``heads`` on the processor, compiled: drawing, probabilities, entropy, and PPO's gradient.

Rows are worked on in tiles, turned so that the rows of a tile lie side by side: every operation then does the same to
neighbouring numbers, which compilers make vector instructions of, and a row's result does not depend on the rows
beside it. A class k of a categorical is kept as x = z_k - max z, a button b as x = -|b|, both with e = exp x. With
S = sum e and M = sum (e / S) x over a categorical:

    log p_k = x_k - log S       H = log S - M             dH/dz_k = -p_k (x_k - M)
    log p   = [b] - max(b, 0) - log(1 + e)                dH/db   = -b s (1 - s), s = sigmoid(b)

Logarithms add up over the parts of an action, so one of their product is taken. All of it is in one file because
Numba's cache watches no other.
"""

from __future__ import annotations

import math
from functools import cache
from typing import Final

import numba
import numpy as np
from numpy.typing import NDArray

F32 = NDArray[np.float32]

LANES: Final = 64  # rows of a tile
TINY: Final = np.float32(2.0**-26)  # below every random number but 0
ZERO, ONE = np.float32(0.0), np.float32(1.0)
MOST_BITS: Final = 1000.0  # that a product of all 1 + e and S may have; it is a float64

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


@cache
def can_handle(binary: int, sizes: tuple[int, ...]) -> bool:
    """Whether no product can overflow: S is at most the number of classes, 1 + e at most 2."""
    return binary + sum(math.log2(size) for size in sizes) < MOST_BITS


def draw(binary: int, sizes: tuple[int, ...], logits: F32, uniform: F32) -> tuple[NDArray[np.int8], F32]:
    """An action for each row by one random number a part, the inverse of its cumulative distribution.

    Args:
        binary: Buttons.
        sizes: Classes of each categorical.
        logits: [N, L]; what must not be drawn has ``heads.NEVER``.
        uniform: [N, A] in [0, 1).

    Returns:
        Actions int8 [N, A] and the logarithm of their probability [N].
    """
    actions = np.empty(uniform.shape, np.int8)
    logprob = np.empty(len(logits), np.float32)
    _draw(logits, uniform, binary, _array(sizes), actions, logprob)
    return actions, logprob


def logprob_entropy(binary: int, sizes: tuple[int, ...], logits: F32, actions: NDArray[np.int8]) -> tuple[F32, F32]:
    """Log-probability of actions [N, A] and entropy of each row, both [N]."""
    logprob, entropy = np.empty(len(logits), np.float32), np.empty(len(logits), np.float32)
    _logprob_entropy(logits, actions, binary, _array(sizes), logprob, entropy)
    return logprob, entropy


def ppo(
    binary: int,
    sizes: tuple[int, ...],
    out: F32,
    index: NDArray[np.int64],
    actions: NDArray[np.int8],
    old_logprob: F32,
    old_value: F32,
    advantage: F32,
    target: F32,
    coefficients: tuple[float, float, float, float],
) -> tuple[F32, NDArray[np.float64]]:
    """The loss of ``learner.ppo_loss`` in one pass: its gradient and its parts.

    Args:
        binary: Buttons.
        sizes: Classes of each categorical.
        out: Logits and, beside them, the value, [N, L + 1].
        index: Which of M decisions each row is of, [N].
        actions: [M, A] that were played.
        old_logprob: [M] of then.
        old_value: [M] of then.
        advantage: [M].
        target: [M] of the value.
        coefficients: clip, value clip, value coefficient, entropy coefficient.

    Returns:
        The gradient [N, L + 1], and the sums of policy loss, value loss, entropy, KL and ratios outside, float64 [5].
    """
    grad, sums = np.empty(out.shape, np.float32), np.zeros(5)
    decisions = actions, old_logprob, old_value, advantage, target
    _ppo(out[:, :-1], out[:, -1], binary, _array(sizes), index, *decisions, *coefficients, grad, sums)
    return grad, sums


@cache
def _array(sizes: tuple[int, ...]) -> NDArray[np.int64]:
    return np.array(sizes, np.int64)


@numba.njit(nogil=True)
def _lanes(rows):
    """Rows of a tile: also where there are none, since a range may not step by 0."""
    return max(1, min(LANES, rows))


@numba.njit(nogil=True)
def _tile(width, heads, lanes):
    """What ``_load`` and ``_masses`` fill: x, e [L, lanes], S, M [heads, lanes], product and entropy [lanes]."""
    x, e = np.empty((width, lanes), np.float32), np.empty((width, lanes), np.float32)
    mass, mean = np.empty((heads, lanes), np.float32), np.empty((heads, lanes), np.float32)
    return x, e, mass, mean, np.empty(lanes, np.float64), np.empty(lanes, np.float32)


@numba.njit(nogil=True)
def _load(logits, first, rows, binary, sizes, x, e):
    """Fill ``x`` and ``e`` [L, lanes] from ``rows`` rows, and repeat the first one in the lanes that are left."""
    lanes = x.shape[1]
    for r in range(lanes):
        row = first + r if r < rows else first
        for k in range(x.shape[0]):
            x[k, r] = logits[row, k]
    for k in range(binary):
        for r in range(lanes):
            b = x[k, r]
            x[k, r] = -b if b > ZERO else b
    top = np.empty(lanes, np.float32)
    at = binary
    for size in sizes:
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
    _exp(x, e)


@numba.njit(nogil=True)
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


@numba.njit(nogil=True)
def _masses(binary, sizes, x, e, product, entropy, mass, mean):
    """S and M of each categorical [heads, lanes]; entropy but for the logarithm of ``product``, of all 1 + e and S."""
    lanes = x.shape[1]
    for r in range(lanes):
        product[r] = 1.0
        entropy[r] = ZERO
    for k in range(binary):
        for r in range(lanes):
            q = ONE + e[k, r]
            product[r] *= q
            entropy[r] -= x[k, r] * e[k, r] / q
    at = binary
    for head in range(len(sizes)):
        for r in range(lanes):
            mass[head, r] = ZERO
            mean[head, r] = ZERO
        for k in range(at, at + sizes[head]):
            for r in range(lanes):
                mass[head, r] += e[k, r]
                mean[head, r] += e[k, r] * x[k, r]
        for r in range(lanes):
            mean[head, r] /= mass[head, r]
            entropy[r] -= mean[head, r]
            product[r] *= mass[head, r]
        at += sizes[head]


@numba.njit(nogil=True)
def _taken(logits, action, row, r, binary, sizes, x):
    """Log-probability of one action, [A], of row ``row`` in lane ``r``, without the logarithm of the product."""
    total = ZERO
    for k in range(binary):
        b = logits[row, k]
        total += (b if action[k] else ZERO) - (b if b > ZERO else ZERO)
    at = binary
    for head in range(len(sizes)):
        total += x[at + action[binary + head], r]
        at += sizes[head]
    return total


@numba.njit(nogil=True)
def _write_gradient(logits, index, actions, first, rows, binary, sizes, x, e, mass, mean, along_p, along_h, grad):
    """The gradient of a tile, from what it is after its log-probability and entropy; uses up ``e`` and ``mass``."""
    lanes = x.shape[1]
    for k in range(binary):  # s = (1 or e) / (1 + e); b s (1 - s) = b e / (1 + e)^2
        for r in range(lanes):
            e[k, r] /= ONE + e[k, r]
    at = binary
    for head in range(len(sizes)):
        for r in range(lanes):
            mass[head, r] = ONE / mass[head, r]
        for k in range(at, at + sizes[head]):
            for r in range(lanes):
                p = e[k, r] * mass[head, r]
                e[k, r] = -p * (along_p[r] + along_h[r] * (x[k, r] - mean[head, r]))
        at += sizes[head]
    for r in range(rows):
        row = first + r
        action = actions[index[row]]
        for k in range(binary):
            b, small = logits[row, k], e[k, r]
            on = ONE - small if b > ZERO else small
            pressed = ONE if action[k] else ZERO
            grad[row, k] = along_p[r] * (pressed - on) - along_h[r] * b * small * (ONE - small)
        for k in range(binary, x.shape[0]):
            grad[row, k] = e[k, r]
        at = binary
        for head in range(len(sizes)):
            grad[row, at + action[binary + head]] += along_p[r]
            at += sizes[head]


@numba.njit(nogil=True, cache=True)
def _draw(logits, uniform, binary, sizes, actions, logprob):
    lanes = _lanes(len(logits))
    x, e, mass, mean, product, entropy = _tile(logits.shape[1], len(sizes), lanes)
    point, below = np.empty(lanes, np.float32), np.empty(lanes, np.float32)
    chosen = np.empty(lanes, np.int32)
    for first in range(0, len(logits), lanes):
        rows = min(lanes, len(logits) - first)
        _load(logits, first, rows, binary, sizes, x, e)
        _masses(binary, sizes, x, e, product, entropy, mass, mean)
        for r in range(rows):
            for k in range(binary):
                likely = ONE if logits[first + r, k] > ZERO else e[k, r]
                actions[first + r, k] = uniform[first + r, k] * (ONE + e[k, r]) < likely
        at = binary
        for head in range(len(sizes)):
            for r in range(lanes):
                row = first + min(r, rows - 1)
                point[r] = max(uniform[row, binary + head], TINY) * mass[head, r]  # never a class of probability 0
                below[r] = ZERO
                chosen[r] = 0
            for k in range(at, at + sizes[head] - 1):
                for r in range(lanes):
                    below[r] += e[k, r]
                    chosen[r] += below[r] < point[r]
            for r in range(rows):
                actions[first + r, binary + head] = chosen[r]
            at += sizes[head]
        for r in range(rows):
            row = first + r
            logprob[row] = _taken(logits, actions[row], row, r, binary, sizes, x) - math.log(product[r])


@numba.njit(nogil=True, cache=True)
def _logprob_entropy(logits, actions, binary, sizes, logprob, entropies):
    lanes = _lanes(len(logits))
    x, e, mass, mean, product, entropy = _tile(logits.shape[1], len(sizes), lanes)
    for first in range(0, len(logits), lanes):
        rows = min(lanes, len(logits) - first)
        _load(logits, first, rows, binary, sizes, x, e)
        _masses(binary, sizes, x, e, product, entropy, mass, mean)
        for r in range(rows):
            row, log = first + r, math.log(product[r])
            logprob[row] = _taken(logits, actions[row], row, r, binary, sizes, x) - log
            entropies[row] = entropy[r] + log


@numba.njit(nogil=True, cache=True)
def _ppo(
    logits, value, binary, sizes, index, actions, old_logprob, old_value, advantage, target,
    clip, value_clip, value_coefficient, entropy_coefficient, grad, sums,
):  # fmt: skip
    """Fill ``grad`` [N, L + 1] and add to the ``sums`` of the first five parts of the loss.

    d policy / d log pi = -ratio A where the unclipped term is the smaller, else 0; d value / d V = V - R where the
    unclipped square is the larger, else 0. Comparisons let NaN through, so that a gradient shows it.
    """
    lanes = _lanes(len(logits))
    x, e, mass, mean, product, entropy = _tile(logits.shape[1], len(sizes), lanes)
    along_p, along_h = np.zeros(lanes, np.float32), np.full(lanes, -entropy_coefficient, np.float32)
    for first in range(0, len(logits), lanes):
        rows = min(lanes, len(logits) - first)
        _load(logits, first, rows, binary, sizes, x, e)
        _masses(binary, sizes, x, e, product, entropy, mass, mean)
        for r in range(rows):
            row, log = first + r, math.log(product[r])
            at = index[row]
            logprob = np.float32(_taken(logits, actions[at], row, r, binary, sizes, x) - log)  # as it was when drawn
            log_ratio = logprob - old_logprob[at]
            ratio = math.exp(log_ratio)
            gain, along_p[r] = ratio * advantage[at], -ratio * advantage[at]
            if abs(ratio - 1.0) > clip:  # within it both terms are the same, but for rounding
                sums[4] += 1.0
                held = (1.0 + math.copysign(clip, ratio - 1.0)) * advantage[at]
                if gain > held:
                    gain, along_p[r] = held, 0.0
            sums[0] -= gain
            error, moved = value[row] - target[at], value[row] - old_value[at]
            squared, grad[row, -1] = error * error, value_coefficient * error
            if abs(moved) > value_clip:  # within it both squares are the same, but for rounding
                near = old_value[at] + math.copysign(value_clip, moved) - target[at]
                if squared < near * near:
                    squared, grad[row, -1] = near * near, 0.0
            sums[1] += 0.5 * squared
            sums[2] += entropy[r] + log
            sums[3] += ratio - 1.0 - log_ratio
        _write_gradient(logits, index, actions, first, rows, binary, sizes, x, e, mass, mean, along_p, along_h, grad)
