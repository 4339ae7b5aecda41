"""One slot: the main thread runs one item after another."""

import _thread
from time import perf_counter_ns, sleep

from . import codec
from .channel import CHUNK, DRAIN, Closed
from .failure import describe
from .frames import Chunk, Undecodable, finished, post_results
from .main import PAGE_HEADER

# Finished results leave at the latest after this many seconds, also when a slow
# item follows them.
FLUSH_EVERY = 0.003
# The flusher sleeps for good after this many idle turns, until work comes.
IDLE_TURNS = 50
STOP = 1  # the page's control word: start no further item


class Serial:
    """The state that the main thread and the flusher share."""

    def __init__(self, worker):
        self.worker = worker
        self.lock = _thread.allocate_lock()
        self.chunk = None
        self.work = iter(())
        self.values, self.ends = [], []
        self.flushed = 0  # results of the chunk that have left
        self.start = 0  # when the next item to leave was started
        self.busy = False
        self.parked = None  # the lock on which the flusher waits for work
        worker.current = self.current
        _thread.start_new_thread(self.flusher, ())

    def current(self):
        key = self.worker.page[PAGE_HEADER]
        if not key:
            return None
        attempts = self.chunk.attempts
        if attempts is None:
            return key - 1, 1
        return key - 1, attempts[self.chunk.indexes.index(key - 1)]

    def run(self, chunk):
        """Run the items of a chunk and queue their results."""
        if self.worker.page[1] == STOP:
            return
        task, page, scalars, clock = self.worker.task, self.worker.page, codec.SCALARS, perf_counter_ns
        if chunk.doubtful:
            task = careful(task)
        item, since = PAGE_HEADER, PAGE_HEADER + 1
        with self.lock:
            self.chunk, self.flushed = chunk, 0
            self.start = t = clock()
            put, mark = self.values.append, self.ends.append
            self.work = work = zip(chunk.keys(), chunk.values)
        self.busy = True
        if self.parked is not None:
            self.unpark()
        # The hot loop: about 0.2 us an item. One reading of the clock serves as
        # the end of one item and the start of the next.
        for key, value in work:
            page[item] = key
            page[since] = t
            try:
                value = task(value)
                if type(value) not in scalars:
                    value = finished(value)
            except BaseException as e:
                value = describe(e)
            t = clock()
            put(value)
            mark(t)
        self.flush()
        page[item] = 0
        self.busy = False

    def flush(self):
        """Queue the results that are there."""
        with self.lock:
            n = len(self.ends)
            if not n:
                return
            values, ends = self.values[:n], self.ends[:n]
            del self.values[:n], self.ends[:n]
            a, b = self.flushed, self.flushed + n
            start, self.start, self.flushed = self.start, ends[-1], b
            chunk = self.chunk
            attempts = chunk.attempts[a:b] if chunk.attempts is not None else None
            self.worker.flush_streams()
            post_results(self.worker.channel, chunk.indexes[a:b], attempts, start, ends, values)

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
        if self.worker.page[1] == STOP:
            # Exhausting the iterator takes the items that have not been started
            # out of the main thread's hands: a single step under the GIL.
            list(self.work)
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
