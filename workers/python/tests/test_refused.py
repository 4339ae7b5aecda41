"""Values without a JSON form: each is a failure that names the spot."""

import asyncio
import dataclasses
import datetime
import tempfile
import threading
import unittest

from poolwise_worker import codec
from poolwise_worker.failure import Failure

from .harness import strict


def raising(name):
    """Return an object of which one special method raises."""
    def fail(self, *_):
        raise RuntimeError(name)
    member = property(fail) if name == "__class__" else fail
    return type("Raising", (), {name: member, "__hash__": object.__hash__})()


class Liar:
    __class__ = dict


class BadDict(dict):
    def items(self):
        raise RuntimeError


class BadList(list):
    def __iter__(self):
        raise KeyboardInterrupt


class Key(str):
    def __str__(self):
        return "another"


@dataclasses.dataclass
class Unset:
    x: int = dataclasses.field(init=False)


@dataclasses.dataclass
class Holder:
    inner: object


def loop_list():
    value = []
    value.append([value])
    return value


def loop_dict():
    value = {}
    value["a"] = {"b": value}
    return value


def deep(n):
    value = []
    for _ in range(n):
        value = [value]
    return value


async def coroutine():
    pass


NAN, INF = float("nan"), float("inf")

REFUSED = [
    ("NaN", NAN, "$: NaN"), ("NaN at depth", {"a": [1, (2, NAN)]}, "$.a[1][1]: NaN"),
    ("infinity", [INF], "$[0]: infinity"), ("minus infinity", {"b": -INF}, "$.b: infinity"),
    ("set", {"a": [0, 1, 2, {1}]}, "$.a[3]: set"), ("frozenset", frozenset(), "$: frozenset"),
    ("surrogate", ["a\udc97"], "$[0]: str with a lone surrogate"), ("surrogate alone", "\ud800", "$: str with a lone surrogate"),
    ("surrogate in a key", {"x": {"\udc97": 1}}, "$.x (a key): str with a lone surrogate"),
    ("colliding keys", {1: 1, "1": 2}, "$: two keys are both '1' as text"),
    ("colliding at depth", [{"a": {"2": 1, 2: 2}}], "$[0].a: two keys are both '2' as text"),
    ("float key", {1.5: 1}, "$: key of type float"), ("bool key", {True: 1}, "$: key of type bool"),
    ("None key", {None: 1}, "$: key of type NoneType"), ("tuple key", {"a": {(1, 2): 1}}, "$.a: key of type tuple"),
    ("bytes key", {b"a": 1}, "$: key of type bytes"),
    ("generator", (x for x in ()), "$: generator"), ("function", lambda: 0, "$: function"), ("class", int, "$: type"),
    ("open file", tempfile.TemporaryFile, "$: "), ("lock", [threading.Lock], "$[0]: "),
    ("timedelta", datetime.timedelta(1), "$: datetime.timedelta"), ("complex", 1j, "$: complex"),
    ("range", range(3), "$: range"), ("object", object(), "$: object"), ("exception", {"e": ValueError("x")}, "$.e: ValueError"),
    ("circular list", loop_list, "$[0][0]: circular reference"), ("circular dict", loop_dict, "$.a.b: circular reference"),
    ("deep", deep(100000), "$: nested too deeply"), ("deep in a tuple subclass", Holder(deep(100000)), "$: nested too deeply"),
    ("raising __class__", [raising("__class__")], "$[0]: "), ("raising __eq__", raising("__eq__"), "$: "),
    ("raising __str__", raising("__str__"), "$: "), ("raising __reduce__", raising("__reduce__"), "$: "),
    ("raising __getattr__", raising("__getattr__"), "$: "), ("raising __getattribute__", raising("__getattribute__"), "$: "),
    ("lying __class__", {"a": Liar()}, "$.a: "), ("dict that raises", [BadDict(a=1)], "$[0]: encoding it raised RuntimeError"),
    ("list that raises", {"a": BadList([1])}, "$.a: encoding it raised KeyboardInterrupt"),
    ("unset field", [Unset()], "$[0]: encoding it raised AttributeError"), ("field", Holder(NAN), "$.inner: NaN"),
    ("key with another text", {Key("a"): NAN}, "$.a: NaN"),
]
MAKE = {"open file", "circular list", "circular dict"}


class Refused(unittest.TestCase):
    def check(self, value, want):
        got = codec.encode_or_fail(value)
        self.assertIs(type(got), Failure)
        strict(codec.encode_failure(got))
        self.assertEqual(got.fields["type"], "NotSerialisable")
        message = got.fields["message"]
        self.assertTrue(message.startswith("result not serialisable: " + want), message)

    def test_each(self):
        for name, value, want in REFUSED:
            with self.subTest(name):
                if name == "lock":
                    value = [value[0]()]
                elif name in MAKE:
                    value = value()
                    self.addCleanup(getattr(value, "close", lambda: None))
                self.check(value, want)

    def test_coroutine(self):
        value = coroutine()
        self.check([value], "$[0]: coroutine")
        value.close()

    def test_future(self):
        loop = asyncio.new_event_loop()
        self.check([loop.create_future()], "$[0]: ")
        loop.close()

    def test_changed_meanwhile(self):
        class Growing(dict):
            def items(self):
                for key in dict.items(self):
                    self[len(self)] = 1
                    yield key
        self.check({"a": Growing(x=1)}, "$.a")

    def test_message_is_bounded(self):
        message = codec.encode_or_fail({"k" * 1000000: {1}}).fields["message"]
        self.assertLess(len(message), 100000)
