"""Build a folder of play pages for any static host: an early, a middle and the last generation of a run."""

from __future__ import annotations

import argparse
import os
import sys
from datetime import UTC, datetime
from html import escape
from importlib.resources import files
from pathlib import Path

from scripts.studies.command_line import Command

GENERATIONS = "3"
CHARACTERS = 2
INDEX = """<!doctype html>
<html lang="en">
$head
<body><main><h1>$title</h1><p>Policies that learned to fight by playing against themselves. Choose one and fight it,
with a keyboard or a controller. The pages run in your browser and send nothing.</p><ol>$pages</ol><p>$about</p></main>
</body></html>
"""
STYLE = """
main { max-width: 46rem; margin: 0 auto; padding: 32px 20px; }
ol { list-style: none; padding: 0; display: grid; gap: 12px; }
li { background: var(--panel); border: 1px solid var(--line); border-radius: 12px; padding: 12px 16px; }
a { color: var(--accent); font-size: 1.1rem; font-weight: 650; }
small, main > p:last-child { color: var(--muted); }
"""


def main() -> int:
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    made = Command("gallery", __doc__)
    made.add_argument("run", nargs="?", metavar="RUN", help="run folder, or its name in checkpoints/ (default: newest)")
    made.add_argument("--out", type=Path, default=Path("gallery"), metavar="DIR", help="(default: gallery)")
    return made.execute(_run)


def build(name: str | None, out: Path) -> list[Path]:
    """Write the pages and ``index.html``; their paths, the index last."""
    from selfplay.checkpoint import RunDir, read_policy_meta
    from selfplay.checkpoint.run_dir import named_run
    from selfplay.report.saving import save_text
    from selfplay.report.standalone_page import standalone_page
    from selfplay_melee.play.content import write_play_pages
    from selfplay_melee.play.home import home_of

    run = RunDir(named_run(name))
    chosen = home_of(run.path, generations=GENERATIONS).policies
    pages = write_play_pages(run, list(chosen), out, lambda text: print(text, file=sys.stderr), CHARACTERS)
    items = []
    for generation, page in pages.items():
        meta = read_policy_meta(chosen[generation])
        about = f"{meta.total_steps:,} steps of training, {page.stat().st_size / 1e6:.1f} MB"
        items.append(
            f'<li><a href="{escape(page.name)}">{escape(generation)}</a><br><small>{escape(about)}</small></li>'
        )
    theme = files("selfplay_melee.show").joinpath("player/theme.css").read_text("utf-8")
    title, made = f"Play against {run.path.resolve().name}", f"{datetime.now(UTC):%Y-%m-%d}"
    about = f"Made {made} with selfplay."
    text = standalone_page(INDEX, theme + STYLE, "", {}, title=escape(title), pages="".join(items), about=about)
    index = out / "index.html"
    save_text(index, text)
    return [*pages.values(), index]


def _run(options: argparse.Namespace) -> None:
    written = build(options.run, options.out)
    print(f"{written[-1]} ({sum(path.stat().st_size for path in written) / 1e6:.1f} MB, {len(written)} files)")


if __name__ == "__main__":
    sys.exit(main())
