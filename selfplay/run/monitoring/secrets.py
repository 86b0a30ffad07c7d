"""Hides secrets in reports: keys from the environment, and passwords in addresses."""

from __future__ import annotations

import os
import re
from typing import Final

HIDDEN: Final = "***"
SHORTEST: Final = 6  # characters of a value that is looked for; a shorter one would be found in any text
_SECRET: Final = re.compile(r"KEY|TOKEN|SECRET|PASS|CREDENTIAL|AUTH", re.IGNORECASE)
_LOGIN: Final = re.compile(r"(\w://)[^\s/@]+@")
_BEARER: Final = re.compile(r"(\bbearer\s+)\S+", re.IGNORECASE)


def without_secrets(text: str) -> str:
    """The text with the values of the environment's variables hidden that are named as secrets are, and logins."""
    values = {value for name, value in os.environ.items() if len(value) >= SHORTEST and _SECRET.search(name)}
    for value in sorted(values, key=len, reverse=True):  # one may begin with another
        text = text.replace(value, HIDDEN)
    return _BEARER.sub(rf"\1{HIDDEN}", _LOGIN.sub(rf"\1{HIDDEN}@", text))
