"""The same batch as people write it by hand. Arguments: method, file.py:function, input, output.

It reads JSON lines and writes JSON lines, as poolwise does, without a record of
the run and without a thought for items that fail.
"""

import asyncio
import importlib
import json
import os
import sys
from concurrent.futures import ThreadPoolExecutor
from multiprocessing import Pool

# A usual choice for work that waits, made without measuring.
IN_FLIGHT = 100


def loop(function, items):
    if not asyncio.iscoroutinefunction(function):
        return [function(item) for item in items]

    async def one_by_one():
        return [await function(item) for item in items]

    return asyncio.run(one_by_one())


def pool(function, items):
    with Pool() as workers:
        return workers.map(function, items)


def threads(function, items):
    with ThreadPoolExecutor() as executor:
        return list(executor.map(function, items))


def semaphore(function, items):
    async def limited(item, limit):
        async with limit:
            return await function(item)

    async def gather():
        limit = asyncio.Semaphore(IN_FLIGHT)
        return await asyncio.gather(*(limited(item, limit) for item in items))

    return asyncio.run(gather())


def main(method, task, source, target):
    path, _, name = task.rpartition(":")
    sys.path.insert(0, os.path.dirname(path))
    function = getattr(importlib.import_module(os.path.basename(path)[: -len(".py")]), name)
    with open(source, encoding="utf-8") as f:
        items = [json.loads(line) for line in f]
    results = {"loop": loop, "pool": pool, "threads": threads, "semaphore": semaphore}[method](function, items)
    with open(target, "w", encoding="utf-8") as f:
        for result in results:
            f.write(json.dumps(result, separators=(",", ":")) + "\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
