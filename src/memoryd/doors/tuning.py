"""How a process of the daemon uses its memory; a host process is not ours to tune."""

import ctypes
import gc
import sys

# New objects before the youngest are looked through, and how often before the older ones: a bundle
# makes some 10,000, none in circles. With Python's own 700 and 10 it took 4 % longer.
COLLECTED = (20_000, 20, 50)
M_ARENA_MAX = -8  # of glibc's malloc.h


def share_memory() -> None:
    """Let all threads take their memory from one place, where the C library is glibc.

    A thread's own place may be given back to the system whenever it is empty, and is faulted in
    anew by the next search: with half a million documents that took 9 ms of 24, in some processes.
    """
    if sys.platform == "linux" and hasattr(libc := ctypes.CDLL(None), "mallopt"):
        libc.mallopt(M_ARENA_MAX, 1)


def collect_seldom() -> None:
    """To be called when all is loaded."""
    gc.freeze()  # what is loaded now stays; a full collection would walk it for 25 ms
    gc.set_threshold(*COLLECTED)
