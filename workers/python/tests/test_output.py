"""What tasks print, by each of the ways there are."""

import io
import unittest

from poolwise_worker.output import ItemStream

from .harness import Case

PRELUDE = """
import contextlib, io, logging, os, subprocess, sys, threading, warnings
"""


class Printed(Case):
    def printed(self, body, kind="serial", slots=1, texts=("0",), before=""):
        """Run a task with this body; return the process and what its items wrote."""
        source = PRELUDE + before + "\ndef task(x):\n" + "".join("    %s\n" % line for line in body.split("\n"))
        worker = self.start(source, kind=kind, slots=slots)
        worker.run(list(texts))
        worker.drain()
        return worker

    def test_frames(self):
        for name, body, want in [
                ("print", "print('x')", [(1, b"x\n")]), ("no newline", "sys.stdout.write('half')", [(1, b"half")]),
                ("stderr", "print('e', file=sys.stderr)", [(2, b"e\n")]), ("buffer", "sys.stdout.buffer.write(b'\\x97\\n')", [(1, b"\x97\n")]),
                ("buffer of others", "sys.stdout.buffer.write(bytearray(b'a\\n')); sys.stdout.buffer.write(memoryview(b'b\\n'))",
                 [(1, b"a\n"), (1, b"b\n")]),
                ("two", "print('a'); print('b')", [(1, b"a\n"), (1, b"b\n")]),
                ("with end", "print('a', end=''); print('b')", [(1, b"ab\n")]),
                ("writelines", "sys.stdout.writelines(['a', 'b\\n'])", [(1, b"ab\n")]),
                ("utf-8", "sys.stdout.reconfigure(encoding='utf-8'); print('\\u00e9\\u4e16')", [(1, "é世\n".encode())]),
                ("reconfigured", "sys.stdout.reconfigure(encoding='ascii', errors='replace'); print('\\u4e16')", [(1, b"?\n")]),
                ("surrogate", "sys.stdout.reconfigure(errors='surrogateescape'); print('\\udc97')", [(1, b"\x97\n")]),
                ("redirected", "with contextlib.redirect_stdout(sys.stderr): print('r')", [(2, b"r\n")]),
                ("wrapped anew", "io.TextIOWrapper(sys.stdout.detach(), write_through=True).write('w\\n')", [(1, b"w\n")]),
                ("thread", "t = threading.Thread(target=print, args=('t',)); t.start(); t.join()", [(1, b"t\n")]),
                ("large", "print('y' * 100000)", [(1, b"y" * 100000 + b"\n")]),
                ("like a frame", "sys.stdout.buffer.write(bytes([69, 0, 0, 0, 0, 0, 0, 0, 0]) + b'\\n')", [(1, b"E" + bytes(8) + b"\n")])]:
            with self.subTest(name):
                worker = self.printed(body)
                streams = [stream for stream, _ in want]
                self.assertEqual({o[:3] for o in worker.outputs}, {(s, 0, 1) for s in streams})
                self.assertEqual(worker.written(), b"".join(text for _, text in want))

    def test_logging_and_warnings(self):
        worker = self.printed("logging.info('at %s', x); warnings.warn('careful %s' % x)", texts=["0", "1"],
                              before="logging.basicConfig(level=logging.INFO, format='%(levelname)s %(message)s')")
        by_item = {}
        for stream, index, _, data in worker.outputs:
            self.assertEqual(stream, 2)
            by_item[index] = by_item.get(index, b"") + data
        for i in (0, 1):
            self.assertIn(b"INFO at %d\n" % i, by_item[i])
            self.assertIn(b"UserWarning: careful %d\n" % i, by_item[i])

    def test_handlers_do_not_multiply(self):
        worker = self.printed("logging.basicConfig(level=logging.INFO)\nlogging.info('once')\nreturn len(logging.root.handlers)",
                              texts=["0"] * 100)
        self.assertEqual({a.value for a in worker.answers}, {1})
        self.assertEqual(worker.written(), b"INFO:root:once\n" * 100)

    def test_descriptors(self):
        for body in ("os.write(1, b'raw\\n')", "subprocess.run(['echo', 'raw'], stdout=sys.stdout, check=True)",
                     "subprocess.run(['echo', 'raw'], check=True)", "os.system('echo raw')",
                     "print('raw', file=sys.__stdout__)", "open(1, 'w', closefd=False).write('raw\\n')"):
            with self.subTest(body):
                worker = self.printed(body)
                self.assertEqual((worker.text(), worker.outputs), ("raw\n", []))

    def test_standard_input_is_at_its_end(self):
        worker = self.start("def task(x):\n    return input()\n")
        self.assertEqual(worker.run(["0"])[0]["type"], "EOFError")

    def test_what_streams_say_of_themselves(self):
        worker = self.start(PRELUDE + """
def task(x):
    s = sys.stdout
    return [s.isatty(), s.fileno(), s.writable(), s.readable(), s.seekable(), s.name, s.mode, sys.stderr.fileno(), s.closed]
""")
        self.assertEqual(worker.run(["0"]), [[False, 1, True, False, False, "<stdout>", "w", 2, False]])

    def test_import_prints_for_no_item(self):
        worker = self.start("print('import')\ndef task(x):\n    print('item')\n")
        worker.run(["0"])
        self.assertEqual(worker.outputs, [(1, -1, 0, b"import\n"), (1, 0, 1, b"item\n")])

    def test_attempt_is_told(self):
        worker = self.start("def task(x):\n    print(x)\n")
        worker.submit(["1", "2"], indexes=[7, 3], attempts=[1, 4])
        worker.collect(2)
        self.assertEqual(worker.outputs, [(1, 7, 1, b"1\n"), (1, 3, 4, b"2\n")])

    def test_print_before_the_result(self):
        worker = self.start("import sys\ndef task(x):\n    sys.stdout.write('half')\n")
        worker.run(["0"])
        self.assertEqual(worker.written(), b"half")

    def test_slots_keep_their_text_apart(self):
        body = "for i in range(50):\n    sys.stdout.write('%s ' % x); sys.stdout.write('%s\\n' % x)"
        worker = self.printed(body, kind="threads", slots=4, texts=["%d" % i for i in range(16)])
        text = {}
        for _, index, _, data in worker.outputs:
            text[index] = text.get(index, b"") + data
        self.assertEqual(text, {i: b"%d %d\n" % (i, i) * 50 for i in range(16)})

    def test_half_a_line_of_a_task_that_waits(self):
        source = """
            import sys
            def task(x):
                sys.stdout.write("progress")
                with open(x) as f:
                    f.read()
            async def atask(x):
                import asyncio
                sys.stdout.write("progress")
                await asyncio.get_running_loop().run_in_executor(None, lambda: open(x).close())
            """
        import json
        import os
        for kind, name, slots in (("serial", "task", 1), ("threads", "task", 2), ("async", "atask", 2)):
            with self.subTest(kind):
                gate = os.path.join(self.folder, kind)
                os.mkfifo(gate)
                worker = self.start(source, name=name, kind=kind, slots=slots)
                worker.submit([json.dumps(gate)])
                worker.wait_output(b"progress")
                self.assertEqual(worker.answers, [])
                open(gate, "w").close()
                worker.collect(1)


class Raw(unittest.TestCase):
    def test_refuses_what_files_refuse(self):
        stream = ItemStream(None, 1, lambda: None)
        for wrong in ("text", 5, None):
            self.assertRaises(TypeError, stream.write, wrong)

    def test_strict_errors_reach_the_task(self):
        stream = io.TextIOWrapper(ItemStream(None, 1, lambda: None), encoding="ascii", write_through=True)
        self.assertRaises(UnicodeEncodeError, stream.write, "é")
        stream.detach()
