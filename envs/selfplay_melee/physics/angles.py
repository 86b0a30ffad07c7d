"""Sine, cosine and norm, equal on every machine: operations that IEEE 754 rounds correctly, and nothing else.

The functions of C libraries differ in the last bit from one system to the next. An angle is reduced in degrees, which
is exact, to at most 45 degrees; the polynomials for those are fdlibm's (k_sin.c and k_cos.c, Sun Microsystems 1993).
Sine and cosine are within 2e-16 of the exact values. Mirrored angles give exact opposites, and multiples of 90 degrees
exactly 0, 1 or -1.
"""

from __future__ import annotations

import math

from selfplay.compilation.compile import rule

TAN_50 = 1.19175359259421  # tangent of 50 degrees
RADIANS = 0.017453292519943295  # of a degree
S1, S2, S3 = -1.66666666666666324348e-01, 8.33333333332248946124e-03, -1.98412698298579493134e-04
S4, S5, S6 = 2.75573137070700676789e-06, -2.50507602534068634195e-08, 1.58969099521155010221e-10
C1, C2, C3 = 4.16666666666666019037e-02, -1.38888888888741095749e-03, 2.48015872894767294178e-05
C4, C5, C6 = -2.75573143513906633035e-07, 2.08757232129817482790e-09, -1.13596475577881948265e-11


@rule
def sine(degrees):
    value = _wave(abs(degrees), 0)
    return value if degrees >= 0.0 else -value


@rule
def cosine(degrees):
    return _wave(abs(degrees), 1)


@rule
def norm(x, y):
    """Length of a vector."""
    return math.sqrt(x * x + y * y)


@rule
def _wave(degrees, ahead):
    """The sine of an angle, ``ahead`` quarters of a turn further on."""
    quarters = math.floor(degrees / 90.0 + 0.5)
    x = (degrees - quarters * 90.0) * RADIANS
    z = x * x
    quarter = (int(quarters) + ahead) & 3
    if quarter & 1:
        value = 1.0 - 0.5 * z + z * z * (C1 + z * (C2 + z * (C3 + z * (C4 + z * (C5 + z * C6)))))
    else:
        value = x + x * z * (S1 + z * (S2 + z * (S3 + z * (S4 + z * (S5 + z * S6)))))
    return -value if quarter & 2 else value
