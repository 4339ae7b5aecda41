"""Tasks that spend a given time in a given way, and always do the same work for it.

An item is {"i": number, "s": seconds, "pad": text}. What kind of work it is, what
importing this module costs and whether the payload is sent back come from the
environment, the same for all items of a workload. Work is counted, not timed: a
loop that waited for the clock would take as long among others as it does alone.

As a program it prints the rates that turn seconds into work on this machine.
"""

import asyncio
import hashlib
import json
import os
import time
import zlib

_LOOP, _HASH, _ZLIB = (float(rate) for rate in os.environ.get("SYNTHETIC_RATES", "1e7,1e9,1e8").split(","))
_KIND = os.environ.get("SYNTHETIC_KIND", "loop")
_ECHO = os.environ.get("SYNTHETIC_ECHO") == "1"

# Text that compresses to half its size.
_BUFFER = hashlib.shake_256(b"text").hexdigest(1 << 15).encode() * 16
_VIEW = memoryview(_BUFFER)
# zlib is called on pieces, as most callers do.
_PIECE = 1 << 16


def loop(seconds):
    """Pure Python: holds the GIL."""
    x = 0
    for i in range(int(seconds * _LOOP)):
        x = (x + i) & 0xFFFF
    return x


def sha256(seconds):
    """Hashing of a large buffer: releases the GIL."""
    size = int(seconds * _HASH)
    digest = hashlib.sha256()
    while size > 0:
        digest.update(_VIEW[:size])
        size -= len(_BUFFER)
    return digest


def deflate(seconds):
    """Compression: releases the GIL."""
    size = int(seconds * _ZLIB)
    while size > 0:
        zlib.compress(_VIEW[: min(size, _PIECE)], 1)
        size -= _PIECE


def wait(seconds):
    """Waits, as for a disk or another machine."""
    time.sleep(seconds)


def loop_wait(seconds):
    """Half pure Python, half waiting."""
    loop(seconds / 2)
    time.sleep(seconds / 2)


def loop_sha256(seconds):
    """Half pure Python, half with the GIL released."""
    loop(seconds / 2)
    sha256(seconds / 2)


KINDS = {"loop": loop, "sha256": sha256, "deflate": deflate, "wait": wait, "loop+wait": loop_wait, "loop+sha256": loop_sha256}
_spend = KINDS[_KIND]


def _value(item):
    return [item["i"], item["pad"]] if _ECHO else item["i"]


def item(item):
    """The task."""
    _spend(item["s"])
    return _value(item)


async def item_async(item):
    """The same where it waits, as a coroutine."""
    seconds = item["s"]
    if _KIND == "loop+wait":
        seconds /= 2
        loop(seconds)
    await asyncio.sleep(seconds)
    return _value(item)


# Importing takes time and CPU, as that of large packages does.
loop(float(os.environ.get("SYNTHETIC_IMPORT", "0")))


def _rate(work, guess):
    """How much of work is done in a second: the best of five, for the others were disturbed."""
    best = min(_timed(work, 0.05) for _ in range(5))
    return guess * 0.05 / best


def _timed(work, seconds):
    began = time.perf_counter()
    work(seconds)
    return time.perf_counter() - began


if __name__ == "__main__":
    print(json.dumps([_rate(loop, _LOOP), _rate(sha256, _HASH), _rate(deflate, _ZLIB)]))
