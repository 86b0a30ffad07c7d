from xml.etree import ElementTree

import pytest

from scripts.studies.charts import COLOURS, DARK_INK, INK, OTHERS, Bar, Curve, Plot, bars, lines

LIGHT, DARK = "#ffffff", "#0d1117"
SEED = Curve("seed <0>", [0.0, 6.0, 12.0], [1500.0, 2100.0, 2600.0], [1400.0, 2000.0, 2500.0], [1600.0, 2200.0, 2700.0])
ELO = Plot([SEED], "million steps", "Elo & more", [("random", 1500.0)])


def curves():
    return lines(ELO)


def many():
    times = [Curve(f"part {i}", [0, 1000, 2000], [0.0, 0.1 * (i + 1), 1.0]) for i in range(9)]
    return lines(Plot(times, "rows", "time, s"))


def speeds():
    return bars([("steps/s", [Bar("ours", 90_000, 80_000, 95_000, ours=True), Bar("theirs", 1000.0, 900.0, 1100.0)])])


def elements(text, name):
    return list(ElementTree.fromstring(text).iter(f"{{http://www.w3.org/2000/svg}}{name}"))


def texts(text):
    return ["".join(node.itertext()) for node in elements(text, "text")]


@pytest.mark.parametrize(
    ("chart", "expected"),
    [
        (curves, ["million steps", "Elo & more", "seed <0>", "random", "2000"]),
        (many, ["rows", "time, s", "part 0", "part 8", "1000"]),
        (speeds, ["steps/s", "ours", "theirs", "90,000"]),
    ],
)
def test_a_chart_is_small_xml_with_its_labels_as_text_and_no_ground(chart, expected):
    text = chart()
    assert text.startswith("<svg ")
    assert len(text) < 40_000
    assert set(expected) <= set(texts(text))
    assert all("sans-serif" in node.attrib["style"] for node in elements(text, "text"))
    assert "#ffffff" not in text
    assert "white" not in text
    assert "#000000" not in text, "black is invisible on a dark page"


@pytest.mark.parametrize("chart", [curves, many, speeds])
def test_equal_charts_are_equal_bytes(chart):
    assert chart() == chart()


def test_every_curve_has_a_colour_and_a_line_of_the_legend():
    text = lines(Plot([SEED, Curve("other", [0, 1], [9, 8])], "x", "y"))
    assert texts(text).count("seed <0>") == texts(text).count("other") == 1
    assert COLOURS[0] in text
    assert COLOURS[1] in text
    assert COLOURS[2] not in text


def test_text_changes_with_the_colour_scheme():
    text = curves()
    assert INK not in "".join(node.attrib["style"] for node in elements(text, "text"))
    assert f"svg{{color: {INK}}} @media (prefers-color-scheme: dark) {{svg{{color: {DARK_INK}}}}}" in text


@pytest.mark.parametrize(("ink", "ground"), [(INK, LIGHT), (DARK_INK, DARK)])
def test_text_can_be_read(ink, ground):
    assert contrast(ink, ground) >= 4.5


@pytest.mark.parametrize("colour", [*COLOURS, OTHERS, INK, DARK_INK])
@pytest.mark.parametrize("ground", [LIGHT, DARK])
def test_every_colour_can_be_seen_on_both_grounds(colour, ground):
    assert contrast(colour, ground) >= 3.0


def contrast(one, other):
    """Ratio of WCAG 2."""
    low, high = sorted(map(luminance, (one, other)))
    return (high + 0.05) / (low + 0.05)


def luminance(colour):
    parts = (int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5))
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return sum(weight * part for weight, part in zip((0.2126, 0.7152, 0.0722), linear, strict=True))


@pytest.mark.parametrize("chart", [lambda: lines(Plot([Curve("empty", [], [])], "x", "y")), lambda: bars([("x", [])])])
def test_a_chart_of_nothing_is_refused(chart):
    with pytest.raises(ValueError, match="at least one"):
        chart()
