"""The loops of each kind: every item is answered exactly once, whatever it does."""

import json
import os
import signal

from .harness import Case, ch

KINDS = (("serial", 1, ""), ("threads", 3, ""), ("async", 3, "a"))
# Each task stands for its async twin, too.
BOTH = """
async def atask(x):
    return task(x)
"""


class Everywhere(Case):
    def each(self, source, check):
        for kind, slots, prefix in KINDS:
            with self.subTest(kind):
                check(self.start(source + BOTH, name=prefix + "task", kind=kind, slots=slots))

    def test_all_that_can_be_raised(self):
        source = """
import asyncio, sys
KINDS = [SystemExit(0), SystemExit(3), BaseException("b"), GeneratorExit(), KeyboardInterrupt(), asyncio.CancelledError(),
         StopIteration(1), MemoryError()]
def task(x):
    if x < len(KINDS):
        raise KINDS[x]
    return x
"""
        def check(worker):
            worker.submit(["%d" % i for i in range(9)])
            got = worker.collect(9)
            self.assertEqual([got[i].ok for i in range(9)], [False] * 8 + [True], got)
            names = [got[i].value["type"].split(".")[-1] for i in range(6)]
            self.assertEqual(names, ["SystemExit", "SystemExit", "BaseException", "GeneratorExit", "KeyboardInterrupt",
                                     "CancelledError"])
            self.assertEqual(worker.drain(), 0)
        self.each(source, check)

    def test_chunks_of_every_shape(self):
        def check(worker):
            worker.submit([])
            worker.submit(["1", "2"], first=10)
            worker.send(33, b"a frame of the future")
            worker.submit(["3", "4"], indexes=[99, 5])
            worker.submit(["5"], first=7, attempts=[3])
            worker.submit(["%d" % i for i in range(9000)], first=1000)  # longer than the strip
            got = worker.collect(9005)
            self.assertEqual([got[i].value for i in (10, 11, 99, 5, 7)], [1, 2, 3, 4, 5])
            self.assertEqual((got[7].attempt, got[10].attempt), (3, 1))
            self.assertEqual([got[1000 + i].value for i in range(9000)], list(range(9000)))
            self.assertTrue(all(a.start <= a.end for a in worker.answers))
            self.assertEqual(worker.drain(), 0)
        self.each("def task(x):\n    return x\n", check)

    def test_undecodable_item_among_others(self):
        deep = "[" * 100000 + "]" * 100000
        def check(worker):
            worker.submit(['"a"', deep, '"bc"', "1e999", "[1,]", "7"])
            got = worker.collect(6)
            self.assertEqual([got[i].value for i in (0, 2)], [1, 2])
            self.assertEqual([got[i].value["type"] for i in (1, 4)], ["InvalidInput"] * 2)
        self.each("def task(x):\n    return len(str(x))\n", check)

    def test_digits(self):
        def check(worker):
            worker.submit(["9" * 5000, "1"])
            got = worker.collect(2)
            self.assertEqual((got[0].text, got[1].value), (b"1" + b"0" * 5000, 2))
        self.each("def task(x):\n    return x + 1\n", check)

    def test_child_that_returns_from_the_task(self):
        source = """
import os
def task(x):
    child = os.fork()
    if not child:
        print("child")
        return [{1, 2}, "from the child"][x:]
    os.waitpid(child, 0)
    return "parent"
"""
        def check(worker):
            self.assertEqual(worker.run(["0", "1", "1"]), ["parent"] * 3)
            self.assertEqual(worker.drain(), 0)
            self.assertEqual(worker.text().count("child\n"), 3)
            self.assertEqual(worker.text().count("returned from the task function"), 3)
            self.assertEqual(worker.outputs, [])
        self.each(source, check)

    def test_multiprocessing_fork(self):
        source = """
import multiprocessing
def inner(x):
    print("inner", x)
def task(x):
    p = multiprocessing.get_context("fork").Process(target=inner, args=(x,))
    p.start()
    p.join()
    return p.exitcode
"""
        def check(worker):
            self.assertEqual(worker.run(["0", "1"]), [0, 0])
            self.assertEqual(sorted(worker.text().split("\n")), ["", "inner 0", "inner 1"])
            self.assertEqual(worker.drain(), 0)
        self.each(source, check)

    def test_closed_descriptors(self):
        def check(worker):
            worker.submit(["0"])
            self.assertEqual(worker.leave(), 87)
        self.each("import os\ndef task(x):\n    os.closerange(0, 1024)\n", check)

    def test_end_of_file(self):
        def check(worker):
            worker.run(["0"])
            worker.sock.shutdown(1)
            self.assertEqual(worker.leave(), 87)
        self.each("def task(x):\n    pass\n", check)

    def test_interrupt_is_nothing_to_it(self):
        def check(worker):
            self.assertEqual(worker.run(["0", "1"]), [0, 1])
        self.each("import os, signal\ndef task(x):\n    os.kill(os.getpid(), signal.SIGINT)\n    return x\n", check)

    def test_handler_that_prints(self):
        source = """
import signal, sys
def handler(*_):
    sys.stdout.write("tick\\n")
    signal.setitimer(signal.ITIMER_REAL, 0.0003)
signal.signal(signal.SIGALRM, handler)
signal.setitimer(signal.ITIMER_REAL, 0.0003)
def task(x):
    print("item", x)
    return x
"""
        def check(worker):
            n = 3000
            self.assertEqual(worker.run(["%d" % i for i in range(n)]), list(range(n)))
            self.assertEqual(worker.drain(), 0)
            text = worker.written()
            self.assertEqual(text.count(b"item"), n)
            self.assertGreater(text.count(b"tick"), 0)
        self.each(source, check)

    def test_at_exit(self):
        source = "import atexit, sys\natexit.register(print, 'left')\ndef task(x):\n    return x\n"
        def check(worker):
            worker.run(["0"])
            self.assertEqual(worker.drain(), 0)
            self.assertEqual(worker.written(), b"left\n")
        self.each(source, check)


