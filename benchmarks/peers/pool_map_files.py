"""multiprocessing.Pool.map from a file of JSON lines to another, as poolwise does it, without a journal.

Arguments: count, input, output.
"""

import json
import sys
from multiprocessing import Pool

from common import COUNT, PROCESSES, check
from noop import noop

if __name__ == "__main__":
    with open(sys.argv[2]) as source:
        items = [json.loads(line) for line in source]
    with Pool(PROCESSES) as pool:
        results = pool.map(noop, items)
    check(results)
    with open(sys.argv[3], "w") as out:
        for result in results:
            out.write(json.dumps(result) + "\n")
