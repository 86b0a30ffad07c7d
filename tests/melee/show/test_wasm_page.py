"""A self-contained page that runs the rules, in a real browser."""

import base64
from importlib import resources

import pytest

from selfplay.report.standalone_page import read_modules, standalone_page
from selfplay_melee.browser.assets import RULES_JS, rules_module, table_bytes
from selfplay_melee.mock import MockMelee
from selfplay_melee.tables import CHARACTERS, STAGES
from tests.report.browsers import LIMIT_MS, browser  # noqa: F401  (a fixture)

pytestmark = [
    pytest.mark.blocking("the loop that runs in this thread is Playwright's own"),
    pytest.mark.full,
]
PAGE = """<!doctype html><html lang="en"><head><meta http-equiv="Content-Security-Policy" content="$policy">
<title>rules</title><style>$style</style></head><body>$data<script type="module">$script</script></body></html>"""
RUN = """
const given = JSON.parse(document.getElementById("given").textContent);
const bytes = (text) => Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
try {
  const rules = await loadRules(bytes(given.module), bytes(given.tables));
  rules.start({ seed: 1n, ...given.start });
  for (let frame = 0; frame < 60; frame++) rules.exports.live_step();
  document.body.dataset.told = `${rules.get("games.episode", 0, "frames")} frames`;
} catch (error) {
  document.body.dataset.told = error.message;
}
"""


@pytest.mark.parametrize(("wasm", "told"), [(True, "60 frames"), (False, "Content Security Policy")])
def test_only_a_page_that_asks_for_it_may_run_the_module(browser, tmp_path, wasm, told):  # noqa: F811
    start = {
        "characters": [CHARACTERS["fox"], CHARACTERS["marth"]],
        "stage": STAGES["battlefield"],
        "options": MockMelee(1)._options()._asdict(),
    }
    files = {"module": rules_module(), "tables": table_bytes(("fox", "marth"), ("battlefield",))}
    given = {"start": start} | {name: base64.b64encode(data).decode() for name, data in files.items()}
    script = read_modules(resources.files("selfplay_melee.browser"), RULES_JS.name) + RUN
    path = tmp_path / "rules.html"
    path.write_text(standalone_page(PAGE, "body { margin: 0 }", script, {"given": given}, wasm=wasm))
    page = browser.new_page()
    page.set_default_timeout(LIMIT_MS)
    page.goto(path.as_uri())
    body = page.locator("body[data-told]")
    body.wait_for(state="attached")
    assert told in body.get_attribute("data-told")
    page.close()
