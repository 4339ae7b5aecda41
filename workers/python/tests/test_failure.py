"""Exceptions as text: whatever they do, a failure comes of it."""

import sys
import tempfile
import unittest

from poolwise_worker import codec, failure

from .harness import strict


def caught(call, *args):
    """Return the fields of the failure of what the call raises."""
    try:
        call(*args)
    except BaseException as e:
        fields = failure.describe(e).fields
    strict(codec.encode_failure(failure.Failure("outer", "", cause=fields)))
    return fields


def throw(exc):
    raise exc


class TwoArguments(Exception):
    def __init__(self, a, b):
        super().__init__("%s and %s" % (a, b))


class Mute(Exception):
    def __str__(self):
        raise ValueError

    __repr__ = __reduce__ = __str__


class Fake(str):
    def __len__(self):
        raise ValueError

    __getitem__ = encode = __len__


class Odd(Exception):
    def __str__(self):
        return Fake("odd")


class Hostile(Exception):
    def __getattribute__(self, name):
        raise RuntimeError(name)


class Twisted(Exception):
    @property
    def exceptions(self):
        return [self, self, Twisted2(), Twisted2()]


class Twisted2(Twisted):
    pass


class Kinds(unittest.TestCase):
    def check(self, exc, kind, message):
        fields = caught(throw, exc)
        self.assertEqual((fields["type"].split(".")[-1], fields["message"]), (kind, message))

    def test_each(self):
        for exc, kind, message in [
                (TwoArguments(1, 2), "TwoArguments", "1 and 2"), (Odd(), "Odd", "odd"), (ValueError(), "ValueError", ""),
                (Mute(), "Mute", "(no message: its __str__ raised ValueError)"),
                (SystemExit(), "SystemExit", "the task called sys.exit()"),
                (SystemExit(0), "SystemExit", "the task called sys.exit(0)"),
                (SystemExit(3), "SystemExit", "the task called sys.exit(3)"),
                (SystemExit("text"), "SystemExit", "the task called sys.exit('text')"),
                (SystemExit(Mute()), "SystemExit", "the task called sys.exit(...)"),
                (KeyboardInterrupt(), "KeyboardInterrupt", ""), (GeneratorExit(), "GeneratorExit", ""),
                (BaseException("b"), "BaseException", "b"), (KeyError("k"), "KeyError", "'k'"),
                (ValueError("a\udc97b"), "ValueError", "a\\udc97b"),
                (UnicodeDecodeError("utf-8", b"\x97", 0, 1, "bad"), "UnicodeDecodeError",
                 "'utf-8' codec can't decode byte 0x97 in position 0: bad")]:
            with self.subTest(kind + message):
                self.check(exc, kind, message)

    def test_hostile(self):
        self.assertTrue(caught(throw, Hostile())["type"].endswith("Hostile"))

    def test_class_without_a_name(self):
        class Meta(type):
            def __getattribute__(cls, name):
                raise RuntimeError(name)
        self.assertEqual(caught(throw, Meta("X", (Exception,), {})())["type"], "unknown")

    def test_name_of_a_class(self):
        class Inner(Exception):
            pass
        self.assertEqual(caught(throw, Inner())["type"], __name__ + ".Kinds.test_name_of_a_class.<locals>.Inner")

    def test_huge_message_is_cut(self):
        fields = caught(throw, ValueError("x" * 10**7))
        self.assertTrue(fields["message"].endswith("... (%d more characters)" % (10**7 - (64 << 10))))
        self.assertLess(len(codec.encode_failure(failure.Failure("", "", cause=fields))), 500 << 10)


