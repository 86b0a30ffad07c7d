"""The same comparison in a browser."""

import pytest

from selfplay_melee.browser.assets import RULES_JS, rules_module, table_bytes
from selfplay_melee.tables import CHARACTERS, STAGES
from tests.melee.browser.comparer import HERE
from tests.melee.browser.recording import record
from tests.report.browsers import LIMIT_MS, browser  # noqa: F401  (a fixture)

SITE = "http://rules.test/"
GAMES, FRAMES = 6, 600

COMPARE = """async (number) => {
  const { compare } = await import("/compare.js");
  const { loadRules } = await import("/rules.js");
  const load = async (path) => new Uint8Array(await (await fetch(path)).arrayBuffer());
  const rules = await loadRules(await load("/rules.wasm"), await load("/tables"));
  return compare(rules, await load(`/${number}`));
}"""


@pytest.mark.full
@pytest.mark.blocking("the sources of the rules are hashed beside the browser's own loop")
def test_chromium_computes_what_python_does(browser):  # noqa: F811
    files = {
        "": (b"<!doctype html><title>rules</title>", "text/html"),
        "rules.js": (RULES_JS.read_bytes(), "text/javascript"),
        "compare.js": ((HERE / "compare.js").read_bytes(), "text/javascript"),
        "rules.wasm": (rules_module(), "application/wasm"),
        "tables": (table_bytes(CHARACTERS, STAGES), "application/octet-stream"),
    }
    page = browser.new_page()
    page.set_default_timeout(LIMIT_MS)

    def serve(route):
        name = route.request.url.removeprefix(SITE)
        if name.isdigit():
            route.fulfill(body=record(int(name), FRAMES), content_type="application/octet-stream")
        elif name in files:
            body, kind = files[name]
            route.fulfill(body=body, content_type=kind)
        else:
            route.fulfill(status=404)

    page.route("**/*", serve)
    page.goto(SITE)
    for number in range(GAMES):
        assert page.evaluate(COMPARE, number)["difference"] is None
    page.close()
