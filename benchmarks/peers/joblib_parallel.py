"""joblib.Parallel as it comes: loky workers, batches that it sizes itself. Argument: count."""

from joblib import Parallel, delayed

from common import COUNT, PROCESSES, check
from noop import noop

if __name__ == "__main__":
    check(Parallel(n_jobs=PROCESSES)(delayed(noop)(i) for i in range(COUNT)))
