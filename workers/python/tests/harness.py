"""A worker in a process of its own, driven over its socket as poolwise does it."""

import json
import mmap
import os
import shutil
import socket
import struct
import subprocess
import sys
import tempfile
import textwrap
import unittest

from poolwise_worker import channel as ch

SHIM = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
START = ("import sys; sys.path[0] = sys.argv[1]\n"
         "from poolwise_worker.main import main\n"
         "del sys.path[0]; main(int(sys.argv[2]), int(sys.argv[3]))")
PATIENCE = 60  # seconds; only a test that fails waits for so long
STRIP = 4096


def chunk(texts, first=0, indexes=None, attempts=None):
    """Return the body of a chunk of JSON texts."""
    flags = (2 if indexes else 0) | (4 if attempts else 0)
    texts = [t.encode() for t in texts]
    return b"".join((
        struct.pack("<IIQ", len(texts), flags, first),
        struct.pack("<%dQ" % len(indexes or ()), *indexes or ()),
        struct.pack("<%dI" % len(attempts or ()), *attempts or ()),
        struct.pack("<%dQ" % len(texts), *map(len, texts)),
        b"[" + b",".join(texts) + b"]"))


class Answer:
    """One result as poolwise reads it."""

    def __init__(self, index, attempt, ok, start, cpu, process, end, text):
        self.index, self.attempt, self.ok, self.text = index, attempt, ok, text
        self.start, self.end = start, end
        self.cpu, self.process = cpu, process  # None without the columns of costs

    @property
    def value(self):
        return strict(self.text)

    def __repr__(self):
        return "<%d: %s>" % (self.index, self.text)


def strict(text):
    """Decode JSON as the standard has it: no NaN, no infinity."""
    def refuse(name):
        raise AssertionError(name + " is not JSON")
    return json.loads(text.decode("utf-8"), parse_constant=refuse)


def answers(body):
    """Return the results in the body of a result frame."""
    n, flags, first, start = struct.unpack_from("<IIQQ", body)
    at = 24

    def column(bit, code, otherwise):
        nonlocal at
        if bit and not flags & bit:
            return otherwise
        values = struct.unpack_from("<%d%s" % (n, code), body, at)
        at += struct.calcsize("<%d%s" % (n, code))
        return values

    indexes = column(1, "Q", range(first, first + n))
    attempts = column(2, "I", [1] * n)
    statuses = column(4, "B", [0] * n)
    starts = column(8, "Q", None)
    cpu = column(16, "q", [None] * n)
    process = column(16, "q", [None] * n)
    ends = column(0, "Q", None)
    starts = starts or (start,) + ends[:-1]
    lines = bytes(body[at:]).split(b"\n")
    assert len(lines) == n, (n, lines)
    return [Answer(*row) for row in zip(indexes, attempts, [s == 0 for s in statuses], starts, cpu, process, ends, lines)]


class Process:
    """A worker that has been told what to load."""

    def __init__(self, test, load, cwd=None, env=None):
        self.sock, theirs = socket.socketpair()
        self.sock.settimeout(PATIENCE)
        self.printed = tempfile.TemporaryFile()
        self.frames, self.outputs, self.answers = [], [], []
        self.measured = None  # the last frame of counters
        self._in = b""
        with tempfile.TemporaryFile() as page:
            page.truncate(8 * (8 + max(2 * max(load["slots"], load.get("capacity", 0)), 2 + STRIP)))
            self._map = mmap.mmap(page.fileno(), 0)
            self.page = memoryview(self._map).cast("Q")
            fds = (theirs.fileno(), os.dup(page.fileno()))
            self.process = subprocess.Popen(
                [sys.executable, "-u", "-c", START, SHIM] + [str(fd) for fd in fds], pass_fds=fds, cwd=cwd, env=env,
                stdin=subprocess.DEVNULL, stdout=self.printed, stderr=subprocess.STDOUT)
            os.close(fds[1])
        theirs.close()
        test.addCleanup(self.close)
        self.hello = json.loads(bytes(self.expect(ch.HELLO)))
        self.send(ch.LOAD, json.dumps(load).encode())

    def close(self):
        self.process.kill()
        self.process.wait()
        self.sock.close()
        self.printed.close()

    def send(self, kind, body=b""):
        self.sock.sendall(bytes((kind,)) + len(body).to_bytes(8, "little") + body)

    def submit(self, texts, **columns):
        self.send(ch.CHUNK, chunk(texts, **columns))

    def receive(self):
        """Return the next frame, or None at the end of file."""
        while True:
            end = 9 + int.from_bytes(self._in[1:9], "little")
            if len(self._in) >= max(end, 9):
                frame, self._in = self._in[:end], self._in[end:]
                return frame[0], frame[9:]
            data = self.sock.recv(1 << 18)
            if not data:
                return None
            self._in += data

    def step(self, may_end=False):
        frame = self.receive()
        if frame is None and may_end:
            return None
        if frame is None:
            raise AssertionError("the worker went: exit %s\n%s" % (self.process.wait(), self.text()))
        kind, body = frame
        if kind == ch.RESULT:
            self.answers += answers(body)
        elif kind == ch.MEASURED:
            self.measured = json.loads(bytes(body))
        elif kind == ch.OUTPUT:
            attempt, key = struct.unpack_from("<IQ", body, 4)
            self.outputs.append((body[0], key - 1, attempt, body[16:]))
        return kind, body

    def expect(self, kind):
        """Return the body of the next frame of this type."""
        while True:
            got, body = self.step()
            if got == kind:
                return body

    def collect(self, n):
        """Read until there are n results; return all by index."""
        while len(self.answers) < n:
            self.step()
        assert len(self.answers) == n, self.answers
        by_index = {a.index: a for a in self.answers}
        assert len(by_index) == n, "one item was answered twice: %s" % self.answers
        return by_index

    def run(self, texts):
        """Run items from index 0 on; return their values, None where one failed."""
        self.submit(texts)
        got = self.collect(len(texts))
        return [got[i].value for i in range(len(texts))]

    def wait_output(self, ending):
        while not self.written().endswith(ending):
            self.step()

    def written(self):
        return b"".join(o[3] for o in self.outputs)

    def drain(self):
        self.page[1] = 1
        self.send(ch.DRAIN)
        self.expect(ch.BYE)
        return self.leave()

    def leave(self):
        """Wait for the end of the process; return its exit status."""
        while self.step(may_end=True) is not None:
            pass
        return self.process.wait()

    def text(self):
        self.printed.seek(0)
        return self.printed.read().decode("utf-8", "replace")


class Case(unittest.TestCase):
    """A test with a folder of its own, and workers over files in it."""

    def setUp(self):
        self.folder = os.path.realpath(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)

    def write(self, name, source):
        path = os.path.join(self.folder, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8") as f:
            f.write(textwrap.dedent(source))
        return path

    def start(self, source, name="task", kind="serial", slots=1, filename="job.py", **load):
        """Start a worker over a file of this source and return it ready."""
        path = self.write(filename, source)
        worker = Process(self, dict(load, task={"file": path, "name": name}, kind=kind, slots=slots), self.folder)
        worker.ready = json.loads(bytes(worker.expect(ch.READY)))
        return worker

    def refused(self, task, kind="serial", **load):
        """Start a worker that cannot load its task; return what it says."""
        self.refusing = worker = Process(self, dict(load, task=task, kind=kind, slots=1), self.folder)
        cannot = json.loads(bytes(worker.expect(ch.CANNOT)))
        self.assertEqual(worker.leave(), 0)
        return cannot
