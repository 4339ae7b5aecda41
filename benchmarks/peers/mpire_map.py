"""mpire.WorkerPool.map. Arguments: count [chunk_size]."""

import sys

from mpire import WorkerPool

from common import COUNT, PROCESSES, check
from noop import noop

if __name__ == "__main__":
    chunk_size = int(sys.argv[2]) if len(sys.argv) > 2 else None
    with WorkerPool(n_jobs=PROCESSES) as pool:
        check(pool.map(noop, range(COUNT), chunk_size=chunk_size))
