"""The command ``selfplay VERB``, also as ``python -m selfplay VERB``. Python 3.6 must be able to read this file."""

import sys
from pathlib import Path

from selfplay.entry import require_python, run


def main() -> int:
    """Run the verb; the exit code. Only the module of the verb is imported."""
    require_python()
    from selfplay import console

    return console.command(_main)()


def _main() -> int:
    from selfplay.distribution import version
    from selfplay.verbs import COMMANDS, find_verb, verb_names

    command = COMMANDS[Path(sys.argv[0]).name == "__main__.py"]
    verb, *arguments = sys.argv[1:] or ["--help"]
    if verb == "help":
        verb, arguments = (arguments[0], ["--help"]) if arguments else ("--help", [])
    if verb in ("--help", "-h"):
        width = max(map(len, verb_names()))
        listed = "\n".join(f"  {name:<{width}}  {find_verb(name).text}" for name in verb_names())
        more = f"{command} VERB --help lists the flags of a verb, {command} --version the version."
        sys.stdout.write(f"usage: {command} VERB ...\n\n{listed}\n\n{more}\n")
        return 0
    if verb in ("--version", "version"):
        sys.stdout.write(f"selfplay {version()}\n")
        return 0
    if verb not in verb_names():
        sys.stderr.write(f"{command}: {verb!r} is no verb{_nearest(verb, command)}\n")
        return 2
    sys.argv = [f"{command} {verb}", *arguments]
    return run(verb)


def _nearest(name: str, command: str) -> str:
    """End of the error message for an unknown verb: the verb for that word or script, or the nearest verb."""
    from selfplay.games.spelling import nearest
    from selfplay.verbs import LISTS, WORDS, verb_names

    if name in ("list", "ls"):
        return f": {LISTS.format(command)}"
    stem = Path(name).stem
    near = WORDS.get(stem) or nearest(stem.replace("_", "-"), verb_names())
    return f", did you mean {near}?" if near else "; see --help"


if __name__ == "__main__":
    sys.exit(main())
