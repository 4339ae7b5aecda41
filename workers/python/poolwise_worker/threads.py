"""Many slots: threads that take items from one queue."""

import _thread
from _queue import Empty, SimpleQueue
from time import perf_counter_ns, sleep

from . import codec
from .channel import CHUNK, DRAIN, Closed
from .failure import describe
from .frames import Chunk, finished, post_results
from .main import CONTROL, PAGE_HEADER, SLOT_WORDS
from .serial import FLUSH_EVERY, STOP, careful


class Threads:
    """The queue of items, and the results that wait to leave."""

    def __init__(self, worker, slots):
        self.worker = worker
        self.slots = slots
        self.queue = SimpleQueue()  # (index, attempt, value, task), or None: go
        self.lock = _thread.allocate_lock()
        self.results = []  # (index, attempt, start, end, value)
        self.running = {}  # thread id -> (index, attempt)
        self.alive = slots
        self.ended = _thread.allocate_lock()  # released by the last slot
        self.ended.acquire()
        worker.current = lambda: self.running.get(_thread.get_ident())
        for slot in range(slots):
            _thread.start_new_thread(self.slot, (slot,))
        _thread.start_new_thread(self.flusher, ())

    def put(self, chunk):
        """Queue the items of a chunk."""
        task = careful(self.worker.task) if chunk.doubtful else self.worker.task
        attempts = chunk.attempts or [1] * len(chunk.values)
        for index, attempt, value in zip(chunk.indexes, attempts, chunk.values):
            self.queue.put((index, attempt, value, task))

    def drain(self):
        """Take back what has not been started, and wait for the slots to end."""
        try:
            while True:
                self.queue.get_nowait()
        except Empty:
            pass
        for _ in range(self.slots):
            self.queue.put(None)
        self.ended.acquire()
        self.flush()

    def slot(self, number):
        """One slot: run items until told to go."""
        try:
            while True:
                job = self.queue.get()
                if job is None:
                    break
                if self.worker.page[CONTROL] == STOP:
                    continue
                self.run(job, PAGE_HEADER + SLOT_WORDS * number)
        except Closed:
            self.worker.lost()
        except ValueError:
            if self.worker.forked:
                self.worker.end_fork()
            raise
        with self.lock:
            self.alive -= 1
            if not self.alive:
                self.ended.release()

    def run(self, job, word):
        index, attempt, value, task = job
        page, me = self.worker.page, _thread.get_ident()
        self.running[me] = index, attempt
        start = perf_counter_ns()
        page[word + 1] = start
        page[word] = index + 1
        try:
            value = task(value)
            if type(value) not in codec.SCALARS:
                value = finished(value)
        except BaseException as e:
            value = describe(e)
        end = perf_counter_ns()
        page[word] = 0
        del self.running[me]
        with self.lock:
            self.results.append((index, attempt, start, end, value))
        if self.queue.empty():
            self.flush()

    def flush(self):
        """Send the results that are there."""
        with self.lock:
            results, self.results = self.results, []
            if results:
                indexes, attempts, starts, ends, values = zip(*results)
                self.worker.flush_streams()
                post_results(self.worker.channel, indexes, attempts, starts, ends, values)
        self.worker.channel.flush()

    def flusher(self):
        """Send results that wait while the other slots are busy."""
        try:
            while True:
                sleep(FLUSH_EVERY)
                self.worker.flush_streams()
                self.flush()
        except Closed:
            self.worker.lost()


def serve(worker, spec):
    """Run chunks until poolwise says drain."""
    threads = Threads(worker, spec["slots"])
    while True:
        kind, body = worker.channel.receive()
        if kind == CHUNK:
            threads.put(Chunk(body))
        elif kind == DRAIN:
            threads.drain()
            return
