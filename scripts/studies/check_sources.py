"""Refuse sources that could turn a file of somebody else into running code, or listen to the network.

Looks at the syntax tree of every Python file of the project; names are followed through imports and ``getattr``.
Libraries that pickle between our own processes are not meant: what is imported here is.

Also refuse long lines of JavaScript, since oxlint does not look at layout.
"""

from __future__ import annotations

import argparse
import ast
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).resolve().parents[2]
FOLDERS: Final = ("envs", "selfplay", "scripts", "tests")

SAFE: Final = "safetensors and JSON (selfplay.checkpoint, selfplay.games.files)"
MODULES: Final[dict[str, str]] = dict.fromkeys(
    ("pickle", "cPickle", "_pickle", "dill", "cloudpickle", "shelve", "marshal", "joblib", "jsonpickle"), SAFE
)
CALLS: Final[dict[str, str]] = {
    **dict.fromkeys(("eval", "exec", "compile"), "a parser"),
    "__import__": "importlib, with a name that no file can choose",
    **dict.fromkeys(
        (
            "torch.load", "torch.serialization.load", "torch.jit.load", "torch.hub.load",
            "torch.hub.load_state_dict_from_url",
            "torch.package.PackageImporter", "torch.export.load", "torch.distributed.checkpoint.load",
            "pandas.read_pickle", "pandas.read_hdf", "numpy.fromregex", "multiprocessing.connection.Listener",
            "multiprocessing.connection.Client", "code.interact", "runpy.run_path",
        ),
        SAFE,
    ),
    **dict.fromkeys(("yaml.load", "yaml.load_all", "yaml.unsafe_load", "yaml.full_load"), "JSON or TOML"),
    **dict.fromkeys(
        (
            "os.system", "os.popen", "subprocess.getoutput", "subprocess.getstatusoutput",
            "asyncio.create_subprocess_shell",
        ),
        "subprocess.run with a list of words",
    ),
}  # fmt: skip
ARRAYS: Final = ("numpy.load", "numpy.lib.format.read_array")
EVERYWHERE: Final = ("", "0.0.0.0", "::", "*")  # hosts that anybody can reach
OPEN_FLAG: Final = re.compile("--bind[_-]all")  # of command lines
MOST_LETTERS: Final = 120  # of a line of JavaScript; ruff holds the same limit for Python
ALLOWED: Final[dict[tuple[str, str], str]] = {
    ("selfplay/policy/formats.py", "torch.export.load"): "reads what it wrote a moment ago, to check it",
    ("selfplay/dialogue/language/loading.py", "from_pretrained without use_safetensors=True"): "PEFT takes safetensors "
    "where they are, and the folder was refused where they are not",
    ("tests/checkpoint/test_generations.py", "import of pickle"): "makes a file that must not be read",
    ("tests/scripts/commands.py", "runpy.run_path"): "runs the scripts of this project",
    ("tests/extras/test_export.py", "exec"): "runs the example of a page of ours",
    ("tests/extras/test_stable_baselines3.py", "exec"): "runs the examples of a page of ours",
    ("tests/scripts/test_documented_examples.py", "compile"): "runs the examples of our pages",
    ("tests/scripts/test_documented_examples.py", "eval"): "runs the examples of our pages",
}
"""By file and what; why it may be."""
TOKENIZERS: Final = ("AutoTokenizer", "AutoConfig", "PeftConfig")  # what they read holds no weights


@dataclass(frozen=True, slots=True)
class Fault:
    """What is used where, and what to use instead."""

    line: int
    what: str
    instead: str


