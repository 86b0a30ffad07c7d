"""Let a model play games against itself and write them to selfplay_games.jsonl and settings.json."""

from __future__ import annotations

import argparse
from pathlib import Path

from selfplay.cli.parser import Parser
from selfplay.commands.cli import command
from selfplay.dialogue import DEFAULT


def parser() -> argparse.ArgumentParser:
    made = Parser(description=__doc__)
    made.add_argument("--folder", type=Path, required=True, metavar="DIR", help="folder to write to")
    made.add_argument("--model", default="tiny", metavar="NAME", help="tiny, a Hugging Face name, or a folder (tiny)")
    made.add_argument("--num-games", type=int, default=100, metavar="N", help="games in all (%(default)s)")
    made.add_argument("--games-per-state", type=int, default=8, metavar="N", help="games on each state (%(default)s)")
    made.add_argument("--baseline", default="group", metavar="NAME", help="group, or role-ema, across states (group)")
    made.add_argument("--max-length", type=int, default=100, metavar="N", help="turns of a conversation (%(default)s)")
    made.add_argument("--temperature", default=0.7, metavar="F", help="sampling temperature (%(default)s)")
    made.add_argument("--top-p", default=1.0, metavar="F", help="nucleus sampling (%(default)s)")
    made.add_argument("--max-new-tokens", metavar="N", help="token limit of a reply (24 with tiny, else 512)")
    made.add_argument(
        "--exp-name", default="selfplay_gen", metavar="NAME", help="experiment name, written in every row (%(default)s)"
    )
    made.add_argument("--game", default=DEFAULT, metavar="NAME", help="dialogue game (%(default)s)")
    made.add_argument("--game-size", metavar="N", help="size of the game (default: the game's)")
    made.add_argument(
        "--start-tokens", metavar="N", help="tokens of the supervised training of tiny, if it does not exist"
    )
    made.add_argument(
        "--iteration", type=int, default=0, metavar="N", help="number of the iteration; each has different states"
    )
    made.add_argument("--seed", type=int, default=0, metavar="N", help="random seed (%(default)s)")
    made.add_argument("--bf16", action="store_true", help="forward passes in bfloat16")
    made.add_argument("--server-url", metavar="URL", help="SGLang or OpenAI-compatible server that writes the replies")
    made.add_argument("--server", metavar="NAME", help="start sglang or vllm with the model, to write the replies")
    made.add_argument("--server-args", metavar="TEXT", help="additional arguments of that program, as one string")
    made.add_argument("--device", default="auto", metavar="NAME", help="cpu, cuda:N or auto (%(default)s)")
    made.add_argument("--resume", action="store_true", help="reuse games with the same settings")
    return made


@command(parser)
def main(options: argparse.Namespace) -> None:
    from selfplay.checkpoint import check_writable_folder

    check_writable_folder(options.folder, "--folder")
    from selfplay.dialogue.files.settings import announce, make_settings

    values = dict(vars(options))
    folder, device, resume = (values.pop(name) for name in ("folder", "device", "resume"))
    values["games"] = values.pop("num_games")
    settings = make_settings(values)
    print(announce(settings, options.max_length), flush=True)
    from selfplay.dialogue.files.generation import generate

    generate(folder, settings, device, resume, lambda line: print(line, flush=True))
