"""What kpd's own child processes get of its environment: a daemon's has an agent's keys in it, too."""

import os

PASSED = ("PATH", "PYTHONPATH", "LD_LIBRARY_PATH", "HOME", "TMPDIR", "SYSTEMROOT")


def passed() -> dict[str, str]:
    """Enough to run Python and a native library."""
    return {name: os.environ[name] for name in PASSED if name in os.environ}
