"""Exceptions as text: nothing of a user's exception is ever rebuilt."""

import os

MESSAGE_LIMIT = 64 << 10  # characters of a message; the rest is cut, and said
FRAMES_HEAD, FRAMES_TAIL = 20, 40  # frames shown of a longer traceback
CAUSES = 16  # links of the cause chain, and exceptions shown of groups
TRACEBACK_LIMIT = 256 << 10  # characters of a traceback with all that hangs on it
# Frames that come before the user's: the worker's, and those of an import.
OURS = (os.path.dirname(os.path.abspath(__file__)) + os.sep, "<frozen importlib")


class Failure:
    """Stands in for the value of an item that failed."""

    __slots__ = ("fields",)

    def __init__(self, kind, message, traceback="", cause=None):
        self.fields = {"type": kind, "message": message}
        if traceback:
            self.fields["traceback"] = traceback
        if cause:
            self.fields["cause"] = cause


def describe(exc):
    """Return the Failure of an exception. Never raises."""
    try:
        return Failure(**_fields(exc, set()))
    except BaseException:
        return Failure(type_name(type(exc)), "(it cannot be described)")


def _fields(exc, seen):
    seen.add(id(exc))
    fields = {
        "kind": type_name(type(exc)),
        "message": message_of(exc),
        "traceback": format_traceback(exc),
    }
    cause = exc.__cause__
    if cause is None and not exc.__suppress_context__:
        cause = exc.__context__
    if cause is not None and id(cause) not in seen and len(seen) < CAUSES:
        fields["cause"] = Failure(**_fields(cause, seen)).fields
    return fields


def type_name(cls):
    """Return the name of a class as a traceback would show it."""
    try:
        module, name = cls.__module__, cls.__qualname__
        if type(module) is not str or module in ("builtins", "__main__"):
            return printable(name)
        return printable(module + "." + name)
    except BaseException:
        return "unknown"


def message_of(exc):
    """Return str(exc), whatever its class does."""
    if isinstance(exc, SystemExit):
        return "the task called sys.exit(%s)" % exit_argument(exc)
    try:
        text = str(exc)
    except BaseException as e:
        return "(no message: its __str__ raised %s)" % type_name(type(e))
    return printable(text)


def exit_argument(exc):
    try:
        return "" if exc.code is None else printable(repr(exc.code))
    except BaseException:
        return "..."


def printable(text, limit=MESSAGE_LIMIT):
    """Return text as exact str of bounded length that has a UTF-8 form."""
    text = str.__str__(text)  # a subclass may have ideas of its own
    if len(text) > limit:
        text = text[:limit] + "... (%d more characters)" % (len(text) - limit)
    return str.encode(text, "utf-8", "backslashreplace").decode("utf-8")


def format_traceback(exc):
    """Return the traceback of the user's frames in the usual layout.

    The traceback module is not used: importing it costs 9 ms, and by the time
    it is wanted the user's folder could hide it.
    """
    lines = []
    try:
        _format(exc, lines, set())
    except BaseException:
        pass  # what there is will do
    return printable("".join(lines).rstrip("\n"), TRACEBACK_LIMIT)


def _format(exc, lines, seen):
    seen.add(id(exc))
    frames = _frames(exc)
    if frames:
        lines.append("Traceback (most recent call last):\n")
        lines += _format_frames(frames)
    lines += _last_lines(exc)
    for note in getattr(exc, "__notes__", None) or ():
        lines.append(printable(_text(note)) + "\n")
    for i, sub in enumerate(getattr(exc, "exceptions", None) or ()):
        if isinstance(sub, BaseException) and id(sub) not in seen and len(seen) < CAUSES:
            nested = []
            _format(sub, nested, seen)
            lines.append("  %d: %s\n" % (i + 1, "".join(nested).rstrip("\n").replace("\n", "\n  ")))


def _last_lines(exc):
    """Return type and message; for a syntax error the spot before them."""
    if isinstance(exc, SyntaxError) and type(exc.filename) is str and type(exc.lineno) is int:
        yield _format_frame((exc.filename, exc.lineno, None), {})
    name, text = type_name(type(exc)), message_of(exc)
    yield (name + ": " + text if text else name) + "\n"


def _text(value):
    try:
        return str(value)
    except BaseException as e:
        return "(no text: its __str__ raised %s)" % type_name(type(e))


def _frames(exc):
    frames = []
    tb = exc.__traceback__
    while tb is not None:
        code = tb.tb_frame.f_code
        if frames or not code.co_filename.startswith(OURS):
            frames.append((code.co_filename, tb.tb_lineno, code.co_name))
        tb = tb.tb_next
    return frames


def _format_frames(frames):
    lines, files = [], {}
    skipped = len(frames) - FRAMES_HEAD - FRAMES_TAIL
    last, repeats = None, 0
    for i, frame in enumerate(frames):
        if skipped > 0 and FRAMES_HEAD <= i < FRAMES_HEAD + skipped:
            if i == FRAMES_HEAD:
                lines.append("  [%d frames left out]\n" % skipped)
            continue
        repeats = repeats + 1 if frame == last else 0
        last = frame
        if repeats < 3:
            lines.append(_format_frame(frame, files))
        elif repeats == 3:
            lines.append("  [the same line again, and again]\n")
    return lines


def _format_frame(frame, files):
    filename, number, name = frame
    head = '  File "%s", line %s' % (printable(filename), number)
    head += ", in %s\n" % printable(name) if name else "\n"
    if filename not in files:
        files[filename] = _source_lines(filename)
    source = files[filename]
    if number and 0 < number <= len(source):
        return head + "    " + printable(source[number - 1].strip()) + "\n"
    return head


def _source_lines(filename):
    try:
        with open(filename, encoding="utf-8", errors="replace") as f:
            return f.read(4 << 20).split("\n")
    except Exception:  # open may be the user's own
        return []