class Stopping(Case):
    """After the page says stop, nothing is started that had not been."""

    SOURCE = """
        import sys
        def task(x):
            if x:
                with open(x) as f:
                    for line in f:
                        sys.stdout.write(line.strip())
            return x
        async def atask(x):
            import asyncio
            if x:
                await asyncio.get_running_loop().run_in_executor(None, task, x)
            return x
        """

    def test_in_the_midst(self):
        for kind, slots, prefix in KINDS:
            with self.subTest(kind):
                worker = self.start(self.SOURCE, name=prefix + "task", kind=kind, slots=slots)
                gates = [os.path.join(self.folder, "%s-%d" % (kind, i)) for i in range(slots)]
                for gate in gates:
                    os.mkfifo(gate)
                worker.submit([json.dumps(g) for g in gates] + ['""'] * 1000)
                opened = [open(g, "w", buffering=1) for g in gates]  # each waits for its item to run
                worker.page[1] = 1
                self.turn_twice(worker, opened[0])
                for f in opened:
                    f.close()
                worker.collect(slots)
                self.assertEqual(worker.drain(), 0)
                self.assertEqual(sorted(a.index for a in worker.answers), list(range(slots)))

    def turn_twice(self, worker, gate):
        """Wait until the flusher has begun a turn since: it sends half a line once a turn."""
        for text in ("a", "ab"):
            gate.write(text[-1] + "\n")
            worker.wait_output(text.encode())


class Coroutines(Case):
    def start_async(self, source, slots=3):
        return self.start("import asyncio\n" + source, kind="async", slots=slots)

    def test_cancels_itself(self):
        worker = self.start_async("""
async def task(x):
    if x:
        asyncio.current_task().cancel()
    if x == 2:
        await asyncio.sleep(0)
    return x
""")
        worker.submit(["0", "1", "2"] * 20)
        got = worker.collect(60)
        self.assertEqual([got[i].value for i in (0, 1)], [0, 1])
        self.assertEqual(got[2].value["type"].split(".")[-1], "CancelledError")
        self.assertEqual(worker.drain(), 0)
        self.assertEqual(len(worker.answers), 60)

    def test_cancels_all(self):
        worker = self.start_async("""
async def task(x):
    if x == 5:
        for t in asyncio.all_tasks():
            t.cancel()
    await asyncio.sleep(0 if x == 5 else 0.001)
    return x
""", slots=20)
        worker.submit(["%d" % i for i in range(100)])
        worker.collect(100)
        self.assertEqual(worker.drain(), 0)

    def test_stops_the_loop(self):
        worker = self.start_async("""
async def task(x):
    if x % 10 == 0:
        asyncio.get_running_loop().stop()
    await asyncio.sleep(0)
    return x
""")
        self.assertEqual(worker.run(["%d" % i for i in range(50)]), list(range(50)))
        self.assertEqual(worker.drain(), 0)

    def test_loop_misused(self):
        worker = self.start_async("""
async def task(x):
    loop = asyncio.get_running_loop()
    return [loop.close, lambda: loop.run_until_complete(asyncio.sleep(0)), lambda: asyncio.run(asyncio.sleep(0))][x]()
""")
        self.assertEqual([v["type"] for v in worker.run(["0", "1", "2"])], ["RuntimeError"] * 3)
        self.assertEqual(worker.drain(), 0)

    def test_background_task(self):
        worker = self.start_async("""
made = []
async def back(x):
    print("back", x)
    raise ValueError("nobody waits")
async def task(x):
    made.append(asyncio.ensure_future(back(x)))
    await asyncio.wait([made[-1]])
    return x
""")
        self.assertEqual(worker.run(["7"]), [7])
        self.assertEqual(worker.outputs, [(1, 0, 1, b"back 7\n")])

    def test_eager_tasks(self):
        worker = self.start_async("""
async def task(x):
    if hasattr(asyncio, "eager_task_factory"):
        asyncio.get_running_loop().set_task_factory(asyncio.eager_task_factory)
    return x
""")
        n = 5000
        self.assertEqual(worker.run(["%d" % i for i in range(n)]), list(range(n)))
        self.assertEqual(worker.drain(), 0)

    def test_serial_runs_coroutines_too(self):
        worker = self.start("async def task(x):\n    return x\n", kind="serial")
        self.assertEqual(worker.run(["1", "2"]), [1, 2])


class Dying(Case):
    def test_page_names_the_item(self):
        source = """
import os, signal
def task(x):
    if x == 5:
        os.kill(os.getpid(), signal.SIGKILL)
    return x
"""
        worker = self.start(source)
        worker.submit(["%d" % i for i in range(10)], first=100)
        self.assertEqual(worker.leave(), -signal.SIGKILL)
        page = worker.page
        self.assertEqual((page[8], page[2]), (101, 10))
        ends = list(page[10:21])
        self.assertEqual([e > 0 for e in ends], [True] * 5 + [False] * 6)
        self.assertEqual(sorted(ends[:5]), ends[:5])
        self.assertGreater(ends[0], page[9])

    def test_slots_of_threads(self):
        worker = self.start("import os, signal\ndef task(x):\n    os.kill(os.getpid(), signal.SIGKILL)\n",
                            kind="threads", slots=3)
        worker.submit(["0"], first=41)
        self.assertEqual(worker.leave(), -signal.SIGKILL)
        self.assertEqual([worker.page[8 + 2 * i] for i in range(3)].count(42), 1)
