"""Items and values as strict JSON: docs/protocol.md lists every encoding.

Python's own encoder writes NaN, turns True and 1.5 into keys and lets the keys
1 and "1" collide. Here each of these is a named error, or has one documented
form. The quick way is taken by values that are plain already; all others go
through _Plain, which rebuilds them and names the path of what has no form.
"""

import _json
import os
import sys
from _thread import allocate_lock
from binascii import b2a_base64

from .failure import Failure, printable, type_name

SCALARS = frozenset((str, int, float, bool, type(None)))
INFINITY = float("inf")


class NotSerialisable(Exception):
    """Its text is the path and the type, such as "$.a[3]: set"."""


# -- items -------------------------------------------------------------------


class _Scanner:
    """The settings that the C scanner reads."""

    strict = True
    object_hook = None
    object_pairs_hook = None
    parse_float = float
    parse_int = int
    memo = {}

    @staticmethod
    def parse_constant(name):
        raise ValueError(name + " is not JSON")


scan = _json.make_scanner(_Scanner)


def decode(text):
    """Return the value of one JSON text."""
    try:
        return scan(text, 0)[0]
    except ValueError:
        with _AnyDigits():
            return scan(text, 0)[0]


class _AnyDigits:
    """Lifts CPython's limit on digits (3.11 on): integers have any size here.

    The limit is the process's: two threads must not put it back for each other.
    """

    lock = allocate_lock()

    def __enter__(self):
        self.lock.acquire()
        if hasattr(sys, "set_int_max_str_digits"):
            self.limit = sys.get_int_max_str_digits()
            sys.set_int_max_str_digits(0)

    def __exit__(self, *_):
        if hasattr(sys, "set_int_max_str_digits"):
            sys.set_int_max_str_digits(self.limit)
        self.lock.release()


def _new_lock():
    _AnyDigits.lock = allocate_lock()


os.register_at_fork(after_in_child=_new_lock)  # another thread may have held it


# -- values ------------------------------------------------------------------


def _refuse(value):
    raise TypeError


def _encoder(separator):
    return _json.make_encoder(
        None, _refuse, _json.encode_basestring, None, ":", separator,
        False, False, False)


# One value a line: JSON has no raw newline inside a scalar, so that a whole
# batch of scalars is encoded by one call and split by poolwise at newlines.
_encode_lines = _encoder("\n")
_encode = _encoder(",")


def encode_scalars(values):
    """Return the JSON texts of a list of exact scalars, one a line.

    Raises ValueError when one of them has no form: UnicodeEncodeError, which is
    a ValueError, for a lone surrogate.
    """
    return "".join(_encode_lines(values, 0))[1:-1].encode("utf-8")


def encode(value):
    """Return the JSON text of any value as bytes, or raise NotSerialisable."""
    try:
        if _is_plain(value):
            return "".join(_encode(value, 0)).encode("utf-8")
    except Exception:
        pass  # the long way names the spot, or manages
    builder = _Plain()
    try:
        plain = builder.convert(value, "$")
        with _AnyDigits():
            return "".join(_encode(plain, 0)).encode("utf-8")
    except NotSerialisable:
        raise
    except RecursionError:
        raise NotSerialisable("$: nested too deeply") from None
    except BaseException as e:
        raise NotSerialisable("%s: encoding it raised %s" % (builder.at, type_name(type(e)))) from None


def encode_or_fail(value):
    """Return the JSON text of a value, or the Failure that names its fault."""
    try:
        return encode(value)
    except NotSerialisable as e:
        return Failure("NotSerialisable", printable("result not serialisable: %s" % e))


def encode_failure(failure):
    """Return a Failure as JSON text; its texts are printable already."""
    return "".join(_encode(failure.fields, 0)).encode("utf-8")


def encode_object(fields):
    """Return the JSON text of a message of the worker."""
    return encode(fields)


def _is_plain(value):
    """Tell whether a value holds nothing but str-keyed dicts, lists and scalars.

    Keys that begin with $ are left to the long way, which escapes "$bytes".
    """
    kind = type(value)
    if kind is dict:
        for key, x in value.items():
            if type(key) is not str or "$" <= key < "%":
                return False
            if type(x) not in SCALARS and not _is_plain(x):
                return False
        return True
    if kind is list or kind is tuple:
        for x in value:
            if type(x) not in SCALARS and not _is_plain(x):
                return False
        return True
    return kind in SCALARS


