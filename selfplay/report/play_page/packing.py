"""Arrays as short text for a page; ``view/packing.js`` unpacks them."""

from __future__ import annotations

import base64
import gzip
from typing import Any

import numpy as np
from numpy.typing import NDArray

from selfplay.report.fight.page import little_endian

Packed = dict[str, Any]


def packed(array: NDArray[np.generic], *, differences: bool = False) -> Packed:
    """An array, compressed by gzip, in base64.

    The first byte of all numbers stands before the second of all and so on, since neighbours are alike.

    Args:
        array: Of one of the types of ``fight.page``.
        differences: Of rows that resemble the one before: keep by how much each differs from it. Of whole numbers only.
    """
    kind, little = little_endian(array)
    content: Packed = {"type": kind}
    if differences:
        rows = little.reshape(len(little), -1)
        content["row"] = rows.shape[1]
        little = rows.copy()
        little[1:] -= rows[:-1]
    planes = little.reshape(-1, 1).view(np.uint8).T
    content["data"] = base64.b64encode(gzip.compress(planes.tobytes(), mtime=0)).decode()
    return content


def packed_bytes(content: bytes) -> Packed:
    return packed(np.frombuffer(content, np.uint8))
