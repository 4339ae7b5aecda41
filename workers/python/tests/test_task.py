"""Finding the task, and saying why it cannot be run."""

import os

from .harness import Case

ONE = "def task(x):\n    return [__name__, x]\n"


class Files(Case):
    def test_names(self):
        for filename, module in [("job.py", "job"), ("my-script.py", "my-script"), ("random.py", "random_task"),
                                 ("json.py", "json_task"), ("logging.py", "logging_task"), ("task", "task"),
                                 ("sys.py", "sys_task"), ("aé世.py", "aé世")]:
            with self.subTest(filename):
                worker = self.start(ONE, filename=filename)
                self.assertEqual(worker.run(["1"]), [[module, 1]])
                self.assertEqual(worker.drain(), 0)

    def test_stdlib_names_beside_it(self):
        for name in ("json", "random", "types", "asyncio", "queue", "traceback", "threading", "base64"):
            self.write(name + ".py", "raise ImportError('the user has %s.py')\n" % name)
        for kind in ("serial", "threads"):
            worker = self.start("def task(x):\n    return x[0]\n", kind=kind)
            worker.submit(['["a"]', "[]", '["\\udc97"]'])
            got = worker.collect(3)
            self.assertEqual((got[0].value, got[1].value["type"]), ("a", "IndexError"))
            self.assertEqual(got[2].value["type"], "NotSerialisable")

    def test_async_beside_a_users_selectors(self):
        self.write("selectors.py", "raise ImportError\n")
        worker = self.start("async def task(x):\n    return x\n", kind="async", slots=2)
        self.assertEqual(worker.run(["1", "2", "3"]), [1, 2, 3])

    def test_neighbours_argv_and_folder(self):
        self.write("helper.py", "VALUE = 5\n")
        worker = self.start("""
            import helper, os, sys
            def task(x):
                return [helper.VALUE, sys.argv, sys.path[0], os.getcwd()]
            """)
        self.assertEqual(worker.run(["1"]), [[5, [os.path.join(self.folder, "job.py")], self.folder, self.folder]])

    def test_edit_within_a_second_is_seen(self):
        for version in (1, 2):
            path = self.write("job.py", "def task(x):\n    return %d\n" % version)
            os.utime(path, (1700000000, 1700000000))
            worker = self.start("def task(x):\n    return %d\n" % version)
            self.assertEqual(worker.run(["0"]), [version])
        self.assertNotIn("__pycache__", os.listdir(self.folder))

    def test_init(self):
        worker = self.start("""
            state = []
            def setup():
                state.append(1)
            def task(x):
                return state
            """, init="setup")
        self.assertEqual(worker.run(["0", "0"]), [[1], [1]])


class Callables(Case):
    SOURCE = """
        import functools
        class Tool:
            def __init__(self): self.n = 10
            def __call__(self, x): return x + self.n
            @classmethod
            def made(cls, x): return [cls.__name__, x]
            @staticmethod
            def plain(x): return x
            def bound(self, x): return x * self.n
            class Inner:
                @staticmethod
                def deep(x): return {"deep": x}
        tool = Tool()
        partial = functools.partial(pow, 2)
        twice = functools.partial(functools.partial(max, 5), 3)
        anonymous = lambda x: -x
        @functools.lru_cache(None)
        def cached(x): return x
        """

    def test_each(self):
        for name, want in [("tool", 13), ("Tool.made", ["Tool", 3]), ("Tool.plain", 3), ("tool.bound", 30),
                           ("Tool.Inner.deep", {"deep": 3}), ("partial", 8), ("twice", 5), ("anonymous", -3), ("cached", 3)]:
            with self.subTest(name):
                self.assertEqual(self.start(self.SOURCE, name=name).run(["3"]), [want])

    ASYNC = """
        import functools
        async def plain(x): return x
        class Tool:
            async def __call__(self, x): return x
            async def method(self, x): return x
            @staticmethod
            async def static(x): return x
        tool = Tool()
        partial = functools.partial(plain)
        of_object = functools.partial(Tool())
        """

    def test_async_is_told(self):
        for name in ("plain", "tool", "tool.method", "Tool.static", "partial", "of_object"):
            with self.subTest(name):
                worker = self.start(self.ASYNC, name=name, kind="async")
                self.assertTrue(worker.ready["async"])
                self.assertEqual(worker.run(["3"]), [3])


class Modules(Case):
    def test_package(self):
        self.write("pkg/__init__.py", "")
        self.write("pkg/mod.py", "from . import other\ndef task(x):\n    return [__name__, other.y, x]\n")
        self.write("pkg/other.py", "y = 2\n")
        from .harness import Process, ch
        worker = Process(self, {"task": {"module": "pkg.mod", "name": "task"}, "kind": "serial", "slots": 1}, self.folder)
        worker.expect(ch.READY)
        self.assertEqual(worker.run(["1"]), [["pkg.mod", 2, 1]])

    def test_standard_library(self):
        from .harness import Process, ch
        worker = Process(self, {"task": {"module": "math", "name": "sqrt"}, "kind": "serial", "slots": 1})
        worker.expect(ch.READY)
        worker.submit(["4", "-1"])
        got = worker.collect(2)
        self.assertEqual((got[0].value, got[1].value["type"]), (2.0, "ValueError"))


