"""A thread that sends what waits, while the threads of the task are busy."""

import _thread
from time import sleep

from .channel import Closed

# Finished results leave at the latest after this many seconds, also when a slow
# item follows them.
FLUSH_EVERY = 0.003
# The flusher sleeps for good after this many idle turns, until work comes.
IDLE_TURNS = 50


class Flusher:
    """Calls turn every FLUSH_EVERY between begin and end; costs nothing else."""

    def __init__(self, worker, turn):
        self.worker = worker
        self.turn = turn
        self.busy = False
        self.parked = None  # the lock on which the thread waits for work
        worker.start_thread(self.run)

    @classmethod
    def of(cls, worker, turn):
        """Return the worker's flusher, which takes these turns from now on."""
        if worker.flusher is None:
            worker.flusher = cls(worker, turn)
        worker.flusher.turn = turn
        return worker.flusher

    def begin(self):
        self.busy = True
        if self.parked is not None:
            self.unpark()

    def end(self):
        self.busy = False

    def run(self):
        try:
            idle = 0
            while True:
                sleep(FLUSH_EVERY)
                if self.busy:
                    idle = 0
                    self.turn()
                else:
                    idle += 1
                if idle > IDLE_TURNS:
                    self.park()
                    idle = 0
        except Closed:
            self.worker.lost()

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
