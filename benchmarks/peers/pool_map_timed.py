"""multiprocessing.Pool.map of a function that also times each call, as poolwise does. Argument: count."""

from multiprocessing import Pool
from time import perf_counter_ns

from common import COUNT, PROCESSES, check
from noop import noop


def timed(item):
    start = perf_counter_ns()
    value = noop(item)
    return value, perf_counter_ns() - start


if __name__ == "__main__":
    with Pool(PROCESSES) as pool:
        check([value for value, _ in pool.map(timed, range(COUNT))])
