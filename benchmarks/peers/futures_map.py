"""concurrent.futures.ProcessPoolExecutor.map, one item a message. Argument: count."""

from concurrent.futures import ProcessPoolExecutor

from common import COUNT, PROCESSES, check
from noop import noop

if __name__ == "__main__":
    with ProcessPoolExecutor(PROCESSES) as executor:
        check(list(executor.map(noop, range(COUNT))))
