"""Write or renew the generated part of a character file from a move dump and libmelee's frame data.

What stands above the mark in the file, values set by hand and hints for the import among it, is never touched. See
docs/melee/internals/adding_a_character.md.
"""

from __future__ import annotations

import argparse
import sys
from importlib.resources import files
from pathlib import Path

from scripts.studies import ROOT
from scripts.studies.command_line import Command
from selfplay.errors import ConfigError, boundary
from selfplay.games.files import MAX_TEXT_BYTES, parse_json, read_plain
from selfplay_melee.tables import importer

FOLDER = ROOT / "envs" / "selfplay_melee" / "tables" / "characters"


def main(arguments: list[str] | None = None) -> int:
    """Run the command; the exit code: 1 if ``--check`` finds that the file would change."""
    made = Command("import_character", __doc__)
    made.add_argument("name", help="of the character; NAME.toml must exist, with at least [character] id")
    made.add_argument("--moves", type=Path, required=True, metavar="FILE", help="PlXx.framedata.json of the character")
    made.add_argument("--frames", type=Path, metavar="FILE", help="framedata.csv (default: that of the package melee)")
    made.add_argument(
        "--folder", type=Path, default=FOLDER, metavar="DIR", help="of the files (default: the project's)"
    )
    made.add_argument("--check", action="store_true", help="write nothing; fail if the file would change")
    return made.execute(_run, arguments)


def _run(options: argparse.Namespace) -> int:
    path = options.folder / f"{options.name}.toml"
    try:
        frames = options.frames or Path(str(files("melee"))) / "framedata.csv"
        text = path.read_text("utf-8-sig")
        moves = parse_json(read_plain(options.moves, MAX_TEXT_BYTES, follow=True))
        with boundary(ConfigError, f"{options.moves} and {frames} are no data of this character"):
            renewed = importer.renew(text, path.name, moves, frames)
    except ModuleNotFoundError as error:
        raise ConfigError(
            "libmelee is not installed: pip install -e '.[dolphin]', or name its framedata.csv with --frames"
        ) from error
    except ValueError as error:
        raise ConfigError(str(error)) from error
    if renewed == text:
        print(f"{path.name} is up to date")
        return 0
    if options.check:
        print(f"{path.name} would change")
        return 1
    unfinished = path.with_suffix(".toml.new")
    unfinished.write_text(renewed, "utf-8")
    unfinished.replace(path)
    print(f"{path.name} written")
    return 0


if __name__ == "__main__":
    sys.exit(main())
