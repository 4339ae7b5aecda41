"""The two frames of the hot path: chunks that come in, results that go out."""

from _struct import Struct, calcsize, pack, unpack

from . import codec
from .channel import RESULT
from .failure import Failure, printable

# Flags of a chunk.
RAW, CHUNK_INDEXES, CHUNK_ATTEMPTS = 1, 2, 4
# Flags of a result.
INDEXES, ATTEMPTS, STATUSES, STARTS, COSTS = 1, 2, 4, 8, 16

_HEAD_OF_ONE = Struct("<IIQQ").unpack_from  # count, flags, first index, its size
_ONE = Struct("<BQIIQQQ").pack  # a header, and a result frame up to its value

UNKNOWN = -1, -1  # costs that were not measured

OK, FAILED = 0, 1


# _struct and not array: importing array loads collections, a millisecond or more.


def _column(code, values):
    return pack("<%d%s" % (len(values), code), *values)


def _read_column(code, view):
    return unpack("<%d%s" % (len(view) // calcsize("<" + code), code), view)


class Chunk:
    """One chunk: indexes, attempts and values, each as a sequence."""

    __slots__ = ("indexes", "attempts", "values", "doubtful")

    def __init__(self, body):
        n = int.from_bytes(body[0:4], "little")
        flags = body[4]
        first = int.from_bytes(body[8:16], "little")
        at = 16
        self.indexes = range(first, first + n)
        if flags & CHUNK_INDEXES:
            self.indexes = _read_column("Q", body[at:at + 8 * n])
            at += 8 * n
        self.attempts = None  # all are first attempts
        if flags & CHUNK_ATTEMPTS:
            self.attempts = _read_column("I", body[at:at + 4 * n])
            at += 4 * n
        self.doubtful = False  # some values may be Undecodable
        sizes, text = body[at:at + 8 * n], body[at + 8 * n:]
        if flags & RAW:
            self.values = [str(x, "utf-8", "surrogateescape") for x in _cut(sizes, text, 0)]
            return
        try:
            self.values = codec.scan(str(text, "utf-8"), 0)[0]
        except (ValueError, RecursionError, StopIteration):
            self.values = [_decode(x) for x in _cut(sizes, text, 1)]
            self.doubtful = True
        if len(self.values) != n:
            raise ValueError("a chunk of %d items holds %d" % (n, len(self.values)))

    def parts(self, limit):
        """Return the chunk as parts of items that follow one another."""
        n = len(self.values)
        if type(self.indexes) is range:
            if 0 < n <= limit:
                return (self,)
            return [self._part(a, min(a + limit, n)) for a in range(0, n, limit)]
        return [self._part(i, i + 1) for i in range(n)]

    def _part(self, a, b):
        """Return the items from a to b, which follow one another."""
        part = Chunk.__new__(Chunk)
        part.indexes = range(self.indexes[a], self.indexes[a] + b - a)
        part.attempts = self.attempts[a:b] if self.attempts is not None else None
        part.values, part.doubtful = self.values[a:b], self.doubtful
        return part


def single(body):
    """Return index and value of a chunk of one item, tried for the first time.

    None stands for any other chunk, and for an item that cannot be decoded: it
    is Chunk's. A message an item is all that this saves, a third of it.
    """
    if len(body) < 24:
        return None  # a chunk of none
    n, flags, index, _ = _HEAD_OF_ONE(body)
    if n != 1 or flags:
        return None
    try:
        value, = codec.scan(str(body[24:], "utf-8"), 0)[0]
    except (ValueError, RecursionError, StopIteration):
        return None
    return index, value


def post_single(channel, index, start, end, value):
    """Queue the result of one item, a scalar or JSON text; tell whether that was possible."""
    if type(value) is not bytes:
        try:
            value = codec.encode_scalars([value])
        except (TypeError, ValueError):
            return False
    channel.post_whole(_ONE(RESULT, 32 + len(value), 1, 0, index, start, end) + value)
    return True


class Undecodable:
    """Stands for an item that this interpreter cannot decode."""

    __slots__ = ("failure",)

    def __init__(self, failure):
        self.failure = failure


def _decode(text):
    try:
        return codec.decode(str(text, "utf-8"))
    except RecursionError:
        reason = "nested too deeply for this interpreter"
    except (ValueError, StopIteration) as e:
        reason = printable(str(e))
    return Undecodable(Failure("InvalidInput", "the item cannot be decoded: " + reason))


def _cut(sizes, text, gap):
    """Yield the items of a chunk one by one; JSON has one byte between them."""
    at = gap
    for size in _read_column("Q", sizes):
        yield text[at:at + size]
        at += size + gap


def post_results(channel, indexes, attempts, starts, ends, values, costs=None):
    """Queue one result frame.

    indexes is a range where the items follow one another, attempts is None
    where all are 1. starts is one number where each item started when the one
    before it ended. ends is a sequence, or a column already. values holds scalars,
    JSON texts as bytes, and Failures. costs is None where none were measured, else
    two sequences: CPU time of the thread and of the process, -1 where unknown.
    """
    n = len(values)
    text, statuses = _encode_values(values)
    flags, columns = 0, []
    if type(indexes) is not range:
        flags |= INDEXES
        columns.append(_column("Q", indexes))
    if attempts is not None:
        flags |= ATTEMPTS
        columns.append(_column("I", attempts))
    if statuses is not None:
        flags |= STATUSES
        columns.append(bytes(statuses))
    start = starts
    if type(starts) is not int:
        flags |= STARTS
        start = starts[0]
        columns.append(_column("Q", starts))
    if costs is not None:
        flags |= COSTS
        columns += [_column("q", column) for column in costs]
    columns.append(ends if type(ends) is bytes else _column("Q", ends))
    head = (n.to_bytes(4, "little") + flags.to_bytes(4, "little")
            + indexes[0].to_bytes(8, "little") + start.to_bytes(8, "little"))
    channel.post(RESULT, head, *columns, text)


def post_rows(worker, rows):
    """Queue results of slots: (index, attempt, start, end, value, costs).

    costs are None or two numbers. While measuring, the counters follow.
    """
    indexes, attempts, starts, ends, values, costs = zip(*rows)
    if not any(costs):
        post_results(worker.channel, indexes, attempts, starts, ends, values)
    else:
        costs = zip(*(c or UNKNOWN for c in costs))
        worker.meter.post_results(worker.channel, indexes, attempts, starts, ends, values, costs)
    if worker.measuring:
        worker.meter.report()


def _encode_values(values):
    """Return the values as JSON texts, one a line, and their statuses."""
    try:
        return codec.encode_scalars(values), None
    except (TypeError, ValueError):
        pass  # some are encoded already, or failed, or have no form
    lines, statuses = [], None
    for i, value in enumerate(values):
        if type(value) not in (bytes, Failure):
            value = codec.encode_or_fail(value)
        if type(value) is Failure:
            if statuses is None:
                statuses = bytearray(len(values))
            statuses[i] = FAILED
            value = codec.encode_failure(value)
        lines.append(value)
    return b"\n".join(lines), statuses


def finished(value):
    """Return a task's value as it may wait for its frame.

    What can still change is encoded now: a later item could alter it.
    """
    if type(value) in codec.SCALARS or type(value) is Failure:
        return value
    return codec.encode_or_fail(value)
