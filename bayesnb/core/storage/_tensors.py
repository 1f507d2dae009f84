"""Files of arrays with a JSON header, in safetensors format; a digest detects any change after writing."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from safetensors import SafetensorError
from safetensors.numpy import load, save

from bayesnb.compute.arrays._placement import native
from bayesnb.core.storage._whole_file import require_file

Arrays = Mapping[str, np.ndarray[Any, Any]]

HEADER_KEY = "bayesnb"
"""The key of the header in the file's metadata."""


def to_bytes(header: Mapping[str, Any], arrays: Arrays) -> bytes:
    """The content of such a file; ValueError if it cannot be stored."""
    text = json.dumps(header)
    arrays = {key: native(np.asarray(a, order="C")) for key, a in arrays.items()}
    try:
        return save(arrays, metadata={HEADER_KEY: text, "digest": _digest(text, arrays)})
    except SafetensorError as error:
        raise ValueError(str(error)) from error


def read(path: Path) -> tuple[dict[str, Any], dict[str, np.ndarray[Any, Any]]]:
    """The header and the arrays of a file; OSError if it cannot be read, else as ``from_bytes``."""
    require_file(path)  # a pipe, for example, may never end
    return from_bytes(path.read_bytes())


def from_bytes(content: bytes) -> tuple[dict[str, Any], dict[str, np.ndarray[Any, Any]]]:
    """The header and the arrays of the content of a file.

    ValueError if it was not written by ``to_bytes`` or has changed since.
    """
    size = int.from_bytes(content[:8], "little")  # of the description of the arrays, which follows
    try:
        metadata = json.loads(content[8 : 8 + size])["__metadata__"]
        text, digest = metadata[HEADER_KEY], metadata["digest"]
    except Exception as error:  # anything else may be in its place
        raise ValueError("it is not a bayesnb file") from error
    try:
        arrays = load(content)
        if digest != _digest(text, arrays):
            raise ValueError("its contents have changed since it was written")
        header = json.loads(text)
    except Exception as error:  # a malformed file can raise anything
        raise ValueError(f"{error}") from error
    if not isinstance(header, dict):
        raise ValueError("its header is not a JSON object")
    return header, dict(sorted(arrays.items()))  # safetensors gives them in any order


def _digest(text: str, arrays: Arrays) -> str:
    digest = hashlib.blake2b(text.encode(), digest_size=16)
    for key in sorted(arrays):
        digest.update(f"{key} {arrays[key].dtype} {arrays[key].shape} ".encode() + arrays[key].tobytes())
    return digest.hexdigest()
