"""Make a GIF of a fight between two players: generations of a run, policy folders or scripted players."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from envs.errors import GameError  # noqa: E402
from selfplay.errors import ConfigError, NotARunError, SelfPlayError  # noqa: E402

FPS = 20


def parser() -> argparse.ArgumentParser:
    """The command line."""
    made = argparse.ArgumentParser(prog="watch.py", description=__doc__)
    made.add_argument("run", nargs="?", metavar="RUN", help="run folder, or its name in checkpoints/ (default: newest)")
    made.add_argument(
        "players",
        nargs="*",
        metavar="PLAYER",
        help="two players: gen_N of the run, a policy folder, or a scripted player (default: the newest generation "
        "against itself; with one player: the newest generation against it)",
    )
    made.add_argument("--seconds", type=int, default=20, help="of game time at most (default: %(default)s)")
    made.add_argument("--seed", type=int, default=0, help="of the game (default: %(default)s)")
    made.add_argument("--out", type=Path, metavar="GIF", help="file to write (default: RUN/A-vs-B.gif)")
    return made


def film(options: argparse.Namespace) -> Path:
    """Play, draw, write; the path of the GIF."""
    from selfplay.checkpoint import RunDir, list_generations, load_generation
    from selfplay.league.runs import resolve_run
    from selfplay.report.film import Recorder, write_gif
    from selfplay.runner.match import Pairing, Rules, play
    from selfplay.trainer.players import contender

    run = RunDir(resolve_run(options.run, ROOT / "checkpoints"))
    generations = list_generations(run)
    if not generations:
        raise NotARunError(f"{run.path} has no generation yet")
    meta, _ = load_generation(generations[-1].path)
    named: list[str] = options.players
    if len(named) > 2:
        raise ConfigError(f"two players fight, {len(named)} are named")
    first, second = [meta.id] * (2 - len(named)) + named
    names = (first, second)
    players = {name: contender(name, run) for name in names}
    recorder = Recorder()
    play(
        [Pairing(names, (meta.characters[0], meta.characters[-1]), options.seed)],
        players,
        Rules(meta.stage, options.seconds * 60),
        watch=lambda block: recorder.take(block.state),
    )
    titles = [Path(name).name for name in names]
    path = options.out or run.path / f"{titles[0]}-vs-{titles[1]}.gif"
    write_gif(recorder.pictures(titles, FPS), path, FPS)
    return path


def main() -> int:
    """Run the command; the exit code."""
    options = parser().parse_args()
    try:
        path = film(options)
    except (SelfPlayError, GameError) as error:
        print(f"watch.py: {error}", file=sys.stderr)
        return 2
    print(f"{path} ({path.stat().st_size / 1e6:.1f} MB)")
    return 0


if __name__ == "__main__":
    sys.exit(main())
