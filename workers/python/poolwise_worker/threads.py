"""Many slots: threads that take items from one queue."""

import _thread
from _queue import SimpleQueue
from time import perf_counter_ns, process_time_ns, thread_time_ns

from . import codec
from .channel import CHUNK, DRAIN, MEASURE, SLOTS, Closed
from .failure import describe
from .flusher import Flusher
from .frames import Chunk, finished, post_rows
from .main import CONTROL, PAGE_HEADER, SLOT_WORDS
from .serial import STOP, careful


class Threads:
    """The queue of items, and the results that wait to leave.

    A thread is started when more items are in hand than there are threads, so
    that slots which are never used cost nothing.
    """

    def __init__(self, worker, slots):
        self.worker = worker
        self.slots = slots
        self.queue = SimpleQueue()  # (index, attempt, value, task), or None: go
        self.lock = _thread.allocate_lock()
        self.unfinished = 0  # items that were queued and have no result
        self.results = []  # rows of post_rows
        self.running = {}  # thread id -> (index, attempt)
        self.staying = 0  # threads that have not been told to go
        self.free = list(range(worker.capacity - 1, -1, -1))  # slots of the page
        self.gone = _thread.allocate_lock()  # held while there are threads
        worker.current = lambda: self.running.get(_thread.get_ident())
        self.flusher = Flusher.of(worker, self.turn)
        self.measure()

    def measure(self):
        """Run the items that start from now on as measuring is on or off."""
        self.step = self.run_measured if self.worker.measuring else self.run

    def put(self, chunk):
        """Queue the items of a chunk."""
        if not chunk.values:
            return
        task = careful(self.worker.task) if chunk.doubtful else self.worker.task
        attempts = chunk.attempts or [1] * len(chunk.values)
        with self.lock:
            self.unfinished += len(chunk.values)
            self.flusher.begin()
        for index, attempt, value in zip(chunk.indexes, attempts, chunk.values):
            self.queue.put((index, attempt, value, task))
        self.start()

    def start(self):
        """Start the threads that are wanted and missing."""
        while self.staying < min(self.slots, self.unfinished):
            with self.lock:
                try:
                    self.worker.start_thread(self.slot, self.free[-1])
                except RuntimeError:
                    if self.staying:
                        return  # the system allows no more: those there are will do
                    raise
                if len(self.free) == self.worker.capacity:
                    self.gone.acquire()
                self.free.pop()
            self.staying += 1

    def resize(self, slots):
        """Have another number of threads. Those too many go after the queue."""
        self.slots = slots
        while self.staying > slots:
            self.queue.put(None)
            self.staying -= 1
        self.start()

    def finish(self):
        """Wait until nothing is queued and all threads have ended."""
        self.resize(0)
        self.gone.acquire()
        self.gone.release()
        self.flush()

    def slot(self, number):
        """One slot: run items until told to go."""
        word = PAGE_HEADER + SLOT_WORDS * number
        try:
            while True:
                job = self.queue.get()
                if job is None:
                    break
                if self.worker.page[CONTROL] == STOP:
                    continue
                self.step(job, word)
        except Closed:
            self.worker.lost()
        except ValueError:
            if self.worker.forked:
                self.worker.end_fork()
            raise
        with self.lock:
            self.worker.threads -= 1
            self.free.append(number)
            if len(self.free) == self.worker.capacity:
                self.gone.release()

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
        self.answer((index, attempt, start, end, value, None))

    def run_measured(self, job, word):
        """Do as run does, and read three clocks on both sides of the item."""
        index, attempt, value, task = job
        page, me, meter = self.worker.page, _thread.get_ident(), self.worker.meter
        self.running[me] = index, attempt
        mark = meter.enter(len(self.running) == 1)
        process, cpu, start = process_time_ns(), thread_time_ns(), perf_counter_ns()
        page[word + 1] = start
        page[word] = index + 1
        try:
            value = task(value)
        except BaseException as e:
            meter.look_at(e)
            value = describe(e)
        end, cpu, process = perf_counter_ns(), thread_time_ns() - cpu, process_time_ns() - process
        if self.worker.forked:
            self.worker.end_fork()
        costs = meter.leave(mark, start, end, cpu, process)
        meter.look_around()
        if type(value) not in codec.SCALARS:
            value = meter.encode(value)
        page[word] = 0
        del self.running[me]
        self.answer((index, attempt, start, end, value, costs))

    def answer(self, row):
        with self.lock:
            self.results.append(row)
            self.unfinished -= 1
            last = not self.unfinished
            if last:
                self.flusher.end()
        if last or self.queue.empty():
            self.flush()

    def flush(self):
        """Send the results that are there."""
        with self.lock:
            results, self.results = self.results, []
            if results:
                self.worker.flush_streams()
                post_rows(self.worker, results)
        self.worker.channel.flush()

    def turn(self):
        """Send results that wait while the other slots are busy."""
        self.worker.flush_streams()
        self.flush()


def serve(worker, slots):
    """Run chunks until poolwise says drain; then return None.

    Return the body of a slots frame that asks for one slot and no threads.
    """
    threads = Threads(worker, slots)
    while True:
        kind, body = worker.channel.receive()
        if kind == CHUNK:
            threads.put(worker.meter.decode(body) if worker.measuring else Chunk(body))
        elif kind == DRAIN:
            threads.finish()
            return None
        elif kind == MEASURE:
            worker.measure(codec.decode(str(body, "utf-8")))
            threads.measure()
        elif kind == SLOTS:
            wanted = codec.decode(str(body, "utf-8"))
            if wanted["kind"] == "threads":
                threads.resize(min(wanted["slots"], worker.capacity))
            elif wanted["kind"] in ("serial", "processes"):
                threads.finish()
                return wanted
