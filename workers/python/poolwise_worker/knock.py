"""How often the task holds the GIL, found out without an extension.

A thread sleeps until a moment that was drawn before, and looks at the clock
when it is back. It is late when another thread held the GIL: to come back from
a sleep is to take it. The moments are arrivals of a Poisson process, so that
the share of those that found the GIL held is the share of time for which it was
held (Wolff, "Poisson arrivals see time averages", 1982). They keep to their
schedule whatever happens: one that comes while the thread still waits counts as
that wait does. Were the next moment drawn after a late return, busy times would
get fewer of them.
"""

import os
from _collections import deque
from time import perf_counter_ns, sleep

from .main import move
from .serial import GIL

# Later than this, in ns, is late; or than so many times what is usual here. A
# sleep ends 0.06 ms after its time on an idle machine, 0.1 on a busy one.
LATE_NS, LATE_TIMES = 300_000, 5
# Beyond this wait for a CPU, in ns, the system may be the reason as well.
DISTURBED_NS = 1_000_000
# Sleeps by which the usual lateness is found, in number and seconds.
TRIES, TRY = 5, 0.00005
# How many knocks are kept that may still count: one in 0.1 ms for a second, or
# ten seconds at one in 1 ms. Of a longer item the last ones are kept.
KEPT = 10_000

FREE, HELD, DISTURBED = 0, 1, 2


class Probe:
    """The thread that knocks, and what came of it."""

    def __init__(self, worker):
        self.worker = worker
        self.knocks = self.held = self.disturbed = 0
        self.found = deque(maxlen=KEPT)  # (moment, what was found), not yet counted
        self.seen = 0  # until when all knocks stand in found
        self.round = 0  # each turn begins another; a thread ends with its own

    def turn(self, mean_ns):
        """Knock once in mean_ns on average; not at all if that is 0."""
        self.round += 1
        if mean_ns and GIL:
            late = max(LATE_NS, LATE_TIMES * _usual_lateness())
            self.worker.start_thread(self.run, self.round, gaps(mean_ns), late)

    def run(self, this_round, draw, late):
        """Knock until the next turn."""
        queue = Queue()
        due = perf_counter_ns() + next(draw)
        while self.round == this_round:
            now = perf_counter_ns()
            if now < due:
                sleep((due - now) * 1e-9)
                now = perf_counter_ns()
            waited = queue.waited()
            what = HELD if now - due - waited > late else FREE
            if now - due > late and waited > DISTURBED_NS:
                what = DISTURBED
            while due <= now:
                self.found.append((due, what))
                due += next(draw)
            self.seen = now
        queue.close()
        self.worker.threads -= 1

    def settle(self, spans, until):
        """Count the knocks during items that have ended.

        spans are pairs of start and end. Items that are running have started at
        until or after it. Return the spans that later knocks may fall into.
        """
        until = min(until, self.seen)
        spans = sorted(spans)
        at, end = 0, 0  # end is the latest of spans[:at]
        while self.found and self.found[0][0] < until:
            moment, what = self.found.popleft()
            while at < len(spans) and spans[at][0] <= moment:
                end = max(end, spans[at][1])
                at += 1
            if moment > end:
                continue  # no item was running
            if what == DISTURBED:
                self.disturbed += 1
                continue
            self.knocks += 1
            self.held += what == HELD
        return [s for s in spans if s[1] > until]


class Queue:
    """How long this thread has waited for a CPU, where the system tells."""

    def __init__(self):
        self.before = 0
        try:
            self.fd = move(os.open("/proc/thread-self/schedstat", os.O_RDONLY))
        except OSError:
            self.fd = -1
        self.waited()

    def waited(self):
        """Return the ns since the last call; 0 where it is not known."""
        try:
            before, self.before = self.before, int(os.pread(self.fd, 64, 0).split()[1])
        except (OSError, ValueError, IndexError):
            return 0
        return self.before - before

    def close(self):
        if self.fd >= 0:
            os.close(self.fd)


def _usual_lateness():
    """Return how late a sleep is when nobody holds the GIL, in ns."""
    late = []
    for _ in range(TRIES):
        before = perf_counter_ns()
        sleep(TRY)
        late.append(perf_counter_ns() - before - int(TRY * 1e9))
    return sorted(late)[TRIES // 2]


def gaps(mean_ns):
    """Yield times between arrivals: exponential, of this mean, in ns.

    The numbers are those of a linear congruential generator (Knuth's MMIX), and
    (1 - u**h) / h is -ln(u) to within h: random and math would be looked for in
    the user's folder first.
    """
    state, h = perf_counter_ns() ^ os.getpid() << 32, 1e-6
    while True:
        state = (state * 6364136223846793005 + 1442695040888963407) & 0xFFFFFFFFFFFFFFFF
        u = ((state >> 11) + 1) / (1 << 53)
        yield int(mean_ns * (1 - u ** h) / h)
