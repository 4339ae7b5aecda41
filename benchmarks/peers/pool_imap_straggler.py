"""multiprocessing.Pool.imap with a first item that takes long. Argument: count.

Nothing is collected here: what memory it takes, imap itself takes.
"""

from multiprocessing import Pool

from common import COUNT, PROCESSES
from straggler import first_is_slow

if __name__ == "__main__":
    with Pool(PROCESSES) as pool:
        for _ in pool.imap(first_is_slow, range(COUNT), chunksize=100):
            pass
