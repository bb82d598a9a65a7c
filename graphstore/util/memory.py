"""The memory of the machine, and the most that this process has held."""

import sys


def machine_memory() -> int:
    """Return the memory of this machine in bytes."""
    import psutil  # the import takes 20 ms; most commands do not need it

    return int(psutil.virtual_memory().total)


def peak_bytes() -> int:
    """Return the peak memory of this process in bytes."""
    try:
        from resource import RUSAGE_SELF, getrusage
    except ImportError:  # on Windows
        import psutil

        return int(getattr(psutil.Process().memory_info(), "peak_wset", 0))
    return getrusage(RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)
