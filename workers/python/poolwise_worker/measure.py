"""What a worker counts while measuring is on: see Measuring in docs/protocol.md."""

import _thread
import os
import sys
from time import perf_counter_ns, process_time_ns

from . import codec, frames
from .channel import MEASURED
from .failure import describe
from .knock import Probe

# How long what the system says of this process counts as new: to ask it takes
# as long as a short item.
NEWS_NS = 10_000_000


class Meter:
    """The counters, which only grow; any thread may add to them."""

    def __init__(self, worker):
        self.worker = worker
        self.lock = _thread.allocate_lock()
        self.probe = Probe(worker)
        self.items = self.task_cpu = self.decoding = self.encoding = 0
        self.entered = 0  # slots only: items that have started
        self.open = {}  # slots only: starts of running items, by their marks
        self.spans = []  # starts and ends of items among which knocks may fall
        self.warnings = []
        self.folder = None
        self.main_thread = _thread.get_native_id()
        self.news, self.news_at = {}, 0

    def turn(self, on, knock_ns):
        """Begin to measure, with a knock in knock_ns on average, or stop."""
        self.probe.turn(knock_ns if on else 0)
        if self.folder is None:
            self.folder = _folder()
        self.news_at = 0
        self.report()

    # -- around items ----------------------------------------------------

    def decode(self, body):
        """Return the chunk in the body of a frame."""
        began = perf_counter_ns()
        chunk = frames.Chunk(body)
        with self.lock:
            self.decoding += perf_counter_ns() - began
        return chunk

    def encode(self, value):
        """Return a task's value as it may wait for its frame; never raise."""
        began = perf_counter_ns()
        try:
            value = frames.finished(value)
        except BaseException as e:  # a signal handler of the user's
            value = describe(e)
        with self.lock:
            self.encoding += perf_counter_ns() - began
        return value

    def post_results(self, channel, *columns):
        """Queue a result frame."""
        began = perf_counter_ns()
        frames.post_results(channel, *columns)
        with self.lock:
            self.encoding += perf_counter_ns() - began

    def ran(self, spans, cpu):
        """Count items of one slot: pairs of start and end, and their CPU time."""
        with self.lock:
            before = len(self.spans)
            self.spans.extend(spans)
            self.items += len(self.spans) - before
            self.task_cpu += cpu

    def enter(self, alone):
        """Say that an item starts; return the mark with which it leaves."""
        with self.lock:
            self.entered += 1
            mark = self.entered, alone
            self.open[mark] = perf_counter_ns()
            return mark

    def leave(self, mark, start, end, cpu, process):
        """Count an item of many slots; return its costs.

        What the process used is this item's only if no other ran beside it. cpu
        is -1 where the thread is shared, too, and may then be another's.
        """
        with self.lock:
            del self.open[mark]
            self.spans.append((start, end))
            self.items += 1
            if mark == (self.entered, True):
                self.task_cpu += process
            else:
                process = -1
                self.task_cpu += max(cpu, 0)
            return cpu, process

    def alone(self, mark):
        """Tell whether an item that is running has had no other beside it."""
        return mark == (self.entered, True)

    # -- warnings --------------------------------------------------------

    def warn(self, word):
        if word not in self.warnings:
            self.warnings.append(word)

    def look_at(self, exc):
        """Notice an exception that says that the task is not fit for threads."""
        if type(exc) is ValueError and str(exc).startswith("signal only works in main thread"):
            self.warn("signal")

    def look_around(self):
        """Notice that the working directory is another now."""
        if _folder() != self.folder:
            self.warn("chdir")

    # -- report ----------------------------------------------------------

    def report(self):
        """Queue a frame with all counters."""
        self.look_around()
        now = perf_counter_ns()
        with self.lock:
            until = min(self.open.values(), default=now)
            self.spans = self.probe.settle(self.spans, until)
            if now - self.news_at > NEWS_NS:
                self.news, self.news_at = self.ask(), now
            body = {
                "items": self.items, "cpu_ns": process_time_ns(), "task_cpu_ns": self.task_cpu,
                "decode_ns": self.decoding, "encode_ns": self.encoding, "knocks": self.probe.knocks,
                "held": self.probe.held, "disturbed": self.probe.disturbed,
                "switch_ns": int(sys.getswitchinterval() * 1e9)}
            body.update(self.news, warnings=self.warnings)
        self.worker.channel.post(MEASURED, codec.encode_object(body))

    def ask(self):
        """Return what the system knows of this process; 0 stands for unknown."""
        status = _read("/proc/self/status")
        queue = _read("/proc/self/task/%d/schedstat" % self.main_thread).split()
        return {"queue_ns": int(queue[1]) if len(queue) == 3 else 0, "queue_at_ns": perf_counter_ns(),
                "rss": _field(status, b"VmRSS:"), "peak_rss": _field(status, b"VmHWM:"),
                "threads": max(_thread._count() - self.worker.threads, 0)}


def _folder():
    """Return what tells the working directory from others."""
    try:
        s = os.stat(".")
    except OSError:
        return None
    return s.st_dev, s.st_ino


def _read(path):
    try:
        with open(path, "rb") as f:
            return f.read()
    except OSError:
        return b""


def _field(status, name):
    """Return a size of /proc/self/status, which is in KiB, in bytes."""
    _, _, rest = status.partition(name)
    return int(rest.split(None, 1)[0]) * 1024 if rest else 0