@dataclass(slots=True)
class _Names:
    """What names stand for that imports bring, by dotted name; modules by their usual short names, too."""

    known: dict[str, str] = field(default_factory=lambda: {"np": "numpy", "pd": "pandas"})

    def learn(self, node: ast.AST) -> None:
        if isinstance(node, ast.Import):
            for alias in node.names:
                if alias.asname:
                    self.known[alias.asname] = alias.name
                else:
                    self.known.setdefault(alias.name.partition(".")[0], alias.name.partition(".")[0])
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            for alias in node.names:
                self.known[alias.asname or alias.name] = f"{node.module}.{alias.name}"
        elif isinstance(node, ast.Module):
            for function in node.body:
                if isinstance(function, ast.FunctionDef):  # of the project, whatever a builtin of this name does
                    self.known.setdefault(function.name, f"?.{function.name}")
        elif isinstance(node, ast.Assign) and len(node.targets) == 1:
            self._name(node.targets[0], node.value)
        elif isinstance(node, ast.AnnAssign) and node.value is not None:
            self._name(node.target, node.value)

    def _name(self, target: ast.expr, value: ast.expr) -> None:
        """Another name for something that is imported."""
        meant = self.meant(value)
        if isinstance(target, ast.Name) and (meant in CALLS or meant in ARRAYS or meant in self.known.values()):
            self.known[target.id] = meant

    def meant(self, node: ast.expr) -> str:
        """The dotted name that an expression stands for; "" where that cannot be told."""
        if isinstance(node, ast.Name):
            return self.known.get(node.id, node.id)
        if isinstance(node, ast.Attribute):
            owner = self.meant(node.value)
            return f"{owner}.{node.attr}".removeprefix("builtins.") if owner else f"?.{node.attr}"
        if isinstance(node, ast.Call) and self.meant(node.func) == "getattr" and len(node.args) > 1:
            owner, name = self.meant(node.args[0]), node.args[1]
            if owner and isinstance(name, ast.Constant):
                return f"{owner}.{name.value!s}".removeprefix("builtins.")
        return ""


def faults(source: str) -> list[Fault]:
    """What a source uses that it must not, by line."""
    tree = ast.parse(source)
    names = _Names()
    for node in ast.walk(tree):
        names.learn(node)
    found = {fault for node in ast.walk(tree) for fault in _of(node, names)}
    return sorted(found, key=lambda fault: (fault.line, fault.what))


def long_lines(source: str) -> list[Fault]:
    """Lines of JavaScript that are too long."""
    instead = f"at most {MOST_LETTERS}"
    lengths = enumerate(map(len, source.splitlines()), 1)
    return [Fault(line, f"{length} letters", instead) for line, length in lengths if length > MOST_LETTERS]


def _of(node: ast.AST, names: _Names) -> Iterator[Fault]:
    if isinstance(node, ast.Import):
        yield from _modules(node.lineno, [alias.name for alias in node.names])
    elif isinstance(node, ast.ImportFrom):
        module = node.module or ""
        yield from _modules(node.lineno, [module])
        for alias in node.names:
            name = f"{module}.{alias.name}".removeprefix("builtins.")
            if name in CALLS:
                yield Fault(node.lineno, name, CALLS[name])
            yield from _modules(node.lineno, [alias.name] if module in ("six.moves", "importlib") else [])
    elif isinstance(node, ast.Call):
        yield from _call(node, names)
    elif isinstance(node, ast.Attribute | ast.Name) and isinstance(node.ctx, ast.Load):
        name = names.meant(node)
        if name in CALLS and name != "compile":  # handed on without being called
            yield Fault(node.lineno, name, CALLS[name])
    elif isinstance(node, ast.List | ast.Tuple):
        yield from _command(node)


def _modules(line: int, names: list[str]) -> Iterator[Fault]:
    for name in names:
        if (top := name.partition(".")[0]) in MODULES:
            yield Fault(line, f"import of {top}", MODULES[top])


