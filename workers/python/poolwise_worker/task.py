"""Finding the task: file.py:func or pkg.mod:func."""

import _frozen_importlib as bootstrap
import _frozen_importlib_external as external
import os
import sys

from .failure import describe, exit_argument, printable, type_name

STDLIB = getattr(sys, "stdlib_module_names", frozenset(sys.builtin_module_names))
STDLIB_FOLDER = os.path.dirname(os.__file__)  # STDLIB is short before 3.10


class CannotLoad(Exception):
    """The task cannot be run here; fields is the body of the cannot frame."""

    def __init__(self, code, reason, exc=None):
        super().__init__(reason)
        self.fields = {"code": code, "reason": printable(reason),
                       "interpreter": printable(sys.executable or ""), "version": sys.version.split()[0],
                       "path": [printable(p) for p in sys.path if isinstance(p, str)]}
        if exc is not None:
            self.fields["failure"] = describe(exc).fields


def load(spec):
    """Import the module that the spec names and return it."""
    if "file" in spec:
        return _load_file(spec["file"])
    return _load_module(spec["module"])


def _load_file(path):
    """Import a file as a module, its folder first in sys.path."""
    folder, name = os.path.split(path)
    if not getattr(sys.flags, "safe_path", False):
        sys.path.insert(0, folder)
    sys.argv = [path]
    stem = name[:-3] if name.endswith(".py") else name
    # A name that is taken would hide a module that others import.
    if stem in sys.modules or _is_stdlib(stem):
        stem += "_task"
    loader = _ScriptLoader(stem, path)
    spec = external.spec_from_file_location(stem, path, loader=loader)
    if not os.path.isfile(path):
        raise CannotLoad("not-found", "there is no file %s" % path)
    module = bootstrap.module_from_spec(spec)
    sys.modules[stem] = module
    _guard("importing " + path, loader.exec_module, module)
    return module


class _ScriptLoader(external.SourceFileLoader):
    """Compiles the file each time, as the interpreter does with a script.

    A compiled file is told from a stale one by the second and the size: two
    edits within a second would go unseen.
    """

    def get_code(self, fullname):
        return self.source_to_code(self.get_data(self.path), self.path)


def _is_stdlib(name):
    return name in STDLIB or any(
        os.path.exists(os.path.join(STDLIB_FOLDER, name + end)) for end in (".py", "/__init__.py"))


def _load_module(name):
    """Import a module by its dotted name, the current directory first."""
    if not getattr(sys.flags, "safe_path", False):
        sys.path.insert(0, "")
    sys.argv = [name]
    try:
        _guard("importing " + name, __import__, name)
    except CannotLoad as e:
        cause = e.__cause__
        if isinstance(cause, ModuleNotFoundError) and cause.name and (
                name == cause.name or name.startswith(cause.name + ".")):
            raise CannotLoad("not-found", "there is no module %s" % cause.name)
        raise
    try:
        return sys.modules[name]
    except KeyError:
        raise CannotLoad("import", "importing %s left no module of that name" % name) from None


def _guard(what, call, *args):
    """Run user code before the first item, where everything may happen."""
    try:
        call(*args)
    except SystemExit as e:
        raise CannotLoad("import", "%s called sys.exit(%s)" % (what, exit_argument(e)), e) from e
    except BaseException as e:
        reason = "%s raised %s" % (what, type_name(type(e)))
        if isinstance(e, ImportError) and "relative import" in str(e):
            reason += " (a file by itself is in no package: name the task as package.module:function, from the folder above the package)"
        raise CannotLoad("import", reason, e) from e


def initialise(module, name):
    """Call the function that --init names."""
    init = find(module, name)
    if is_async(init):
        raise CannotLoad("is-async", "%s (--init) is an async def: there is no loop yet when it is called" % name)
    _guard("%s (--init)" % name, init)


def find(module, name):
    """Return the callable of this (dotted) name in the module."""
    value = module
    for part in name.split("."):
        try:
            value = getattr(value, part)
        except AttributeError:
            raise CannotLoad("no-function", "%s has no %s%s" % (
                _where(module), name, _similar(module))) from None
        except BaseException as e:
            raise CannotLoad("import", "looking up %s in %s raised %s" % (
                name, _where(module), type_name(type(e))), e) from e
    if not callable(value):
        raise CannotLoad("not-callable", "%s in %s is not a function: it is of type %s" % (
            name, _where(module), type_name(type(value))))
    return value


def _where(module):
    return getattr(module, "__file__", None) or getattr(module, "__name__", type_name(type(module)))


def _owner(value):
    try:
        return value.__module__
    except Exception:
        return None


def _similar(module):
    """Return a hint: the functions and classes that are the module's own."""
    name = getattr(module, "__name__", None)
    own = [k for k, v in getattr(module, "__dict__", {}).items()
           if callable(v) and not k.startswith("_") and _owner(v) == name]
    return "; it has %s" % ", ".join(sorted(own)[:10]) if own else ""


def is_async(func):
    """Tell whether calling func gives a coroutine, without importing inspect."""
    return bool(_code_flags(func) & 0x80)  # CO_COROUTINE


def is_generator(func):
    """Tell whether calling func gives a generator, which has no JSON form."""
    return bool(_code_flags(func) & (0x20 | 0x200))  # CO_GENERATOR, CO_ASYNC_GENERATOR


def misfit(func):
    """Return why func cannot be called with the item alone; None if it can.

    Only plain functions and methods are judged, by their code: what others
    take is known when they are called. A task that takes nothing or needs more
    would otherwise fail once for each of a million items.
    """
    bound = getattr(func, "__func__", None)
    plain = bound or func
    code = getattr(plain, "__code__", None)
    if code is None:
        return None
    most = code.co_argcount - (1 if bound else 0)
    least = most - len(plain.__defaults__ or ())
    named = code.co_kwonlyargcount - len(plain.__kwdefaults__ or {})
    if named > 0:
        return "it needs %d named argument%s" % (named, "s" if named > 1 else "")
    if least > 1:
        return "it needs %d arguments" % least
    if most < 1 and not code.co_flags & 0x04:  # CO_VARARGS
        return "it takes no argument"
    return None


def _code_flags(func):
    """Return the flags of the code that a call of func runs, 0 where there is none."""
    try:
        partial = getattr(sys.modules.get("functools"), "partial", None)
        while partial is not None and issubclass(type(func), partial):
            func = func.func
        func = getattr(func, "__func__", func)  # bound methods
        if not hasattr(func, "__code__"):
            func = type(func).__call__  # an object that can be called
        return func.__code__.co_flags
    except Exception:
        return 0
