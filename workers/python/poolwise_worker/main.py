"""Start of a worker: hello, load, ready, then the loop of its kind."""

import _signal
import mmap
import os
import sys
from _thread import start_new_thread
from time import perf_counter_ns, process_time_ns

from . import channel as ch
from . import codec, output, task
from .failure import describe, printable

# Where the channel goes, out of the way of code that closes the small numbers.
HIGH_FD = 900
# Words of the page; docs/protocol.md describes it. A worker with one slot shows
# a whole chunk: the first item plus 1 (KEY), when it was started (SINCE), how
# many there are (COUNT), and the end of each that is done, in the strip. While
# COUNT is 0 there are slots in its place.
CONTROL, COUNT = 1, 2
PAGE_HEADER, SLOT_WORDS = 8, 2
KEY, SINCE = PAGE_HEADER, PAGE_HEADER + 1
STRIP = PAGE_HEADER + SLOT_WORDS
STRIP_WORDS = 4096


# Exit statuses that tell poolwise what happened.
CHANNEL_LOST = 87  # the socket is gone; most likely the task closed it


class Worker:
    """What the loops of every kind share."""

    def __init__(self, channel, page):
        self.channel = channel
        self.page = page  # a memoryview of 64-bit words
        self.strip = page[STRIP:STRIP + STRIP_WORDS]
        self.strip_bytes = self.strip.cast("B")
        self.views = [page, self.strip, self.strip_bytes]
        self.streams = []
        self.task = None
        self.capacity = 1  # the most slots that there may ever be
        self.forked = False
        self.threads = 0  # that are the worker's own and not the task's
        self.flusher = None
        self.measuring = False
        self.meter = None  # from the first time on that measuring was turned on
        self.current = lambda: None  # the (index, attempt) that this thread runs

    def start_thread(self, run, *args):
        start_new_thread(run, args)
        self.threads += 1

    def measure(self, spec):
        """Turn measuring on or off, as the body of a measure frame says."""
        if self.meter is None:
            from .measure import Meter
            self.meter = Meter(self)
        self.measuring = spec["on"]
        self.meter.turn(spec["on"], spec.get("knock_ns", 0))

    def fork_guard(self):
        """A process that the task forks must not speak as this worker.

        Its socket is replaced, and its next touch of the page raises: that is
        at the end of the item, if the child returns from the task.
        """
        def child():
            self.forked = True
            os.dup2(os.open(os.devnull, os.O_RDWR), self.channel.fd, inheritable=False)
            for stream in self.streams:
                stream.go_direct()
            for view in self.views:
                view.release()

        os.register_at_fork(after_in_child=child)

    def end_fork(self):
        """End a forked child that came back from the task."""
        os.write(2, b"poolwise: a process that the task had forked returned from the"
                    b" task function; it was ended there\n")
        os._exit(0)

    def flush_streams(self):
        """Queue text without a newline that has waited long enough."""
        for stream in self.streams:
            stream.release()

    def lost(self):
        """Leave: the socket is gone. poolwise either is too, or sees the status."""
        os._exit(CHANNEL_LOST)


def move(fd):
    """Move a descriptor to a high number, not inherited by child processes."""
    for target in (HIGH_FD + fd, 200 + fd):
        while _is_open(target):  # by an earlier move of a descriptor of this number
            target += 1
        try:
            os.dup2(fd, target, inheritable=False)
        except OSError:  # above the limit of open files
            continue
        os.close(fd)
        return target
    os.set_inheritable(fd, False)
    return fd


def _is_open(fd):
    try:
        os.fstat(fd)
    except OSError:
        return False
    return True


def _hello(channel):
    gil = getattr(sys, "_is_gil_enabled", lambda: True)()
    channel.send(ch.HELLO, codec.encode_object({
        "protocol": ch.PROTOCOL, "runtime": sys.implementation.name,
        "version": sys.version.split()[0], "executable": printable(sys.executable or ""),
        "gil": gil, "pid": os.getpid()}))


def _memory():
    """Return the resident memory in bytes, or 0 where it cannot be told."""
    try:
        with open("/proc/self/statm", "rb") as f:
            return int(f.read().split()[1]) * mmap.PAGESIZE
    except (OSError, ValueError):
        return 0


