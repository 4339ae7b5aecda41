"""The loop of one slot, in this process: parts, stopping, what the page shows."""

import os
import unittest

from poolwise_worker import channel as ch
from poolwise_worker import frames, main, serial

from .harness import STRIP, answers, chunk


class Case(unittest.TestCase):
    def setUp(self):
        null = os.open(os.devnull, os.O_RDWR)
        self.addCleanup(os.close, null)
        self.page = memoryview(bytearray(8 * (10 + STRIP))).cast("Q")
        channel = ch.Channel(null)
        self.posted = []
        channel.post = lambda kind, *parts: self.posted.extend(answers(b"".join(parts)))
        self.worker = main.Worker(channel, self.page)
        self.serial = serial.Serial(self.worker)

    def run_items(self, n, task):
        self.worker.task = task
        self.serial.run(frames.Chunk(memoryview(chunk(["%d" % i for i in range(n)], first=100))))
        return [a.value for a in self.posted]


class Parts(Case):
    def test_sizes(self):
        many = frames.Chunk(memoryview(chunk(["%d" % i for i in range(10)], attempts=list(range(1, 11)))))
        self.assertEqual([list(p.indexes) for p in many.parts(4)], [[0, 1, 2, 3], [4, 5, 6, 7], [8, 9]])
        self.assertEqual([list(p.attempts) for p in many.parts(4)], [[1, 2, 3, 4], [5, 6, 7, 8], [9, 10]])
        self.assertEqual(len(many.parts(10)), 1)
        self.assertEqual(len(frames.Chunk(memoryview(chunk([]))).parts(4)), 0)

    def test_longer_than_the_strip(self):
        self.assertEqual(self.run_items(2 * STRIP + 1, lambda x: x), list(range(2 * STRIP + 1)))
        self.assertEqual(sorted(a.index for a in self.posted), list(range(100, 101 + 2 * STRIP)))

    def test_page_and_tag_while_it_runs(self):
        seen = []

        def task(x):
            seen.append((self.page[main.KEY] - 1, self.page[main.COUNT], self.serial.current()))
        self.run_items(3, task)
        self.assertEqual(seen, [(100, 3, (100 + i, 1)) for i in range(3)])
        self.assertEqual((self.page[main.KEY], self.serial.current()), (0, None))

    def test_times_follow_one_another(self):
        self.run_items(100, lambda x: x)
        for before, after in zip(self.posted, self.posted[1:]):
            self.assertEqual(before.end, after.start)


class Alone(Case):
    """An item that is handed over alone takes a shorter way."""

    def one(self, task, text="5", **columns):
        self.worker.task = task
        body = memoryview(chunk([text], first=100, **columns))
        one = frames.single(body)
        if one is not None:
            self.worker.channel.post_whole = lambda frame: self.posted.extend(answers(frame[9:]))
            self.serial.run_one(*one)
        return one

    def test_values(self):
        for text, task, want in (
                ("5", lambda x: x + 1, 6), ('"\\udcff"', len, 1), ("[1]", lambda x: {"a": x}, {"a": [1]}), ("null", lambda x: x, None)):
            self.assertIsNotNone(self.one(task, text))
            self.assertEqual((self.posted[-1].index, self.posted[-1].value), (100, want))
            self.assertGreaterEqual(self.posted[-1].end, self.posted[-1].start)
        self.assertEqual((self.page[main.KEY], self.serial.current()), (0, None))

    def test_failures(self):
        for task in (lambda x: 1 / 0, lambda x: {1, 2}, lambda x: float("nan"), lambda x: "\ud800", lambda x: 10 ** 5000 and [object()]):
            self.one(task)
            self.assertFalse(self.posted[-1].ok)

    def test_others_go_the_long_way(self):
        for columns in ({"attempts": [2]}, {"indexes": [7]}):
            self.assertIsNone(self.one(None, **columns))
        self.assertIsNone(self.one(None, "[" * 100000 + "]" * 100000))
        self.assertIsNone(frames.single(memoryview(chunk([]))))
        self.assertIsNone(frames.single(memoryview(chunk(["1", "2"]))))

    def test_page_and_tag_while_it_runs(self):
        self.run_items(3, lambda x: x)  # what was in the strip is not shown
        self.one(lambda x: (self.page[main.KEY] - 1, self.page[main.COUNT], self.serial.current()))
        self.assertEqual(self.posted[-1].value, [100, 0, [100, 1]])

    def test_stopped(self):
        self.page[main.CONTROL] = serial.STOP
        self.one(lambda x: x)
        self.assertEqual(self.posted, [])


class Stop(Case):
    def stop_at(self, n, look):
        def task(x):
            if x == n:
                self.page[main.CONTROL] = serial.STOP
                look()
            return x
        return task

    def test_the_flusher_takes_what_has_not_been_started(self):
        self.assertEqual(self.run_items(1000, self.stop_at(3, self.serial.tick)), [0, 1, 2, 3])
        self.assertEqual(self.run_items(5, lambda x: x), [0, 1, 2, 3])

    def test_without_a_gil(self):
        self.addCleanup(setattr, serial, "GIL", serial.GIL)
        serial.GIL = False
        self.assertEqual(self.run_items(1000, self.stop_at(3, self.serial.tick)), [0, 1, 2, 3])
