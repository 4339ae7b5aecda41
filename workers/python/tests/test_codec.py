"""Values that have a JSON form, each with the form it has."""

import collections
import dataclasses
import datetime
import decimal
import enum
import json
import os
import pathlib
import sys
import types
import unittest
import uuid

from poolwise_worker import codec, frames

from .harness import strict


class Colour(enum.Enum):
    RED = "r"
    PAIR = (1, 2)


class Level(enum.IntEnum):
    HIGH = 3


class Word(str, enum.Enum):
    YES = "yes"


class Text(str):
    def __str__(self):
        return "another"


class Whole(int):
    def __repr__(self):
        return "another"


class Real(float):
    def __repr__(self):
        return "another"


@dataclasses.dataclass
class Point:
    x: int
    tags: list = dataclasses.field(default_factory=list)
    kind = "not a field"


Pair = collections.namedtuple("Pair", "a b")
UTC = datetime.timezone.utc
NUMBER = uuid.UUID("12345678-1234-5678-1234-567812345678")

FORMS = [
    ("null", None, "null"), ("true", True, "true"), ("int", 7, "7"), ("float", 1.5, "1.5"),
    ("minus zero", -0.0, "-0.0"), ("2**53+1", 2**53 + 1, "9007199254740993"), ("2**70", 2**70, "1180591620717411303424"),
    ("text", "aé世😀\n\"\\\x00\u2028", '"aé世😀\\n\\"\\\\\\u0000\u2028"'), ("empty", "", '""'),
    ("list", [1, "a", None], '[1,"a",null]'), ("tuple", (1, (2,)), "[1,[2]]"), ("empty list", [], "[]"),
    ("dict", {"a": {"b": 1}}, '{"a":{"b":1}}'), ("int keys", {1: "a", -2: "b"}, '{"1":"a","-2":"b"}'),
    ("Path", pathlib.PurePosixPath("/a/b"), '"/a/b"'), ("Enum", Colour.RED, '"r"'), ("Enum of tuple", Colour.PAIR, "[1,2]"),
    ("IntEnum", Level.HIGH, "3"), ("text Enum", Word.YES, '"yes"'), ("Enum keys", {Level.HIGH: 1, Word.YES: 2}, '{"3":1,"yes":2}'),
    ("datetime", datetime.datetime(2026, 1, 2, 3, 4, 5, 6, UTC), '"2026-01-02T03:04:05.000006+00:00"'),
    ("date", datetime.date(2026, 1, 2), '"2026-01-02"'), ("time", datetime.time(3, 4), '"03:04:00"'),
    ("Decimal", decimal.Decimal("1.10"), '"1.10"'), ("UUID", NUMBER, '"%s"' % NUMBER),
    ("bytes", b"\x00\xff", '{"$bytes":"AP8="}'), ("bytearray", bytearray(b"a"), '{"$bytes":"YQ=="}'),
    ("memoryview", memoryview(b"abcd")[::2], '{"$bytes":"YWM="}'), ("no bytes", b"", '{"$bytes":""}'),
    ("key $bytes", {"$bytes": 1}, '{"$$bytes":1}'), ("key $$bytes", {"$$bytes": 1}, '{"$$$bytes":1}'),
    ("both", {"$bytes": 1, "$$bytes": 2}, '{"$$bytes":1,"$$$bytes":2}'), ("other $", {"$ref": 1, "$": 2}, '{"$ref":1,"$":2}'),
    ("dataclass", Point(1, [Point(2)]), '{"x":1,"tags":[{"x":2,"tags":[]}]}'), ("namedtuple", Pair(1, 2), "[1,2]"),
    ("OrderedDict", collections.OrderedDict([("b", 1), ("a", 2)]), '{"b":1,"a":2}'),
    ("defaultdict", collections.defaultdict(list, a=[1]), '{"a":[1]}'),
    ("str subclass", Text("a"), '"a"'), ("str subclass as key", {Text("a"): 1}, '{"a":1}'),
    ("int subclass", Whole(5), "5"), ("float subclass", Real(0.5), "0.5"), ("int subclass as key", {Whole(5): 1}, '{"5":1}'),
]


