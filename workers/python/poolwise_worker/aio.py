"""Many slots on one event loop: coroutines."""

import _thread
import asyncio
import contextvars
from collections import deque
from time import perf_counter_ns, process_time_ns, sleep, thread_time_ns

from . import codec
from .channel import CHUNK, DRAIN, MEASURE, SLOTS, Closed
from .codec import SCALARS
from .failure import describe
from .flusher import FLUSH_EVERY
from .frames import Chunk, finished, post_rows
from .main import CONTROL, PAGE_HEADER, SLOT_WORDS
from .serial import STOP, careful

SWEEP_EVERY = 0.05  # seconds

_current = contextvars.ContextVar("poolwise_item", default=None)


class Loop:
    """Reads the channel from the loop and keeps its slots filled."""

    def __init__(self, worker, slots):
        self.worker = worker
        self.loop = asyncio.new_event_loop()
        capacity = worker.capacity
        self.free = list(range(capacity - 1, -1, -1))
        self.spare = capacity - slots  # how many of the free are not to be used
        self.waiting = deque()  # (index, attempt, value, task)
        self.jobs = [None] * capacity  # what each slot has not answered yet
        self.tasks = [None] * capacity  # the loop itself holds them weakly
        self.starting = False
        self.results = []
        self.timer = None
        self.sweeper = None
        self.draining = False
        self.done = False
        worker.current = self.current
        self.printed = None  # released when text begins to wait for a newline
        for stream in worker.streams:
            stream.late = self.late

    def serve(self):
        """Run until drained, also past a task that stops the loop."""
        asyncio.set_event_loop(self.loop)
        self.loop.add_reader(self.worker.channel.fd, self.readable)
        self.received()  # what was read together with the load frame
        while not self.done:
            try:
                self.loop.run_forever()
            except OSError:
                self.worker.lost()  # the task closed what the loop polls
            if self.worker.forked:
                self.worker.end_fork()
        self.loop.remove_reader(self.worker.channel.fd)

    def current(self):
        job = _current.get()
        return job and job[:2]

    def readable(self):
        try:
            self.worker.channel.fill()
        except Closed:
            self.worker.lost()
        self.received()

    def received(self):
        channel = self.worker.channel
        while True:
            frame = channel.take()
            if frame is None:
                break
            kind, body = frame
            if kind == CHUNK:
                self.put(self.worker.meter.decode(body) if self.worker.measuring else Chunk(body))
            elif kind == DRAIN:
                self.draining = True
                self.waiting.clear()
            elif kind == MEASURE:
                self.worker.measure(codec.decode(str(body, "utf-8")))
            elif kind == SLOTS:
                slots = codec.decode(str(body, "utf-8"))["slots"]
                self.spare = self.worker.capacity - min(slots, self.worker.capacity)
        self.start()
        self.finish_if_drained()

    def put(self, chunk):
        task = careful_async(self.worker.task) if chunk.doubtful else self.worker.task
        attempts = chunk.attempts or [1] * len(chunk.values)
        self.waiting.extend(
            (index, attempt, value, task)
            for index, attempt, value in zip(chunk.indexes, attempts, chunk.values))

    def start(self):
        """Fill the free slots."""
        if self.starting:
            return  # an eager task has ended within create_task
        self.starting = True
        if self.worker.page[CONTROL] == STOP:
            self.waiting.clear()
        create = self.loop.create_task
        run = self.run_measured if self.worker.measuring else self.run
        while len(self.free) > self.spare and self.waiting:
            job, slot = self.waiting.popleft(), self.free.pop()
            self.jobs[slot] = job
            self.tasks[slot] = create(run(job, slot))
        self.starting = False
        if self.sweeper is None and len(self.free) < self.worker.capacity:
            self.sweeper = self.loop.call_later(SWEEP_EVERY, self.sweep)

    def sweep(self):
        """Answer for items that were cancelled before their first step: run has not seen them.

        A callback for each task would tell at once, and cost every item 3%.
        """
        self.sweeper = None
        for slot, job in enumerate(self.jobs):
            if job is not None and self.tasks[slot].done():
                now = perf_counter_ns()
                self.record(job, slot, now, now, describe(asyncio.CancelledError()))
        if self.sweeper is None and len(self.free) < self.worker.capacity:
            self.sweeper = self.loop.call_later(SWEEP_EVERY, self.sweep)

    async def run(self, job, slot):
        index, attempt, value, task = job
        word = PAGE_HEADER + SLOT_WORDS * slot
        page = self.worker.page
        _current.set(job)
        page[word + 1] = start = perf_counter_ns()
        page[word] = index + 1
        try:
            value = await task(value)
            if type(value) not in SCALARS:
                value = finished(value)
        except BaseException as e:
            value = describe(e)
        end = perf_counter_ns()
        if self.worker.forked:
            self.worker.end_fork()
        self.record(job, slot, start, end, value)

    async def run_measured(self, job, slot):
        """Do as run does, and read three clocks on both sides of the item.

        What the loop's thread used is an item's only if no other was in flight.
        """
        index, attempt, value, task = job
        word = PAGE_HEADER + SLOT_WORDS * slot
        page, meter = self.worker.page, self.worker.meter
        _current.set(job)
        mark = meter.enter(len(self.free) == self.worker.capacity - 1)
        process, cpu, start = process_time_ns(), thread_time_ns(), perf_counter_ns()
        page[word + 1] = start
        page[word] = index + 1
        try:
            value = await task(value)
        except BaseException as e:
            value = describe(e)
        end, cpu, process = perf_counter_ns(), thread_time_ns() - cpu, process_time_ns() - process
        if self.worker.forked:
            self.worker.end_fork()
        costs = meter.leave(mark, start, end, cpu if meter.alone(mark) else -1, process)
        if type(value) not in SCALARS:
            value = meter.encode(value)
        self.record(job, slot, start, end, value, costs)

    def record(self, job, slot, start, end, value, costs=None):
        self.worker.page[PAGE_HEADER + SLOT_WORDS * slot] = 0
        self.results.append((job[0], job[1], start, end, value, costs))
        self.jobs[slot] = None
        self.free.append(slot)
        if self.waiting:
            self.start()
        if self.timer is None:
            self.timer = self.loop.call_later(FLUSH_EVERY, self.flush)
        if self.draining:
            self.finish_if_drained()

    def flush(self):
        """Send the results that are there."""
        self.timer = None
        results, self.results = self.results, []
        try:
            self.worker.flush_streams()
            if results:
                post_rows(self.worker, results)
            self.worker.channel.flush()
        except Closed:
            self.worker.lost()

    def late(self):
        """Have text sent soon, also if no item ends or the loop is blocked."""
        if self.printed is None:
            self.printed = _thread.allocate_lock()
            self.worker.start_thread(self.flusher, self.printed)
            return
        try:
            self.printed.release()
        except RuntimeError:
            pass  # the flusher is about to look anyway

    def flusher(self, printed):
        try:
            while True:
                sleep(FLUSH_EVERY)
                self.worker.flush_streams()
                self.worker.channel.flush()
                printed.acquire()
        except Closed:
            self.worker.lost()

    def finish_if_drained(self):
        if self.draining and len(self.free) == self.worker.capacity:
            self.flush()
            self.done = True
            self.loop.stop()


def careful_async(task):
    """Wrap the task for a chunk with items that could not be decoded."""
    plain = careful(lambda value: None)

    async def run(value):
        refused = plain(value)
        return refused if refused is not None else await task(value)

    return run


def serve(worker, slots):
    """Run chunks until poolwise says drain."""
    Loop(worker, slots).serve()
