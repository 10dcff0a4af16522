"""The wire format of Protocol Buffers, as far as SentencePiece's files need it.

A message is a row of fields: a key (number · 8 + wire type), then the value. Wire types: 0 an integer in groups of
seven bits, 1 eight bytes, 2 a length and so many bytes, 5 four bytes.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator

VARINT, EIGHT_BYTES, BYTES, FOUR_BYTES = 0, 1, 2, 5
Field = tuple[int, int | bytes]  # its number, and its value


def read_fields(message: bytes) -> Iterator[Field]:
    """Each field in the order of the file. ValueError where the bytes are no message."""
    position = 0
    while position < len(message):
        key, position = _read_varint(message, position)
        number, wire = key >> 3, key & 7
        if wire == VARINT:
            value, position = _read_varint(message, position)
            yield number, value
            continue
        if wire == BYTES:
            length, position = _read_varint(message, position)
        elif wire in (EIGHT_BYTES, FOUR_BYTES):
            length = 8 if wire == EIGHT_BYTES else 4
        else:
            raise ValueError(f"wire type {wire}")
        if position + length > len(message):
            raise ValueError("it is cut off")
        yield number, message[position : position + length]
        position += length


def integer_field(number: int, value: int) -> bytes:
    """An integer, a bool or an enumerated value that is not negative."""
    return _varint(number << 3 | VARINT) + _varint(value)


def float_field(number: int, value: float) -> bytes:
    return _varint(number << 3 | FOUR_BYTES) + struct.pack("<f", value)


def bytes_field(number: int, value: bytes | str) -> bytes:
    """Bytes, a text in UTF-8, or another message."""
    content = value.encode() if isinstance(value, str) else value
    return _varint(number << 3 | BYTES) + _varint(len(content)) + content


def _read_varint(message: bytes, position: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        if position >= len(message) or shift > 63:
            raise ValueError("an integer is cut off")
        byte = message[position]
        value |= (byte & 0x7F) << shift
        position += 1
        if byte < 0x80:
            return value, position
        shift += 7


def _varint(value: int) -> bytes:
    assert value >= 0
    groups = bytearray()
    while value >= 0x80:
        groups.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes((*groups, value))
