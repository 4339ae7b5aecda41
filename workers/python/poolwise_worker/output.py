"""What tasks write through sys.stdout and sys.stderr, tagged with their item.

These streams send text as frames that name the item. All else that reaches the
descriptors 1 and 2 (os.write, C code, child processes) goes through pipes that
poolwise drains, and is tagged with the items that were running.
"""

import io
import os
import sys
from _thread import RLock

from .channel import OUTPUT

STDOUT, STDERR = 1, 2
# Text without a newline waits up to this size, or for the flusher's next turn.
HOLD = 8192


class ItemStream(io.RawIOBase):
    """The raw stream beneath sys.stdout or sys.stderr."""

    def __init__(self, channel, stream, current):
        self._channel = channel
        self._stream = stream
        self._current = current  # () -> (index, attempt), or None outside of items
        self._held = []
        self._held_size = 0
        self._tag = None
        self._releasing = False
        # Reentrant: a signal handler may print while its thread is in write.
        self._lock = RLock()
        self.name = ("<stdout>", "<stderr>")[stream - STDOUT]
        self.late = lambda: None  # called when text begins to wait for a newline

    def writable(self):
        return True

    def fileno(self):
        return self._stream

    def isatty(self):
        return False

    def go_direct(self):
        """Write to the descriptor from now on: this is a forked child."""
        self._channel = None
        self._held, self._held_size = [], 0
        self._lock = RLock()  # a thread that is not here may have held it

    def write(self, data):
        data = bytes(memoryview(data))  # a memoryview refuses str and int
        if self._channel is None:
            self._hold_direct(data)
            return len(data)
        tag = self._current()
        with self._lock:
            if tag != self._tag:
                self._release()
                self._tag = tag
            self._held.append(data)
            self._held_size += len(data)
            whole = data.endswith(b"\n") or self._held_size > HOLD
            if whole:
                self._release()
        if whole:
            self._channel.flush()
        else:
            self.late()
        return len(data)

    def _hold_direct(self, data):
        """Keep lines whole: others write to the same pipe."""
        with self._lock:
            self._held.append(data)
            self._held_size += len(data)
            if data.endswith(b"\n") or self._held_size > HOLD:
                self.flush()

    def flush(self):
        """In a forked child, write what was held; else it leaves by itself."""
        if self._channel is not None or not self._held:
            return
        with self._lock:
            view = memoryview(b"".join(self._held))
            self._held, self._held_size = [], 0
            while view:  # a text stream does not look at how much was taken
                view = view[os.write(self._stream, view):]

    def release(self):
        """Queue what was held back, without sending it."""
        if self._held:
            with self._lock:
                self._release()

    def _release(self):
        if self._releasing:
            return  # a call from within the one that does it, which goes on
        self._releasing = True
        while self._held:
            held, self._held_size = self._held[:], 0
            del self._held[:len(held)]
            index, attempt = self._tag or (-1, 0)
            head = (bytes((self._stream, 0, 0, 0)) + attempt.to_bytes(4, "little")
                    + (index + 1).to_bytes(8, "little"))
            self._channel.post(OUTPUT, head, *held)
        self._releasing = False


def install(channel, current):
    """Put item streams in the place of sys.stdout and sys.stderr; return them."""
    raws = []
    for name, number in (("stdout", STDOUT), ("stderr", STDERR)):
        old = getattr(sys, name)
        raw = ItemStream(channel, number, current)
        new = io.TextIOWrapper(
            raw, encoding=getattr(old, "encoding", None) or "utf-8",
            errors=getattr(old, "errors", None) or "backslashreplace",
            newline="\n", write_through=True)
        new.mode = "w"
        setattr(sys, name, new)
        raws.append(raw)
    return raws
