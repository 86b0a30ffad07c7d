"""The file of a play page: its size, and that texts of others stay texts."""

import json
import re

import pytest

from selfplay_melee.play_page import page
from selfplay_melee.play_page.page import MODULES, play_page
from tests.melee.play_page.pages import content, policy

KB = 1000
EVIL = ("</script><script>alert(1)</script>", "\u202etxet", "<img src=x onerror=alert(1)>", "x" * 5000)


@pytest.fixture
def _no_rules(monkeypatch):
    """The rules are not compiled for browsers, which takes a minute."""
    monkeypatch.setattr(page, "rules_module", lambda notify=None: b"\0asm")


@pytest.mark.full
def test_a_page_is_small_enough():
    one = len(play_page(content(policy(hidden=128))).encode())
    two = len(play_page(content(policy(hidden=128), policy("gen_80", hidden=128, seed=1))).encode())
    assert two < 1500 * KB
    assert 150 * KB < two - one < 250 * KB


@pytest.mark.usefixtures("_no_rules")
def test_a_page_asks_for_nothing_and_may_run_only_its_script():
    html = play_page(content(policy()))
    (rule,) = re.findall(r'http-equiv="Content-Security-Policy" content="([^"]+)"', html)
    parts = dict(part.split(" ", 1) for part in rule.split("; "))
    assert parts["default-src"] == "'none'"
    assert "connect-src" not in parts
    assert re.fullmatch(r"'sha256-[\w+/=]{44}' 'wasm-unsafe-eval'", parts["script-src"])
    assert not re.findall(r'(?:src|href)="(?!data:,)', html)


@pytest.mark.usefixtures("_no_rules")
@pytest.mark.parametrize("text", EVIL)
def test_texts_of_others_end_no_element(text):
    made = content(policy(text, label=text, about=text), title=text, about=text, person=text)
    html = play_page(made)
    assert "<script>alert" not in html
    assert "<img" not in html
    (data,) = re.findall(r'<script type="application/json" id="game">(.*?)</script>', html, re.DOTALL)
    game = json.loads(data)
    assert (game["title"], game["person"], game["opponents"][0]["label"]) == (text, text, text)


def test_modules_are_in_the_package():
    from importlib import resources

    view = resources.files("selfplay_melee.play_page") / "view"
    assert {file.name for file in view.iterdir() if file.name.endswith(".js")} == {*MODULES}