class Refusals(Case):
    def refuse(self, source, code, reason, name="task", kind="serial", **load):
        path = self.write("job.py", source)
        cannot = self.refused({"file": path, "name": name}, kind, **load)
        self.assertEqual(cannot["code"], code, cannot)
        self.assertIn(reason, cannot["reason"])
        return cannot

    def test_codes(self):
        for code, reason, name, kind, source in [
                ("no-function", "job.py has no task; it has other, third", "task", "serial",
                 "from os.path import join\ndef third(): pass\ndef other(): pass\ndef _own(): pass\n"),
                ("no-function", "has no other.inner", "other.inner", "serial", "def other(): pass\n"),
                ("not-callable", "is not a function: it is of type int", "task", "serial", "task = 5\n"),
                ("not-async", "task is a plain def", "task", "async", "def task(x): pass\n"),
                ("is-async", "task is an async def", "task", "threads", "async def task(x): pass\n"),
                ("generator", "is a generator function", "task", "serial", "def task(x): yield x\n"),
                ("misfit", "needs 2 arguments", "task", "serial", "def task(a, b): pass\n"),
                ("misfit", "takes no argument", "task", "serial", "def task(): pass\n"),
                ("misfit", "needs 1 named argument", "task", "serial", "def task(x, *, y): pass\n"),
                ("misfit", "needs 2 arguments", "C.task", "serial", "class C:\n    def task(self, x): pass\n"),
                ("generator", "is a generator function", "task", "serial", "async def task(x): yield x\n"),
                ("generator", "is a generator function", "task", "serial",
                 "import functools\ndef f(x): yield x\ntask = functools.partial(f)\n"),
                ("import", "called sys.exit(3)", "task", "serial", "import sys\nsys.exit(3)\n"),
                ("import", "called sys.exit()", "task", "serial", "import sys\nsys.exit()\n"),
                ("import", "name the task as package.module:function", "task", "serial", "from . import other\ndef task(x): pass\n"),
                ("import", "raised KeyboardInterrupt", "task", "serial", "raise KeyboardInterrupt\n"),
                ("import", "looking up task", "task", "serial", "def __getattr__(n):\n    raise RuntimeError(n)\n")]:
            with self.subTest(reason + " " + kind):
                self.refuse(source, code, reason, name, kind)

    def test_exception_at_import(self):
        self.write("helper.py", "1 / 0\n")
        cannot = self.refuse("import helper\n", "import", "raised ZeroDivisionError")
        text = cannot["failure"]["traceback"]
        self.assertTrue(text.startswith('Traceback (most recent call last):\n  File "%s/job.py", line 1, in <module>'
                                        % self.folder), text)
        self.assertIn("helper.py", text)
        self.assertNotIn("frozen importlib", text.split("helper.py")[-1])

    def test_syntax_error(self):
        cannot = self.refuse("x = 1\ny = = 2\n", "import", "raised SyntaxError")
        self.assertTrue(cannot["failure"]["traceback"].startswith(
            '  File "%s/job.py", line 2\n    y = = 2\nSyntaxError: invalid syntax' % self.folder), cannot)

    def test_missing(self):
        cannot = self.refused({"file": self.folder + "/none.py", "name": "task"})
        self.assertEqual((cannot["code"], cannot["reason"]), ("not-found", "there is no file %s/none.py" % self.folder))
        for name in ("no_such_module", "no_such.module", "os.no_such"):
            cannot = self.refused({"module": name, "name": "task"})
            self.assertEqual((cannot["code"], cannot["reason"]),
                             ("not-found", "there is no module %s" % name.split(".m")[0]))
        self.assertEqual(cannot["path"][0], "")

    def test_module_that_lacks_another(self):
        self.write("mine.py", "import no_such_module\n")
        cannot = self.refused({"module": "mine", "name": "task"})
        self.assertEqual((cannot["code"], cannot["failure"]["type"]), ("import", "ModuleNotFoundError"))

    def test_module_that_takes_itself_away(self):
        self.write("mine.py", "import sys\ndel sys.modules[__name__]\n")
        self.assertEqual(self.refused({"module": "mine", "name": "task"})["code"], "import")

    def test_init(self):
        source = "def task(x): pass\ndef bad(): raise ValueError('no licence')\nasync def later(): pass\n"
        cannot = self.refuse(source, "import", "bad (--init) raised ValueError", init="bad")
        self.assertEqual(cannot["failure"]["message"], "no licence")
        self.refuse(source, "is-async", "later (--init) is an async def", init="later")
        self.refuse(source, "no-function", "has no none", init="none")

    def test_names_that_are_not_utf8(self):
        self.refuse("import sys\nsys.path.append('/x\\udc97')\nsys.path.append(5)\nraise ValueError('\\udc97')\n",
                    "import", "raised ValueError")

    def test_text_before_the_end_is_told(self):
        self.refuse("import sys\nsys.stdout.write('half a line')\nraise ValueError\n", "import", "raised ValueError")
        self.assertEqual(self.refusing.outputs, [(1, -1, 0, b"half a line")])
