"""Pages for browsers that hold everything they need.

Such a page is one file, which loads nothing, sends nothing and runs no script but its own. Its policy names script and
style by their hash, so that no name from a file can bring another.
"""

from __future__ import annotations

import base64
import hashlib
import json
import string
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from importlib.resources.abc import Traversable


def read(folder: Traversable, *names: str) -> str:
    """The texts of some files of the project, one after the other."""
    return "\n".join((folder / name).read_text("utf-8") for name in names)


def sealed(template: str, style: str, script: str, data: Mapping[str, object], **texts: str) -> str:
    """Fill in a page.

    Args:
        template: the page, with ``$policy``, ``$style``, ``$script``, ``$data`` and the names of ``texts``.
        style: its style sheet. An element's own ``style`` attribute is not allowed by the policy.
        script: its script, a module.
        data: what the script reads, by the id of the element that holds it as JSON.
        texts: what else the template names, as HTML: who hands it over has escaped what came from elsewhere.
    """
    policy = f"default-src 'none'; img-src data:; script-src '{_hash(script)}'; style-src '{_hash(style)}'"
    return string.Template(template).substitute(
        policy=policy, style=style, script=script, data="\n".join(_elements(data)), **texts
    )


def _elements(data: Mapping[str, object]) -> Iterable[str]:
    for name, value in data.items():
        # < is the one letter that could end the element that the data stand in
        text = json.dumps(value, separators=(",", ":"), allow_nan=False).replace("<", "\\u003c")
        yield f'<script type="application/json" id="{name}">{text}</script>'


def _hash(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
