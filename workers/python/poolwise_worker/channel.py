"""Frames on the socket between poolwise and this worker."""

import os
from _thread import RLock

PROTOCOL = 1

# Types of frames. poolwise sends those below 64, the worker those from 64 on.
LOAD, CHUNK, DRAIN, MEASURE, SLOTS = 1, 2, 3, 4, 5
HELLO, READY, CANNOT, RESULT, OUTPUT, BYE, MEASURED = 64, 65, 66, 67, 68, 69, 70

HEADER = 9  # 1 byte type, 8 bytes length
READ_SIZE = 1 << 18
# Frames below this wait for each other and leave in one write.
COALESCE = 1 << 13


class Closed(Exception):
    """poolwise has closed its end, or the descriptor is no longer the socket."""


class Channel:
    """Reads frames in one thread, writes them from any."""

    def __init__(self, fd):
        self.fd = fd
        # Reentrant, as signal handlers and finalisers of the user's may print
        # while this thread is in the midst of a frame.
        self.lock = RLock()
        self._in = b""
        self._at = 0
        self._out = []
        self._out_size = 0
        self._writing = False

    # -- reading ---------------------------------------------------------

    def receive(self):
        """Return (type, body) of the next frame, or raise Closed.

        What waits to be sent is sent before the call blocks.
        """
        frame = self.take()
        while frame is None:
            self.flush()
            self.fill()
            frame = self.take()
        return frame

    def take(self):
        """Return the next frame if it has been read whole, else None."""
        data, at = self._in, self._at
        if len(data) - at < HEADER:
            return None
        end = at + HEADER + int.from_bytes(data[at + 1:at + HEADER], "little")
        if len(data) < end:
            return None
        self._at = end
        return data[at], memoryview(data)[at + HEADER:end]

    def fill(self):
        """Read once from the socket; block until there is something."""
        rest = self._in[self._at:]
        if len(rest) >= HEADER:
            size = HEADER + int.from_bytes(rest[1:HEADER], "little")
            if size > READ_SIZE:
                self._read_large(rest, size)
                return
        data = self._read(READ_SIZE)
        self._in = rest + data if rest else data
        self._at = 0

    def _read_large(self, start, size):
        """Read one large frame into a buffer made for it, without copies."""
        whole = bytearray(size)
        whole[:len(start)] = start
        view = memoryview(whole)
        at = len(start)
        while at < size:
            try:
                n = os.readv(self.fd, [view[at:]])
            except OSError as e:
                raise Closed(str(e))
            if not n:
                raise Closed("end of file")
            at += n
        self._in = whole
        self._at = 0

    def _read(self, size):
        try:
            data = os.read(self.fd, size)
        except OSError as e:
            raise Closed(str(e))
        if not data:
            raise Closed("end of file")
        return data

    # -- writing ---------------------------------------------------------

    def post(self, kind, *parts):
        """Queue a frame; it leaves with the next flush, or now if large."""
        size = sum(map(len, parts))
        frame = (bytes((kind,)) + size.to_bytes(8, "little"),) + parts
        with self.lock:
            self._out.extend(frame)  # one step, to a list that is never another
            self._out_size += HEADER + size
            if self._out_size >= COALESCE:
                self._flush()

    def post_whole(self, frame):
        """Queue a frame that has its header."""
        with self.lock:
            self._out.append(frame)
            self._out_size += len(frame)
            if self._out_size >= COALESCE:
                self._flush()

    def send(self, kind, *parts):
        """Write a frame now."""
        self.post(kind, *parts)
        self.flush()

    def flush(self):
        """Write all queued frames."""
        if self._out:
            with self.lock:
                self._flush()

    def _flush(self):
        if self._writing:
            return  # a call from within the one that writes, which goes on
        self._writing = True
        try:
            while self._out:
                out, self._out_size = self._out[:], 0
                del self._out[:len(out)]
                view = memoryview(b"".join(out))
                while view:
                    view = view[os.write(self.fd, view):]
        except OSError as e:
            raise Closed(str(e))
        finally:
            self._writing = False
