"""A real browser for pages; what needs one skips where there is none."""

import os
import shutil

import pytest

from tests.support.processes import LIMIT_S

sync_api = pytest.importorskip("playwright.sync_api", reason="Playwright is not installed: pip install -e '.[dev]'")
CHROMIUM = os.environ.get("CHROMIUM") or shutil.which("chromium") or shutil.which("chromium-browser")
if CHROMIUM is None:
    pytest.skip("no chromium is installed; the variable CHROMIUM can name one", allow_module_level=True)

LIMIT_MS = 1000 * LIMIT_S
FLAGS = (
    "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync",
)  # fmt: skip


@pytest.fixture(scope="module")
def browser():
    with sync_api.sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=CHROMIUM, args=list(FLAGS), timeout=LIMIT_MS)
        yield started
        started.close()
