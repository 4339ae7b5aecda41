"""One slot: the main thread runs one item after another."""

import _thread
import sys
from time import perf_counter_ns, process_time_ns, thread_time_ns

from . import codec
from .channel import CHUNK, DRAIN, MEASURE, SLOTS
from .failure import describe
from .flusher import Flusher
from .frames import Chunk, Undecodable, finished, post_results, post_single, single
from .main import CONTROL, COUNT, KEY, SINCE

STOP = 1  # the page's control word: start no further item
GIL = getattr(sys, "_is_gil_enabled", lambda: True)()


class Serial:
    """The state that the main thread and the flusher share."""

    def __init__(self, worker):
        self.worker = worker
        self.lock = _thread.allocate_lock()
        self.chunk = None
        self.one = None  # index and attempt of an item that is handed over alone
        self.work = iter(())
        self.values = []
        self.costs = None  # of each item: starts, CPU of the thread, of the process
        self.strip = worker.strip  # the ends of the chunk's items
        self.strip_bytes = worker.strip_bytes
        self.nought = bytes(len(self.strip_bytes))
        self.flushed = 0  # results of the chunk that have left
        self.start = 0  # when the next item to leave was started
        worker.current = self.current
        self.flusher = Flusher.of(worker, self.tick)

    def current(self):
        if not self.worker.page[KEY]:
            return None
        if self.one is not None:
            return self.one
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
        run = self.run_measured if self.worker.measuring else self.run_part
        for part in chunk.parts(len(self.strip)):
            if self.worker.page[CONTROL] != STOP:
                run(part)

    def run_one(self, index, value):
        """Do as run_part does with one item, of which the page shows nothing but that."""
        worker, page = self.worker, self.worker.page
        if page[CONTROL] == STOP:
            return
        page[COUNT] = 0
        self.one = index, 1
        self.flusher.begin()
        page[SINCE] = start = perf_counter_ns()
        page[KEY] = index + 1
        try:
            value = worker.task(value)
            if type(value) not in codec.SCALARS:
                value = finished(value)
        except BaseException as e:
            value = describe(e)
        end = perf_counter_ns()
        if worker.forked:
            worker.end_fork()
        worker.flush_streams()
        if not post_single(worker.channel, index, start, end, value):
            post_results(worker.channel, range(index, index + 1), None, start, (end,), [value])
        page[KEY] = 0
        self.one = None
        self.flusher.end()

    def begin(self, chunk):
        """Show items that follow one another in the page; return them numbered.

        The page tells which of them is running: the first one and how many
        there are, and in the strip the end of each that is done. So one write
        an item serves the page and the result frame.
        """
        page, n = self.worker.page, len(chunk.values)
        with self.lock:
            self.chunk, self.flushed = chunk, 0
            work = enumerate(chunk.values)  # its pairs are true, for all() in tick
            self.work = work = work if GIL else self.until_stopped(work)
            self.strip_bytes[:8 * n] = self.nought[:8 * n]
            page[COUNT] = n
            self.start = page[SINCE] = perf_counter_ns()
            page[KEY] = chunk.indexes[0] + 1
        self.flusher.begin()
        return work

    def end(self):
        self.flush()
        self.worker.page[KEY] = 0
        self.flusher.end()

    def run_part(self, chunk):
        """Run items that follow one another."""
        work, task = self.begin(chunk), self.worker.task
        if chunk.doubtful:
            task = careful(task)
        ends, put, scalars, clock = self.strip, self.values.append, codec.SCALARS, perf_counter_ns
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
        self.end()

    def run_measured(self, chunk):
        """Do as run_part does, and read three clocks on both sides of an item.

        It is a loop of its own, so that the hot one need not ask.
        """
        work, task, meter = self.begin(chunk), self.worker.task, self.worker.meter
        if chunk.doubtful:
            task = careful(task)
        ends, put, scalars = self.strip, self.values.append, codec.SCALARS
        starts, cpu, process = self.costs = [], [], []
        for i, value in work:
            process_before, cpu_before, start = process_time_ns(), thread_time_ns(), perf_counter_ns()
            try:
                value = task(value)
            except BaseException as e:
                value = describe(e)
            end, cpu_after, process_after = perf_counter_ns(), thread_time_ns(), process_time_ns()
            if self.worker.forked:
                self.worker.end_fork()
            if type(value) not in scalars:
                value = meter.encode(value)
            starts.append(start)
            cpu.append(cpu_after - cpu_before)
            process.append(process_after - process_before)
            ends[i] = end
            put(value)
        self.end()
        self.costs = None
        meter.ran(zip(starts, ends), sum(process))

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
            post, costs = post_results, None
            if self.costs is not None:
                start, *costs = (column[a:b] for column in self.costs)
                post = self.worker.meter.post_results
            post(self.worker.channel, chunk.indexes[a:b], attempts, start, ends.tobytes(), values, costs)

    def tick(self):
        """Send results that wait behind a slow item; obey a stop meanwhile."""
        if self.worker.page[CONTROL] == STOP:
            # Exhausting the iterator takes the items that have not been started
            # out of the main thread's hands: a single step under the GIL, which
            # keeps nothing, lest a collection of garbage give the GIL away.
            if GIL:
                all(self.work)
        self.flush()
        self.worker.flush_streams()
        self.worker.channel.flush()

    def leave(self):
        """Give the page back to slots: what stood in the strip is no item."""
        self.strip_bytes[:] = self.nought
        self.worker.page[COUNT] = 0


def careful(task):
    """Wrap the task for a chunk with items that could not be decoded."""
    def run(value):
        return value.failure if type(value) is Undecodable else task(value)

    return run


def serve(worker, _slots):
    """Run chunks until poolwise says drain; then return None.

    Return the body of a slots frame that asks for threads.
    """
    serial = Serial(worker)
    try:
        while True:
            kind, body = worker.channel.receive()
            if kind == CHUNK:
                if worker.measuring:
                    serial.run(worker.meter.decode(body))
                    worker.meter.report()
                    continue
                one = single(body)
                if one is None:
                    serial.run(Chunk(body))
                else:
                    serial.run_one(*one)
            elif kind == DRAIN:
                return None
            elif kind == MEASURE:
                worker.measure(codec.decode(str(body, "utf-8")))
            elif kind == SLOTS:
                wanted = codec.decode(str(body, "utf-8"))
                if wanted["kind"] == "threads":
                    serial.leave()
                    return wanted
    except ValueError:
        if worker.forked:
            worker.end_fork()
        raise