def _call(node: ast.Call, names: _Names) -> Iterator[Fault]:
    name = names.meant(node.func)
    last = name.rpartition(".")[2]
    words = {word.arg: word.value for word in node.keywords if word.arg}
    first = node.args[0] if node.args else None
    if name in CALLS:
        yield Fault(node.lineno, name, CALLS[name])
    if name in ("importlib.import_module", "__import__") and isinstance(first, ast.Constant):
        yield from _modules(node.lineno, [str(first.value)])
    if name in ARRAYS and not _is(words.get("allow_pickle"), False):
        yield Fault(node.lineno, f"{name} without allow_pickle=False", "allow_pickle=False, or " + SAFE)
    elif "allow_pickle" in words and not _is(words["allow_pickle"], False):
        yield Fault(node.lineno, "allow_pickle", "allow_pickle=False, or " + SAFE)
    if "weights_only" in words:
        yield Fault(node.lineno, "weights_only: an unpickler", SAFE)
    if "shell" in words and not _is(words["shell"], False):
        yield Fault(node.lineno, "shell=True", "a list of words")
    if "trust_remote_code" in words and not _is(words["trust_remote_code"], False):
        yield Fault(node.lineno, "trust_remote_code", "trust_remote_code=False")
    if last == "from_pretrained" and not _reads_weights_safely(name, words):
        yield Fault(node.lineno, "from_pretrained without use_safetensors=True", "selfplay.dialogue.language.loading")
    if last in ("extractall", "unpack_archive") and not _is(words.get("filter"), "data"):
        yield Fault(node.lineno, f"{last} without filter", 'filter="data"')
    yield from _listening(node, last, words)


def _reads_weights_safely(name: str, words: dict[str, ast.expr]) -> bool:
    owner = name.rpartition(".")[0].rpartition(".")[2]
    return owner in TOKENIZERS or _is(words.get("use_safetensors"), True)


def _listening(node: ast.Call, last: str, words: dict[str, ast.expr]) -> Iterator[Fault]:
    """Sockets and servers that others than this machine could reach."""
    host = words.get("host")
    if last in ("bind", "create_server", "TCPServer", "HTTPServer", "ThreadingHTTPServer", "UDPServer") and node.args:
        first = node.args[0]
        host = first.elts[0] if isinstance(first, ast.Tuple) and first.elts else host
    if last in ("start_server", "create_server") and host is None and len(node.args) > 1:
        host = node.args[1]
    if last == "start_server" and (host is None or _is(host, None)):
        yield Fault(node.lineno, "a server on all interfaces", '"127.0.0.1"')
    if isinstance(host, ast.Constant) and host.value in EVERYWHERE:
        yield Fault(node.lineno, f"host {host.value!r}", '"127.0.0.1"')


def _command(node: ast.List | ast.Tuple) -> Iterator[Fault]:
    """Command lines that tell a server to listen to everybody."""
    values = [part.value if isinstance(part, ast.Constant) else None for part in node.elts]
    for flag, value in pairwise([*values, None]):
        if (isinstance(flag, str) and OPEN_FLAG.match(flag)) or (flag == "--host" and value in EVERYWHERE):
            yield Fault(node.lineno, f"flag {flag}", '"127.0.0.1"')


def _is(node: ast.expr | None, value: object) -> bool:
    return isinstance(node, ast.Constant) and type(node.value) is type(value) and node.value == value


def main(arguments: list[str] | None = None) -> int:
    """Print the faults of all sources; 1 if there is one."""
    made = argparse.ArgumentParser(
        prog="python -m scripts.studies.check_sources", description=__doc__.splitlines()[0], allow_abbrev=False
    )
    made.add_argument("paths", nargs="*", type=Path, metavar="PATH", help="files or folders (default: all sources)")
    paths = made.parse_args(arguments).paths or [ROOT / folder for folder in FOLDERS]
    code = 0
    for path in paths:
        for file in sorted([*path.rglob("*.py"), *path.rglob("*.js")]) if path.is_dir() else [path]:
            name = file.resolve().relative_to(ROOT).as_posix() if file.resolve().is_relative_to(ROOT) else str(file)
            look = long_lines if file.suffix == ".js" else faults
            for fault in look(file.read_text(encoding="utf-8")):
                if (name, fault.what) not in ALLOWED:
                    print(f"{name}:{fault.line}: {fault.what}: use {fault.instead}")
                    code = 1
    return code


if __name__ == "__main__":
    sys.exit(main())