class Forms(unittest.TestCase):
    def test_each(self):
        for name, value, want in FORMS:
            with self.subTest(name):
                self.assertEqual(codec.encode(value).decode("utf-8"), want)
                self.assertEqual(codec.encode([value]).decode("utf-8"), "[%s]" % want)
                strict(codec.encode(value))

    def test_lines(self):
        values = [None, True, -0.0, 2**70, "two\nlines", ""]
        lines = codec.encode_scalars(values).split(b"\n")
        self.assertEqual([strict(x) for x in lines], values)

    def test_ordered_after_a_move(self):
        value = collections.OrderedDict([("a", 1), ("b", 2)])
        value.move_to_end("a")
        self.assertEqual(codec.encode(value), b'{"b":2,"a":1}')

    def test_shared_is_not_circular(self):
        part = {1: 2}
        self.assertEqual(codec.encode([part, part]), b'[{"1":2},{"1":2}]')

    def test_deep_as_far_as_it_goes(self):
        value = []
        for _ in range(200):
            value = (value,)
        self.assertEqual(codec.encode(value), b"[" * 201 + b"]" * 201)


class Digits(unittest.TestCase):
    """Integers have any size, whatever CPython's limit."""

    def limit(self):
        return getattr(sys, "get_int_max_str_digits", lambda: None)()

    def test_out_and_back(self):
        before = self.limit()
        value = 10**5000 + 7
        for shape in (value, [value], {value: 1}, (Whole(value),)):
            text = codec.encode(shape)
            self.assertIn(b"1" + b"0" * 4999 + b"7", text)
        self.assertEqual(codec.decode(codec.encode(value).decode()), value)
        self.assertEqual(frames.finished(value), value)
        self.assertEqual(codec.encode_or_fail(value), codec.encode(value))
        self.assertEqual(self.limit(), before)


class Numpy(unittest.TestCase):
    """The worker knows numpy by name: a stand-in does where it is not installed."""

    def setUp(self):
        try:
            import numpy
        except ImportError:
            numpy = types.ModuleType("numpy")
            numpy.generic = type("generic", (), {"item": lambda self: self.plain, "__module__": "numpy"})
            numpy.datetime64 = type("datetime64", (numpy.generic,), {"__module__": "numpy"})
            sys.modules["numpy"] = numpy
            self.addCleanup(sys.modules.pop, "numpy")
        self.numpy = numpy

    def scalar(self, name, base, plain):
        if hasattr(self.numpy, "ndarray"):
            return getattr(self.numpy, name)(plain)
        value = type(name, (self.numpy.generic,) + base, {"__module__": "numpy"})(*[plain] if base else [])
        value.plain = plain
        return value

    def test_numbers(self):
        self.assertEqual(codec.encode(self.scalar("int64", (), 5)), b"5")
        self.assertEqual(codec.encode({"a": [self.scalar("float64", (float,), 0.5)]}), b'{"a":[0.5]}')

    def test_no_number(self):
        with self.assertRaisesRegex(codec.NotSerialisable, r"\$\[0\]: NaN"):
            codec.encode([self.scalar("float64", (float,), float("nan"))])

    def test_time_in_ns_is_no_number(self):
        if hasattr(self.numpy, "ndarray"):
            value = self.numpy.datetime64("2026-01-01T00:00:00.000000001")
        else:
            value = self.numpy.datetime64()
            value.plain = 1767225600000000001
        with self.assertRaisesRegex(codec.NotSerialisable, r"\$: numpy\.datetime64"):
            codec.encode(value)


class Mutation(unittest.TestCase):
    def test_what_changes_later_is_not_seen(self):
        value = {"a": [1]}
        kept = frames.finished(value)
        value["a"].append(2)
        self.assertEqual(kept, b'{"a":[1]}')


class Items(unittest.TestCase):
    def test_both_ways(self):
        for text in ('"\\udc97a"', "1180591620717411303424", "-0.0", '{"a":[1,null,true]}', '"\\u0000"'):
            self.assertEqual(json.dumps(codec.decode(text), separators=(",", ":")), text)

    def test_nan_is_no_item(self):
        for text in ("NaN", "[Infinity]", "-Infinity"):
            with self.assertRaises(ValueError):
                codec.decode(text)

    def test_surrogateescape_gives_the_bytes_back(self):
        self.assertEqual(os.fsencode(codec.decode('"a\\udc97\\udcff"')), b"a\x97\xff")
