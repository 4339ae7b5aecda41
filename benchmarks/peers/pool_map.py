"""multiprocessing.Pool.map. Arguments: count [chunksize]."""

import sys
from multiprocessing import Pool

from common import COUNT, PROCESSES, check
from noop import noop

if __name__ == "__main__":
    chunksize = int(sys.argv[2]) if len(sys.argv) > 2 else None
    with Pool(PROCESSES) as pool:
        check(pool.map(noop, range(COUNT), chunksize))
