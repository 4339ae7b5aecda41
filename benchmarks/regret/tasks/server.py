"""A small HTTP server on loopback that answers late. Arguments: milliseconds, bytes.

It prints its port, and ends with its standard input.
"""

import asyncio
import sys

LATENCY = float(sys.argv[1]) / 1000
BODY = b"x" * int(sys.argv[2])
ANSWER = b"HTTP/1.0 200 OK\r\nContent-Length: %d\r\n\r\n%s" % (len(BODY), BODY)


async def answer(reader, writer):
    try:
        await reader.readuntil(b"\r\n\r\n")
        await asyncio.sleep(LATENCY)
        writer.write(ANSWER)
        await writer.drain()
    except (ConnectionError, asyncio.IncompleteReadError):
        pass  # a client that was given up
    finally:
        writer.close()


async def main():
    server = await asyncio.start_server(answer, "127.0.0.1", 0, backlog=1024)
    print(server.sockets[0].getsockname()[1], flush=True)
    await asyncio.get_running_loop().run_in_executor(None, sys.stdin.read)


if __name__ == "__main__":
    asyncio.run(main())
