"""The task that does nothing: what is left is the cost of the engine."""


def noop(item):
    return item
