"""Records scenarios with a real Erlang/OTP: ``python record.py SCENARIOS.jsonl RECORDED.jsonl``.

A scenario has `name`, `flags`, `children_spec`, `prefail` and either `steps` or a `trace` whose steps are played anew.
Needs `erl` with the compiler (Debian: erlang-base). Record three times and keep only what does not change.
"""

import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
PAIRS = ("crash", "stop_sup")  # a list as their last argument is Erlang's {shutdown, Term}


def main(source: Path, target: Path) -> None:
    """Plays every scenario of `source` and writes them with their traces to `target`."""
    scenarios = [json.loads(line) for line in source.read_text(encoding="utf-8").splitlines()]
    with tempfile.TemporaryDirectory() as folder:
        terms, traces = Path(folder) / "scenarios.term", Path(folder) / "traces.jsonl"
        terms.write_text("".join(f"{_scenario(scenario)}.\n" for scenario in scenarios), encoding="utf-8")
        run = f'{{ok,_}} = compile:file("{HERE / "recorder"}"), recorder:main("{terms}", "{traces}").'
        subprocess.run(["erl", "-noshell", "-kernel", "logger_level", "none", "-eval", run], check=True, cwd=folder)
        played = [json.loads(line) for line in traces.read_text(encoding="utf-8").splitlines()]
    lines = [json.dumps(_merged(*pair), separators=(",", ":")) for pair in zip(scenarios, played, strict=True)]
    target.write_text("\n".join(lines) + "\n", encoding="utf-8")


def _steps(scenario: dict[str, Any]) -> list[Any]:
    return scenario["steps"] if "steps" in scenario else [entry["step"] for entry in scenario["trace"]]


def _merged(scenario: dict[str, Any], seen: list[Any]) -> dict[str, Any]:
    trace = [{"step": step} | entry for step, entry in zip(_steps(scenario), seen, strict=True)]
    return {key: scenario[key] for key in ("name", "flags", "children_spec", "prefail")} | {"trace": trace}


def _scenario(scenario: dict[str, Any]) -> str:
    children = ",".join(map(_term, scenario["children_spec"]))
    prefail = ",".join(f"{{{_term(id)},{_term(hows)}}}" for id, hows in scenario["prefail"])
    steps = ",".join(map(_step, _steps(scenario)))
    return f"{{{_term(scenario['flags'])},[{children}],[{prefail}],[{steps}]}}"


def _step(step: list[Any]) -> str:
    if step[0] in PAIRS and isinstance(step[-1], list):
        pair = "{" + ",".join(map(_term, step[-1])) + "}"
        return "[" + ",".join([*map(_term, step[:-1]), pair]) + "]"
    return _term(step)


def _term(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, str):
        return f"'{value}'"
    if isinstance(value, list):
        return "[" + ",".join(map(_term, value)) + "]"
    if isinstance(value, dict):
        return "#{" + ",".join(f"{key} => {_value(key, item)}" for key, item in value.items()) + "}"
    return str(value)


def _value(key: str, value: Any) -> str:
    if key == "sup":
        flags, children = value
        return f"{{{_term(flags)},{_term(children)}}}"
    return _term(value)


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