class Chains(unittest.TestCase):
    def kinds(self, fields):
        out = []
        while fields:
            out.append(fields["type"])
            fields = fields.get("cause")
        return out

    def test_cause_and_context(self):
        def task(explicit):
            try:
                try:
                    1 / 0
                except ZeroDivisionError:
                    int("x")
            except ValueError as e:
                if explicit:
                    raise KeyError("k") from e
                raise KeyError("k")
        for explicit in (True, False):
            self.assertEqual(self.kinds(caught(task, explicit)), ["KeyError", "ValueError", "ZeroDivisionError"])

    def test_from_none(self):
        def task():
            try:
                1 / 0
            except ZeroDivisionError:
                raise KeyError("k") from None
        self.assertEqual(self.kinds(caught(task)), ["KeyError"])

    def test_loop(self):
        a, b = ValueError("a"), KeyError("b")
        a.__cause__, b.__cause__ = b, a
        self.assertEqual(self.kinds(caught(throw, a)), ["ValueError", "KeyError"])

    def test_long_chain_ends(self):
        exc = None
        for i in range(100):
            new = ValueError(i)
            new.__cause__, exc = exc, new
        self.assertEqual(len(self.kinds(caught(throw, exc))), failure.CAUSES)

    def test_notes(self):
        exc = ValueError("v")
        exc.__notes__ = ["first", "sec\udc97ond", Mute()]
        self.assertTrue(caught(throw, exc)["traceback"].endswith(
            "ValueError: v\nfirst\nsec\\udc97ond\n(no text: its __str__ raised ValueError)"))

    @unittest.skipIf(sys.version_info < (3, 11), "groups came with 3.11")
    def test_group(self):
        group = ExceptionGroup("both", [ValueError("a"), ExceptionGroup("inner", [KeyError("b")])])  # noqa: F821
        text = caught(throw, group)["traceback"]
        for line in ("ExceptionGroup: both (2 sub-exceptions)", "\n  1: ValueError: a", "\n  2: ExceptionGroup: inner",
                     "\n    1: KeyError: 'b'"):
            self.assertIn(line, text)

    @unittest.skipIf(sys.version_info < (3, 11), "groups came with 3.11")
    def test_wide_and_deep_group_is_bounded(self):
        group = ValueError("x" * 50000)
        for _ in range(5):
            group = ExceptionGroup("g", [group] * 20)  # noqa: F821
        self.assertLess(len(caught(throw, group)["traceback"]), 300 << 10)

    def test_group_that_holds_itself(self):
        self.assertIn("Twisted2", caught(throw, Twisted())["traceback"])


class Tracebacks(unittest.TestCase):
    def test_layout(self):
        text = caught(throw, ValueError("v"))["traceback"]
        lines = text.split("\n")
        self.assertEqual(lines[0], "Traceback (most recent call last):")
        self.assertRegex(lines[-3], r'^  File ".*test_failure\.py", line \d+, in throw$')
        self.assertEqual(lines[-2:], ["    raise exc", "ValueError: v"])

    def test_deep_recursion_is_shortened(self):
        limit = sys.getrecursionlimit()

        def down(n):
            down(n + 1)
        fields = caught(down, 0)
        self.assertEqual((fields["type"], sys.getrecursionlimit()), ("RecursionError", limit))
        self.assertLess(len(fields["traceback"].split("\n")), 150)
        self.assertIn("frames left out]", fields["traceback"])

    def test_missing_source(self):
        scope = {}
        exec(compile("def f():\n    1 / 0", "/no/such\udc97/file.py", "exec"), scope)
        self.assertIn('File "/no/such\\udc97/file.py", line 2, in f\n', caught(scope["f"])["traceback"])

    def test_source_that_is_not_utf8(self):
        with tempfile.NamedTemporaryFile(suffix=".py") as f:
            f.write(b"# -*- coding: latin-1 -*-\ndef f():\n    raise ValueError('\xe4')\n")
            f.flush()
            scope = {}
            with open(f.name, "rb") as source:
                exec(compile(source.read(), f.name, "exec"), scope)
            fields = caught(scope["f"])
        self.assertEqual(fields["message"], "\xe4")
        self.assertIn("raise ValueError('\ufffd')", fields["traceback"])

    def test_open_replaced(self):
        import builtins
        before = builtins.open
        self.addCleanup(setattr, builtins, "open", before)
        builtins.open = lambda *a, **k: throw(TypeError())
        self.assertIn("ValueError: v", caught(throw, ValueError("v"))["traceback"])

    def test_syntax_error_shows_its_line(self):
        with tempfile.NamedTemporaryFile("w", suffix=".py") as f:
            f.write("x = 1\ny = (\n")
            f.flush()
            text = caught(compile, "x = 1\ny = = 2\n", f.name, "exec")["traceback"]
            self.assertIn('  File "%s", line 2\n    y = (\nSyntaxError: ' % f.name, text)
