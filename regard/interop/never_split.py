"""A sentence splitter that never splits, as an ONNX model for MiniSBD, which Argos Translate asks for sentences.

MiniSBD scores five classes for each character of a text; the first is "goes on". This model gives zeros, whose argmax
is the first. It reads units int64 (B, T) and features float (B, T, F), and writes zeros (B, T, 5):
Shape(units) → Concat with [5] → ConstantOfShape.
"""

from __future__ import annotations

import json

from regard.data.sentencepiece.protobuf import bytes_field, integer_field

CLASSES = 5
IR_VERSION, OPSET = 8, 13
FLOAT, INT64 = 1, 7  # types of ONNX's tensors
INTEGER = 2  # the type of an attribute
MARKS = ["<PAD>", "<UNK>", "<EMPTY>", "<ROOT>"]  # MiniSBD's; every character is unknown
SETTINGS = {"no_ssplit": True, "feat_funcs": ["space_before"], "batch_size": 1, "max_seqlen": 1000}


def never_split(language: str) -> bytes:
    """The content of the .onnx file."""
    axis = bytes_field(1, "axis") + integer_field(3, 0) + integer_field(20, INTEGER)
    classes = integer_field(1, 1) + integer_field(2, INT64) + integer_field(7, CLASSES) + bytes_field(8, "classes")
    graph = (
        bytes_field(1, _node("Shape", ["units"], "places"))
        + bytes_field(1, _node("Concat", ["places", "classes"], "shape") + bytes_field(5, axis))
        + bytes_field(1, _node("ConstantOfShape", ["shape"], "output"))
        + bytes_field(2, "never_split")
        + bytes_field(5, classes)
        + bytes_field(11, _value("units", INT64, ["B", "T"]))
        + bytes_field(11, _value("features", FLOAT, ["B", "T", "F"]))
        + bytes_field(12, _value("output", FLOAT, ["B", "T", CLASSES]))
    )
    vocabulary = {"lang": "", "idx": 0, "cutoff": 0, "lower": False}
    units = {"_unit2id": {mark: i for i, mark in enumerate(MARKS)}, "_id2unit": MARKS}
    notes = {
        "config": json.dumps(SETTINGS),
        "vocab": json.dumps(vocabulary | units),
        "lexicon": "null",
        "lang_code": language,
    }
    written = integer_field(1, IR_VERSION) + bytes_field(2, "regard") + bytes_field(7, graph)
    written += bytes_field(8, bytes_field(1, "") + integer_field(2, OPSET))
    return written + b"".join(
        bytes_field(14, bytes_field(1, name) + bytes_field(2, value)) for name, value in notes.items()
    )


def _node(operation: str, inputs: list[str], output: str) -> bytes:
    return b"".join(bytes_field(1, name) for name in inputs) + bytes_field(2, output) + bytes_field(4, operation)


def _value(name: str, kind: int, shape: list[str | int]) -> bytes:
    sizes = (integer_field(1, size) if isinstance(size, int) else bytes_field(2, size) for size in shape)
    tensor = integer_field(1, kind) + bytes_field(2, b"".join(bytes_field(1, size) for size in sizes))
    return bytes_field(1, name) + bytes_field(2, bytes_field(1, tensor))
