"""Parquet files of a few rows, written without Polars, whose import takes longer than many a run.

A file has one row group and, for each column, one page of plain values. `FORMAT.md` of apache/parquet-format describes
the layout, `parquet.thrift` the headers, and Thrift's compact protocol how these are written.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

#: Most rows of a table that is written so. Values of more rows are worth compressing, which Polars does.
ROWS_MAX = 256
#: The first and the last bytes of a file.
MAGIC = b"PAR1"
#: Types of fields in Thrift's compact protocol.
TRUE, I8, I32, I64, BINARY, LIST, STRUCT = 1, 3, 5, 6, 8, 9, 12
#: NumPy name of a type -> number of the physical type, of the older name of its meaning, and of the newer one.
INT64, DOUBLE, BYTE_ARRAY = 2, 5, 6
UTF8, UINT_64 = 0, 14
#: Encodings of values and of levels, of which required values have none.
PLAIN, RLE = 0, 3


class Values(NamedTuple):
    """A column: its name, the NumPy name of its type (`<u8`, `<f8`, or nothing for texts), and its values."""

    name: str
    dtype: str
    #: Numbers as little-endian bytes, or texts.
    content: bytes | Sequence[str]


def content(columns: Sequence[Values], rows: int, metadata: Mapping[str, str]) -> bytes:
    """The content of a file with these columns and notes."""
    made = bytearray(MAGIC)
    chunks, total = [], 0
    for column in columns if rows else ():
        values = column.content if isinstance(column.content, bytes) else b"".join(map(counted, column.content))
        at = len(made)
        made += page_header(len(values), rows) + values
        total += len(made) - at
        chunks.append(chunk(column, rows, at, len(made) - at))
    group = struct((1, LIST, listed(STRUCT, chunks)), (2, I64, number(total)), (3, I64, number(rows)))
    notes = [struct((1, BINARY, text(key)), (2, BINARY, text(value))) for key, value in metadata.items()]
    root = struct((4, BINARY, text("root")), (5, I32, number(len(columns))))
    footer = struct(
        (1, I32, number(1)),
        (2, LIST, listed(STRUCT, [root, *map(element, columns)])),
        (3, I64, number(rows)),
        (4, LIST, listed(STRUCT, [group] if rows else [])),
        (5, LIST, listed(STRUCT, notes)),
        (6, BINARY, text("clearway")),
    )
    return bytes(made + footer + len(footer).to_bytes(4, "little") + MAGIC)


def element(column: Values) -> bytes:
    """The column in the schema: required values of a type."""
    head = [(1, I32, number(physical(column))), (3, I32, number(0)), (4, BINARY, text(column.name))]
    if column.dtype == "<f8":
        return struct(*head)
    if column.dtype == "<u8":
        whole = struct((1, I8, bytes([64])), (2, TRUE + 1, b""))  # 64 bits without a sign.
        return struct(*head, (6, I32, number(UINT_64)), (10, STRUCT, struct((10, STRUCT, whole))))
    return struct(*head, (6, I32, number(UTF8)), (10, STRUCT, struct((1, STRUCT, struct()))))


def physical(column: Values) -> int:
    """The physical type of a column."""
    return {"<u8": INT64, "<f8": DOUBLE}.get(column.dtype, BYTE_ARRAY)


def page_header(size: int, rows: int) -> bytes:
    """The header of a page of plain values, which take `size` bytes."""
    data = struct((1, I32, number(rows)), (2, I32, number(PLAIN)), (3, I32, number(RLE)), (4, I32, number(RLE)))
    return struct((1, I32, number(0)), (2, I32, number(size)), (3, I32, number(size)), (5, STRUCT, data))


def chunk(column: Values, rows: int, at: int, size: int) -> bytes:
    """The place of a column in the file: its page begins at `at`, and takes `size` bytes with its header."""
    about = struct(
        (1, I32, number(physical(column))),
        (2, LIST, listed(I32, [number(PLAIN)])),
        (3, LIST, listed(BINARY, [text(column.name)])),
        (4, I32, number(0)),  # Not compressed.
        (5, I64, number(rows)),
        (6, I64, number(size)),
        (7, I64, number(size)),
        (9, I64, number(at)),
    )
    return struct((2, I64, number(at)), (3, STRUCT, about))


# ---- Thrift's compact protocol


def struct(*fields: tuple[int, int, bytes]) -> bytes:
    """A struct of fields with rising numbers: number, type and value of each."""
    made, last = bytearray(), 0
    for field, kind, value in fields:
        made.append((field - last) << 4 | kind)
        made += value
        last = field
    return bytes(made + b"\0")


def listed(kind: int, values: Sequence[bytes]) -> bytes:
    """A list of values of a type."""
    count = len(values)
    head = bytes([count << 4 | kind]) if count < 15 else bytes([0xF0 | kind]) + varint(count)
    return head + b"".join(values)


def number(value: int) -> bytes:
    """A whole number that is not below 0."""
    return varint(value << 1)


def text(value: str) -> bytes:
    """A text, with the number of its bytes before it."""
    encoded = value.encode()
    return varint(len(encoded)) + encoded


def varint(value: int) -> bytes:
    """A whole number in groups of seven bits, the lowest first."""
    made = bytearray()
    while value > 0x7F:
        made.append(value & 0x7F | 0x80)
        value >>= 7
    made.append(value)
    return bytes(made)


def counted(value: str) -> bytes:
    """A text among plain values, with the number of its bytes before it."""
    encoded = value.encode()
    return len(encoded).to_bytes(4, "little") + encoded
