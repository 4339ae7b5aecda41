"""asyncio.gather of everything at once. Argument: count."""

import asyncio

from common import COUNT, check
from nap import nap


async def main():
    check(await asyncio.gather(*(nap(i) for i in range(COUNT))))


if __name__ == "__main__":
    asyncio.run(main())
