"""The task whose first item takes long, while all others take no time."""

import os
import time

SECONDS = float(os.environ.get("STRAGGLER_SECONDS", "60"))


def first_is_slow(item):
    if item == 0:
        time.sleep(SECONDS)
    return item
