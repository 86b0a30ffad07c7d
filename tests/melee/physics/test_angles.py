import math
import re
from pathlib import Path

import numpy as np

import selfplay_melee
from selfplay.compilation.compile import compiled
from selfplay_melee.physics import angles
from tests.melee.arena import as_python

MELEE = Path(selfplay_melee.__file__).parent
RULES = [path for part in ("bots", "physics") for path in sorted((MELEE / part).rglob("*.py"))] + [
    MELEE / f"{name}.py" for name in ("episodes", "observation", "phase", "reward", "rng")
]


@compiled
def both(degrees, out):
    """The sine and the cosine of each angle."""
    for i in range(len(degrees)):
        out[i, 0] = angles.sine(degrees[i])
        out[i, 1] = angles.cosine(degrees[i])


@compiled
def product_and_sum(x, y, z):
    return x * y + z


def waves(degrees):
    out = np.zeros((len(degrees), 2))
    both(degrees, out)
    return out


def some_angles():
    return np.concatenate([np.random.default_rng(0).uniform(-361.0, 361.0, 100_000), np.arange(-361.0, 362.0)])


def test_sine_and_cosine_are_those_of_mathematics():
    """Up to 6e-16 lies between them and the library's: its angles in radians are rounded."""
    degrees = some_angles()
    library = np.array([(math.sin(math.radians(x)), math.cos(math.radians(x))) for x in degrees])
    assert np.abs(waves(degrees) - library).max() < 6e-16
    near = np.random.default_rng(1).uniform(-45.0, 45.0, 100_000)
    library = np.array([(math.sin(math.radians(x)), math.cos(math.radians(x))) for x in near])
    assert np.abs(waves(near) - library).max() < 2.3e-16


def test_mirrored_angles_are_exact_opposites():
    degrees = some_angles()
    assert np.array_equal(waves(-degrees), waves(degrees) * (-1.0, 1.0))


def test_quarters_of_a_turn_are_exact():
    quarters = np.arange(-8, 9)
    expected = [((0, 1, 0, -1)[i % 4], (1, 0, -1, 0)[i % 4]) for i in quarters]
    assert np.array_equal(waves(quarters * 90.0), expected)


def test_compiled_and_uncompiled_angles_agree_bit_for_bit():
    degrees = some_angles()[:2000]
    sine, cosine = as_python(angles.sine), as_python(angles.cosine)
    assert waves(degrees).tolist() == [[sine(x), cosine(x)] for x in degrees.tolist()]


def test_a_product_and_a_sum_are_rounded_one_by_one():
    """A fused multiply-add, which rounds once, would give -2**-60; processors differ in whether they have one."""
    small = 2.0**-30
    assert product_and_sum(1.0 + small, 1.0 - small, -1.0) == 0.0


def test_no_rule_calls_a_function_that_libraries_round_differently():
    for path in RULES:
        text = path.read_text("utf-8")
        assert set(re.findall(r"\bmath\.(\w+)", text)) <= {"sqrt", "floor"}, path
        assert not re.search(r"\w ?\*\* ?\w|\bnp\.(sin|cos|tan|hypot|power|exp|log)\b", text), path
