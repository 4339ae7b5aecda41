"""One slot: the main thread runs one item after another."""

import _thread
import sys
from time import perf_counter_ns, sleep

from . import codec
from .channel import CHUNK, DRAIN, Closed
from .failure import describe
from .frames import Chunk, Undecodable, finished, post_results
from .main import CONTROL, COUNT, KEY, SINCE

# Finished results leave at the latest after this many seconds, also when a slow
# item follows them.
FLUSH_EVERY = 0.003
# The flusher sleeps for good after this many idle turns, until work comes.
IDLE_TURNS = 50
STOP = 1  # the page's control word: start no further item
GIL = getattr(sys, "_is_gil_enabled", lambda: True)()


class Serial:
    """The state that the main thread and the flusher share."""

    def __init__(self, worker):
        self.worker = worker
        self.lock = _thread.allocate_lock()
        self.chunk = None
        self.work = iter(())
        self.values = []
        self.strip = worker.strip  # the ends of the chunk's items
        self.strip_bytes = self.strip.cast("B")
        worker.views.append(self.strip_bytes)
        self.nought = bytes(len(self.strip_bytes))
        self.flushed = 0  # results of the chunk that have left
        self.start = 0  # when the next item to leave was started
        self.busy = False
        self.parked = None  # the lock on which the flusher waits for work
        worker.current = self.current
        _thread.start_new_thread(self.flusher, ())

    def current(self):
        if not self.worker.page[KEY]:
            return None
        chunk, ends = self.chunk, self.strip
        low, high = self.flushed, len(chunk.indexes)
        while low < high:  # the first item without an end
            middle = (low + high) // 2
            low, high = (middle + 1, high) if ends[middle] else (low, middle)
        if low == len(chunk.indexes):
            return None
        return chunk.indexes[low], chunk.attempts[low] if chunk.attempts is not None else 1

    def run(self, chunk):
        """Run the items of a chunk and queue their results."""
        for part in chunk.parts(len(self.strip)):
            if self.worker.page[CONTROL] != STOP:
                self.run_part(part)

    def run_part(self, chunk):
        """Run items that follow one another.

        The page tells which of them is running: the first one and how many
        there are, and in the strip the end of each that is done. So one write
        an item serves the page and the result frame.
        """
        task, page, scalars, clock = self.worker.task, self.worker.page, codec.SCALARS, perf_counter_ns
        if chunk.doubtful:
            task = careful(task)
        ends = self.strip
        with self.lock:
            self.chunk, self.flushed = chunk, 0
            put = self.values.append
            work = enumerate(chunk.values)  # its pairs are true, for all() in tick
            self.work = work = work if GIL else self.until_stopped(work)
            page[COUNT] = 0
            self.strip_bytes[:8 * len(chunk.values)] = self.nought[:8 * len(chunk.values)]
            self.start = page[SINCE] = clock()
            page[KEY] = chunk.indexes[0] + 1
            page[COUNT] = len(chunk.values)
        self.busy = True
        if self.parked is not None:
            self.unpark()
        # The hot loop. One reading of the clock serves as the end of an item
        # and the start of the next. The type of the last scalar is remembered:
        # comparing with it is quicker than looking it up.
        kind = str
        for i, value in work:
            try:
                value = task(value)
                if type(value) is not kind:
                    if type(value) in scalars:
                        kind = type(value)
                    else:
                        value = finished(value)
            except BaseException as e:
                value = describe(e)
            ends[i] = clock()
            put(value)
        self.flush()
        page[KEY] = 0
        self.busy = False

    def until_stopped(self, work):
        """Hand on the work, asking before each item whether to stop.

        Without a GIL an iterator serves one thread, so that the flusher cannot
        exhaust it.
        """
        page = self.worker.page
        for item in work:
            if page[CONTROL] == STOP:
                return
            yield item

    def flush(self):
        """Queue the results that are there."""
        with self.lock:
            n = len(self.values)
            if not n:
                return
            values = self.values[:n]
            del self.values[:n]
            a, b = self.flushed, self.flushed + n
            ends = self.strip[a:b]
            start, self.start, self.flushed = self.start, ends[n - 1], b
            chunk = self.chunk
            attempts = chunk.attempts[a:b] if chunk.attempts is not None else None
            self.worker.flush_streams()
            post_results(self.worker.channel, chunk.indexes[a:b], attempts, start, ends.tobytes(), values)

    def flusher(self):
        """Send results that wait behind a slow item; obey a stop meanwhile."""
        try:
            idle = 0
            while True:
                sleep(FLUSH_EVERY)
                if self.busy:
                    idle = 0
                    self.tick()
                else:
                    idle += 1
                if idle > IDLE_TURNS:
                    self.park()
                    idle = 0
        except Closed:
            self.worker.lost()

    def tick(self):
        if self.worker.page[CONTROL] == STOP:
            # Exhausting the iterator takes the items that have not been started
            # out of the main thread's hands: a single step under the GIL, which
            # keeps nothing, lest a collection of garbage give the GIL away.
            if GIL:
                all(self.work)
        self.flush()
        self.worker.flush_streams()
        self.worker.channel.flush()

    def park(self):
        gate = _thread.allocate_lock()
        gate.acquire()
        self.parked = gate
        if not self.busy:
            gate.acquire()
        self.parked = None

    def unpark(self):
        try:
            self.parked.release()
        except (RuntimeError, AttributeError):
            pass  # it woke by itself


def careful(task):
    """Wrap the task for a chunk with items that could not be decoded."""
    def run(value):
        return value.failure if type(value) is Undecodable else task(value)

    return run


def serve(worker, spec):
    """Run chunks until poolwise says drain."""
    serial = Serial(worker)
    try:
        while True:
            kind, body = worker.channel.receive()
            if kind == CHUNK:
                serial.run(Chunk(body))
            elif kind == DRAIN:
                return
    except ValueError:
        if worker.forked:
            worker.end_fork()
        raise
