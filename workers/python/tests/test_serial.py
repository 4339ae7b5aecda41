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
