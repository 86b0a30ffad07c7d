"""Self-contained HTML pages.

Such a page is one file. It loads and sends nothing, unless it has a server of its own. Its content security policy
allows only its own script and style by hash, so that text from untrusted files cannot inject scripts.
"""

from __future__ import annotations

import base64
import hashlib
import json
import re
import string
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from importlib import resources
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from importlib.resources.abc import Traversable

_HEAD: Final = """<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="dark light">
<meta http-equiv="Content-Security-Policy" content="$policy">
<link rel="icon" href="data:,">
<title>$title</title>
<style>$style</style>
</head>"""
_IMPORT: Final = re.compile(r'^import \{ [\w, ]+ \} from "([./\w]+)";\n', re.MULTILINE)
_EXPORT: Final = re.compile(r"^export (?=(?:async )?(?:class|function|const) (\w+))", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class PagePart:
    """Element, style sheet and script of a part of a page."""

    html: str
    style: str
    script: str


def theme() -> str:
    """Style sheet with the colours of all pages."""
    return read(resources.files(__package__), "theme.css")


def read(folder: Traversable, *names: str) -> str:
    return "\n".join((folder / name).read_text("utf-8") for name in names)


def read_modules(folder: Traversable, *names: str) -> str:
    """ES modules of a folder as parts of one script. What they export is known to all of it, the rest to each alone.

    Each export is a class, a function or one constant, and each import one line with names and a relative path.
    ValueError if a module does not come after one of its folder that it imports.
    """
    parts = []
    for i, name in enumerate(names):
        text = read(folder, name)
        late = {path.removeprefix("./") for path in _IMPORT.findall(text) if path.startswith("./")} - {*names[:i]}
        if late:
            raise ValueError(f"{name} does not come after {', '.join(sorted(late))}, which it imports")
        exported = ", ".join(_EXPORT.findall(text))
        body = _EXPORT.sub("", _IMPORT.sub("", text)).strip()
        parts.append(f"const {{ {exported} }} = (() => {{\n{body}\nreturn {{ {exported} }};\n}})();\n")
    return "".join(parts)


def standalone_page(
    template: str,
    style: str,
    script: str,
    data: Mapping[str, object],
    *,
    title: str = "",
    wasm: bool = False,
    served: bool = False,
    **texts: str,
) -> str:
    """Fill in a page template.

    It has ``$head`` or its ``$policy`` and ``$style``, ``$script`` and ``$data``, and ``$title`` and the names of
    ``texts``, which are escaped HTML. The policy forbids inline ``style`` attributes. The script is a module; it reads
    ``data``, JSON by the id of its element. With ``wasm`` it may compile WebAssembly, with ``served`` send requests to
    the server that the page came from.
    """
    scripts = f"'{_hash(script)}'" + " 'wasm-unsafe-eval'" * wasm
    policy = f"default-src 'none'; img-src data:; script-src {scripts}; style-src '{_hash(style)}'"
    policy += "; connect-src 'self'" * served
    parts = {"policy": policy, "style": style, "title": title}
    head = string.Template(_HEAD).substitute(parts)
    return string.Template(template).substitute(
        parts, head=head, script=script, data="\n".join(_elements(data)), **texts
    )


def _elements(data: Mapping[str, object]) -> Iterable[str]:
    for name, value in data.items():
        # "<" could end the script element
        text = json.dumps(value, separators=(",", ":"), allow_nan=False).replace("<", "\\u003c")
        yield f'<script type="application/json" id="{name}">{text}</script>'


def _hash(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
