"""``selfplay watch RUN --live``: checks its options, and serves the page."""

from __future__ import annotations

import argparse
import tempfile
import webbrowser
from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path

from selfplay.errors import ConfigError
from selfplay.games.files import user_cache
from selfplay.loopback import opening_file


def add_live(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--live",
        action="store_true",
        help="serve a page of a run of any game on 127.0.0.1 until Ctrl-C, while it trains and afterwards: curves, "
        "ratings, the supervision tree and the newest rated game",
    )
    parser.add_argument("--port", type=int, metavar="N", help="with --live: its port, 0 for a free one (default: 8466)")
    parser.add_argument("--no-open", action="store_true", help="with --live: do not open the page in the browser")


def watch_live(options: argparse.Namespace, others: Mapping[str, str]) -> bool:
    """Serve the page if ``--live`` is given, and return True.

    ``others`` are options of which it takes none: their names on the command line.
    """
    if not options.live:
        if options.port is not None or options.no_open:
            raise ConfigError("--port and --no-open go with --live")
        return False
    given = next((flag for name, flag in others.items() if _is_given(getattr(options, name))), None)
    if given is not None:
        raise ConfigError(f"--live shows a run as it trains and takes no {given}")
    if options.port is not None and not 0 <= options.port < 2**16:
        raise ConfigError(f"--port {options.port}: 0 to {2**16 - 1} are possible")
    from selfplay.checkpoint import RunDir
    from selfplay.checkpoint.run_dir import named_run
    from selfplay.config.resume import game_of_run
    from selfplay.evaluation.named_players import check_game_type

    folder = named_run(options.what)
    if options.game_type is not None:
        check_game_type(str(folder), game_of_run(RunDir(folder)), options.game_type)
    _serve(folder, options)
    return True


def _is_given(value: object) -> bool:
    return value is not None and value is not False and value != []


def _serve(folder: Path, options: argparse.Namespace) -> None:
    from selfplay.commands.live_page import PORT, LiveServer

    with ExitStack() as stack:
        server = stack.enter_context(LiveServer(folder, PORT if options.port is None else options.port))
        print(f"{server.address}\nCtrl-C ends.", flush=True)
        if not options.no_open:
            beside = user_cache() or Path(tempfile.gettempdir())
            webbrowser.open(stack.enter_context(opening_file(server.address, beside)).as_uri())
        server.serve()
