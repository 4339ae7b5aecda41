"""multiprocessing.Pool.imap_unordered, one item a message. Argument: count."""

from multiprocessing import Pool

from common import COUNT, PROCESSES, check
from noop import noop

if __name__ == "__main__":
    with Pool(PROCESSES) as pool:
        check(list(pool.imap_unordered(noop, range(COUNT))))
