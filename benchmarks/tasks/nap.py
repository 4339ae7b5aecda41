"""The task that only waits."""

import asyncio


async def nap(item):
    await asyncio.sleep(0.1)
    return item
