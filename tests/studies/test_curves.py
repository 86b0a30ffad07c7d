from xml.etree import ElementTree

import pytest

from scripts.studies.curves import HEIGHT, WIDTH, Curve, svg, ticks


def paths(text):
    return [node.attrib["d"] for node in ElementTree.fromstring(text).iter("{http://www.w3.org/2000/svg}path")]


def test_a_chart_is_well_formed_and_stays_inside_its_frame():
    curve = Curve(
        "seed <0>", [0.0, 6.0, 12.0], [1500.0, 2100.0, 2600.0], [1400.0, 2000.0, 2500.0], [1600.0, 2200.0, 2700.0]
    )
    text = svg([curve], "steps & more", "Elo", [("random", 1500.0)])
    ElementTree.fromstring(text)
    numbers = [
        float(n)
        for d in paths(text)
        for n in d.replace("M", " ").replace("L", " ").replace("Z", "").replace("H", " ").replace("V", " ").split()
    ]
    assert min(numbers) >= 0
    assert max(numbers) <= max(WIDTH, HEIGHT)
    assert "seed &lt;0&gt;" in text


def test_higher_values_are_drawn_higher():
    (_, line) = paths(svg([Curve("a", [0.0, 1.0], [0.0, 10.0])], "x", "y"))
    first, last = (float(point.split()[1]) for point in line.removeprefix("M").split("L"))
    assert last < first


def test_a_chart_of_nothing_is_refused():
    with pytest.raises(ValueError, match="at least one point"):
        svg([Curve("empty", [], [])], "x", "y")


@pytest.mark.parametrize(
    ("low", "high", "expected"),
    [(0, 12, [0, 2, 4, 6, 8, 10, 12]), (648.7, 7099, [2000, 4000, 6000]), (0.1, 0.55, [0.1, 0.2, 0.3, 0.4, 0.5])],
)
def test_ticks_are_round(low, high, expected):
    assert ticks(low, high) == expected


@pytest.mark.parametrize("span", [1e-4, 0.3, 1.0, 7.0, 29.9, 1e6])
def test_there_are_a_handful_of_ticks(span):
    assert 3 <= len(ticks(-0.3 * span, 0.7 * span)) <= 8