class _Plain:
    """Rebuilds a value out of str-keyed dicts, lists and finite scalars."""

    def __init__(self):
        self.open = set()  # ids of the containers around the present spot
        self.at = "$"  # where an object's own code is being run

    # Types are compared with issubclass and never isinstance, which believes
    # what an object says of its __class__.

    def convert(self, v, path):
        kind, self.at = type(v), path
        if kind is bool or v is None or kind is int:
            return v
        if kind is str:
            return self.text(v, path)
        if kind is float:
            return self.number(v, path)
        convert = self.special(v)
        if convert is not None:
            return convert(v, path)
        if issubclass(kind, dict):
            return self.nested(self.object, v, path)
        if issubclass(kind, (list, tuple)):
            return self.nested(self.array, v, path)
        if issubclass(kind, str):
            return self.text(str.__str__(v), path)
        if issubclass(kind, int):
            return int.__add__(v, 0)
        if issubclass(kind, float):
            return self.number(float.__pos__(v), path)
        if issubclass(kind, (bytes, bytearray, memoryview)):
            return {"$bytes": b2a_base64(bytes(v), newline=False).decode("ascii")}
        raise NotSerialisable(path + ": " + _kind_name(v))

    def special(self, v):
        """Return the converter for types of modules that may not be loaded."""
        cls = type(v)
        if _is(v, "enum", "Enum"):
            return lambda v, path: self.nested(self.enum, v, path)
        if _is(v, "numpy", "generic"):
            return self.numpy
        if _is(v, "datetime", "date") or _is(v, "datetime", "time"):
            return lambda v, path: self.text(v.isoformat(), path)
        if _is(v, "decimal", "Decimal") or _is(v, "uuid", "UUID") or _is(v, "pathlib", "PurePath"):
            return lambda v, path: self.text(str(v), path)
        if type(getattr(cls, "__dataclass_fields__", None)) is dict:
            return lambda v, path: self.nested(self.dataclass, v, path)
        return None

    def text(self, v, path):
        try:
            str.encode(v, "utf-8")
        except UnicodeEncodeError:
            raise NotSerialisable(path + ": str with a lone surrogate") from None
        return str.__str__(v)

    def number(self, v, path):
        if v != v:
            raise NotSerialisable(path + ": NaN")
        if v in (INFINITY, -INFINITY):
            raise NotSerialisable(path + ": infinity")
        return v

    def nested(self, convert, v, path):
        if id(v) in self.open:
            raise NotSerialisable(path + ": circular reference")
        self.open.add(id(v))
        try:
            return convert(v, path)
        finally:
            self.open.discard(id(v))

    def array(self, v, path):
        return [self.convert(x, "%s[%d]" % (path, i)) for i, x in enumerate(v)]

    def object(self, v, path):
        out = {}
        for key, x in v.items():
            name = self.key(key, path)
            if name in out:
                raise NotSerialisable("%s: two keys are both %r as text" % (path, name))
            out[name] = self.convert(x, path + "." + name)
        return out

    def key(self, key, path):
        if issubclass(type(key), str):
            name = self.text(str.__str__(key), path + " (a key)")
            return "$" + name if name[:1] == "$" and name.lstrip("$") == "bytes" else name
        if issubclass(type(key), int) and type(key) is not bool:
            with _AnyDigits():
                return int.__repr__(int.__add__(key, 0))
        raise NotSerialisable("%s: key of type %s" % (path, _kind_name(key)))

    def enum(self, v, path):
        return self.convert(v.value, path)

    def numpy(self, v, path):
        plain = v.item()
        # Times in ns come out as bare numbers, which would say nothing of it.
        bare = type(plain) is int and (_is(v, "numpy", "datetime64") or _is(v, "numpy", "timedelta64"))
        if bare or type(plain) is type(v):
            raise NotSerialisable(path + ": " + _kind_name(v))
        return self.convert(plain, path)

    def dataclass(self, v, path):
        names = type(v).__dataclass_fields__
        return {n: self.convert(getattr(v, n), path + "." + n)
                for n, f in names.items() if f._field_type.name == "_FIELD"}


def _is(value, module, name):
    """Tell whether value is an instance of module.name, without importing it."""
    cls = getattr(sys.modules.get(module), name, None)
    return isinstance(cls, type) and issubclass(type(value), cls)


def _kind_name(value):
    name = type_name(type(value))
    return {"numpy.ndarray": "numpy.ndarray (return its .tolist())"}.get(name, name)
