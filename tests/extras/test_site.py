"""The documentation as a site: built without a warning, no link is dead, and it loads nothing from elsewhere."""

import re
from html.parser import HTMLParser
from types import SimpleNamespace
from urllib.parse import unquote

import pytest

from tests.scripts.commands import ROOT

pytestmark = [
    pytest.mark.extras,
    pytest.mark.timeout(600),
    pytest.mark.filterwarnings("ignore"),  # of MkDocs and its plugins
]
NARROW = 390  # pixels of a phone
LOADS = {"script": "src", "img": "src", "iframe": "src", "link": "href"}  # what a browser fetches by itself


class Links(HTMLParser):
    """What the elements of a page point to: ``found`` has element and target."""

    def __init__(self, text):
        super().__init__()
        self.found, self.anchors = [], set()
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        named = dict(attrs)
        self.anchors |= {named["id"]} if named.get("id") else set()
        for name in ("href", "src"):
            if named.get(name):
                self.found.append((tag, name, named[name]))


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    pytest.importorskip("mkdocs", reason="no MkDocs: pip install -e '.[docs]'")
    from mkdocs.commands.build import build
    from mkdocs.config import load_config

    folder = tmp_path_factory.mktemp("site")
    with pytest.MonkeyPatch.context() as patch:
        fights = tmp_path_factory.mktemp("fights")
        for name in ("fight.html", "play.html"):
            (fights / name).write_text("<!doctype html><title>A fight</title>")
        patch.setenv("FIGHTS", str(fights))
        patch.setenv("REPOSITORY", "")
        build(load_config(str(ROOT / "mkdocs.yml"), site_dir=str(folder)))  # strict: a warning is an error
    return folder


@pytest.fixture(scope="module")
def pages(site):
    return {page: Links(page.read_text(encoding="utf-8")) for page in site.rglob("*.html") if page.name != "404.html"}


def test_no_link_is_dead(pages):
    dead = []
    for page, links in pages.items():
        for _, _, target in links.found:
            path, _, anchor = unquote(target).partition("#")
            file = (page.parent / path).resolve() if path else page
            if re.match("[a-z]+:|//", target) or file.is_dir():
                continue
            if not file.exists() or (anchor and file in pages and anchor not in pages[file].anchors):
                dead.append((page.name, target))
    assert len(pages) > 70
    assert dead == []


def test_nothing_is_loaded_from_elsewhere(pages):
    loaded = [
        (page.name, url) for page, links in pages.items() for tag, name, url in links.found if LOADS.get(tag) == name
    ]
    assert len(loaded) > len(pages)
    assert [each for each in loaded if re.match("[a-z]+:|//", each[1]) and not each[1].startswith("data:")] == []


def test_the_reference_has_every_public_name(pages, site):
    import selfplay
    import selfplay.league

    for package in (selfplay, selfplay.league):
        (page,) = (page for page in pages if page.name == f"{package.__name__}.html")
        assert [name for name in package.__all__ if not any(a.endswith(f".{name}") for a in pages[page].anchors)] == []


def test_links_to_sources_lead_to_the_repository_where_there_is_one():
    pytest.importorskip("mkdocs", reason="no MkDocs: pip install -e '.[docs]'")
    from scripts.site.hooks import on_page_markdown

    page = SimpleNamespace(file=SimpleNamespace(src_uri="trainer/guide.md"))
    config = SimpleNamespace(repo_url="https://host/us/selfplay")
    text = "[a](../../README.md#start) [b](../melee/play.md) [c](../notebooks/own_game.ipynb)"
    assert on_page_markdown(text, page, config, None) == (
        "[a](https://host/us/selfplay/blob/main/README.md#start) [b](../melee/play.md) [c](../notebooks/own_game.md)"
    )


def test_pages_fit_a_phone(pages):
    browsers = pytest.importorskip("tests.report.browsers", reason="no Chromium")
    wide = []
    with browsers.sync_api.sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=browsers.CHROMIUM, args=list(browsers.FLAGS))
        tab = started.new_page(viewport={"width": NARROW, "height": 800})
        for page in pages:
            tab.goto(page.as_uri())
            if tab.evaluate("document.documentElement.scrollWidth") > NARROW:
                wide.append(page.name)
        started.close()
    assert wide == []
