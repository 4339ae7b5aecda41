"""Finding the task: file.py:func or pkg.mod:func."""

import _frozen_importlib as bootstrap
import _frozen_importlib_external as external
import os
import sys

from .failure import describe, type_name

STDLIB = getattr(sys, "stdlib_module_names", frozenset(sys.builtin_module_names))


class CannotLoad(Exception):
    """The task cannot be run here; fields is the body of the cannot frame."""

    def __init__(self, code, reason, exc=None):
        super().__init__(reason)
        self.fields = {"code": code, "reason": reason,
                       "interpreter": sys.executable, "version": sys.version.split()[0],
                       "path": list(map(str, sys.path))}
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
    if stem in sys.modules or stem in STDLIB:
        stem += "_task"
    loader = external.SourceFileLoader(stem, path)
    spec = external.spec_from_file_location(stem, path, loader=loader)
    if not os.path.isfile(path):
        raise CannotLoad("not-found", "there is no file %s" % path)
    module = bootstrap.module_from_spec(spec)
    sys.modules[stem] = module
    _guard(path, loader.exec_module, module)
    return module


def _load_module(name):
    """Import a module by its dotted name, the current directory first."""
    if not getattr(sys.flags, "safe_path", False):
        sys.path.insert(0, "")
    sys.argv = [name]
    try:
        _guard(name, __import__, name)
    except CannotLoad as e:
        cause = e.__cause__
        if isinstance(cause, ModuleNotFoundError) and cause.name and (
                name == cause.name or name.startswith(cause.name + ".")):
            raise CannotLoad("not-found", "there is no module %s" % cause.name)
        raise
    return sys.modules[name]


def _guard(what, call, *args):
    """Run user code at import, where everything may happen."""
    try:
        call(*args)
    except SystemExit as e:
        raise CannotLoad("import", "importing %s called sys.exit(%r)" % (what, e.code), e) from e
    except BaseException as e:
        raise CannotLoad("import", "importing %s raised %s" % (what, type_name(type(e))), e) from e


def find(module, name):
    """Return the callable of this (dotted) name in the module."""
    value = module
    for part in name.split("."):
        try:
            value = getattr(value, part)
        except AttributeError:
            raise CannotLoad("no-function", "%s has no %s%s" % (
                _where(module), name, _similar(module, name))) from None
    if not callable(value):
        raise CannotLoad("not-callable", "%s in %s is not a function: it is of type %s" % (
            name, _where(module), type_name(type(value))))
    return value


def _where(module):
    return getattr(module, "__file__", None) or module.__name__


def _similar(module, name):
    own = [k for k, v in vars(module).items()
           if callable(v) and not k.startswith("_") and getattr(v, "__module__", "") == module.__name__]
    return "; it has %s" % ", ".join(sorted(own)[:10]) if own else ""


def is_async(func):
    """Tell whether calling func gives a coroutine, without importing inspect."""
    func = getattr(func, "func", func)  # functools.partial
    func = getattr(func, "__func__", func)  # bound methods
    code = getattr(func, "__code__", None)
    if code is None:
        code = getattr(getattr(type(func), "__call__", None), "__code__", None)
    return bool(code and code.co_flags & 0x80)  # CO_COROUTINE


def is_generator(func):
    """Tell whether calling func gives a generator, which has no JSON form."""
    code = getattr(getattr(func, "__func__", func), "__code__", None)
    return bool(code and code.co_flags & (0x20 | 0x200))  # (async) generator