def _receive_load(channel):
    while True:
        kind, body = channel.receive()
        if kind == ch.LOAD:
            return codec.decode(str(body, "utf-8"))


def _load(spec):
    """Import the task; return it and whether it is a coroutine function."""
    module = task.load(spec["task"])
    func = task.find(module, spec["task"]["name"])
    coroutine = task.is_async(func)
    if spec["kind"] == "async" and not coroutine:
        raise task.CannotLoad("not-async", "%s is a plain def: async slots need an async def"
                              % spec["task"]["name"])
    if coroutine and spec["kind"] == "threads":
        raise task.CannotLoad("is-async", "%s is an async def: it runs in async slots, not in threads"
                              % spec["task"]["name"])
    if task.is_generator(func):
        raise task.CannotLoad("generator", "%s is a generator function: a value that is produced"
                              " bit by bit has no JSON form; return a list" % spec["task"]["name"])
    why = task.misfit(func)
    if why:
        raise task.CannotLoad("misfit", "%s cannot be called with the item as its one argument: %s"
                              % (spec["task"]["name"], why))
    if spec.get("init"):
        task.initialise(module, spec["init"])
    return func, coroutine


def _loops(spec, coroutine, path):
    """Return the serve function of each kind of slots that this worker may have.

    They are imported without the user's folder, and all of them now: later,
    threads of the user's could miss it.
    """
    with_user, sys.path = sys.path, path
    try:
        if coroutine:
            from . import aio
            return {spec["kind"]: aio.serve}
        from . import serial
        loops = {"serial": serial.serve, "processes": serial.serve}
        if spec["kind"] == "threads" or "capacity" in spec:
            from . import threads
            loops["threads"] = threads.serve
        return loops
    finally:
        sys.path = with_user


def _finish(worker):
    """Run what a normal exit runs, and leave without tearing modules down."""
    for name, call in (("threading", "_shutdown"), ("atexit", "_run_exitfuncs")):
        module = sys.modules.get(name)
        try:
            if module is not None:
                getattr(module, call)()
        except BaseException as e:
            sys.stderr.write(describe(e).fields.get("traceback", "") + "\n")
    for stream in worker.streams:
        stream.release()


def main(fd, page_fd):
    """Run this worker until poolwise drains it or goes away."""
    started = perf_counter_ns()
    # Its own process group keeps the terminal's Ctrl-C away; a handler keeps
    # away one that was sent by hand. It is not SIG_IGN, which a child process
    # of the task would inherit.
    _signal.signal(_signal.SIGINT, lambda *_: None)
    fd, page_fd = move(fd), move(page_fd)
    channel = ch.Channel(fd)
    page = mmap.mmap(page_fd, 0)
    worker = Worker(channel, memoryview(page).cast("Q"))
    try:
        _work(worker, started)
    except ch.Closed:
        worker.lost()
    os._exit(0)


def _work(worker, started):
    """Say hello, load the task, serve, say goodbye."""
    channel = worker.channel
    _hello(channel)
    spec = _receive_load(channel)
    worker.streams = output.install(channel, lambda: worker.current())
    worker.fork_guard()
    worker.capacity = max(spec["slots"], spec.get("capacity", 0))
    loading, path = perf_counter_ns(), sys.path[:]
    try:
        worker.task, coroutine = _load(spec)
    except task.CannotLoad as e:
        worker.flush_streams()
        channel.send(ch.CANNOT, codec.encode_object(e.fields))
        return
    loops = _loops(spec, coroutine, path)
    channel.send(ch.READY, codec.encode_object({
        "async": coroutine, "start_ns": loading - started, "import_ns": perf_counter_ns() - loading,
        "rss": _memory(), "cpu_ns": process_time_ns()}))
    if "measure" in spec:
        worker.measure(dict(spec["measure"], on=True))
    while spec is not None:
        spec = loops[spec["kind"]](worker, spec["slots"])
    # From here on poolwise waits for a few seconds only: what runs now is not
    # the work, and may go on for ever.
    channel.send(ch.BYE)
    _finish(worker)
    channel.flush()
