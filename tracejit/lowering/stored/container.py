"""The file of an exported program: a description in JSON, and blocks of bytes that it refers to by number.

    magic (16 bytes) | version (4) | length of the description (8) | length of the blocks (8)
    SHA-256 of all the rest (32)
    description | blocks, one behind the other

The checksum is over all other bytes, so that a file is whole and unchanged, or nothing of it is used. It says nothing
of who has written the file: machine code from others can do what any program can.
"""

from __future__ import annotations

import hashlib
import json
import struct
from typing import Any

MAGIC = b"tracejit program"
#: Of the format, and of how programs are called (`Executable`, the entry, the table): it changes when either does. A
#: file among the tests notices that.
VERSION = 2
_HEADER = struct.Struct("<16sIQQ")
_DIGEST = 32


class Malformed(Exception):
    """What is wrong with a file, in words."""


def pack(description: dict[str, Any], blocks: list[bytes]) -> bytes:
    """The bytes of a file."""
    text = json.dumps({**description, "blocks": list(map(len, blocks))}, separators=(",", ":")).encode()
    body = b"".join([text, *blocks])
    head = _HEADER.pack(MAGIC, VERSION, len(text), len(body) - len(text))
    return head + _digest(head, body) + body


def unpack(data: bytes) -> tuple[dict[str, Any], list[bytes]]:
    """The description and the blocks of a file. Raises Malformed."""
    start = _HEADER.size + _DIGEST
    if data[: len(MAGIC)] != MAGIC[: len(data)]:
        raise Malformed("tracejit has not written it")
    if len(data) < start:
        raise Malformed("it is cut off")
    _, version, length, rest = _HEADER.unpack_from(data)
    body = data[start:]
    if version != VERSION:
        raise Malformed(f"its format has the version {version}, where this tracejit reads version {VERSION}")
    if len(body) != length + rest:
        raise Malformed("it is cut off" if len(body) < length + rest else "its length is wrong")
    if data[_HEADER.size : start] != _digest(data[: _HEADER.size], body):
        raise Malformed("its checksum is wrong")
    return _parsed(body, length)


def _parsed(body: bytes, length: int) -> tuple[dict[str, Any], list[bytes]]:
    try:
        description = json.loads(body[:length])
        sizes = description.pop("blocks")
        if not all(type(n) is int and n >= 0 for n in sizes) or length + sum(sizes) != len(body):
            raise Malformed("its blocks have other lengths than it says")
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as e:
        raise Malformed(f"its description can't be read ({e})") from None
    blocks = []
    for n in sizes:
        blocks.append(body[length : length + n])
        length += n
    return description, blocks


def _digest(head: bytes, body: bytes) -> bytes:
    h = hashlib.sha256(head)
    h.update(body)
    return h.digest()
