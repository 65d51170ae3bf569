"""Where CUPTI is on this machine, for tests that compile the library."""

from pathlib import Path

import pytest

HEADERS = [
    path
    for root in (Path("/usr/local/cuda"), *sorted(Path("/usr/local").glob("cuda-*")))
    for path in (root / "include/cupti.h", root / "extras/CUPTI/include/cupti.h")
]
needs_cupti = pytest.mark.skipif(
    not any(path.exists() for path in HEADERS), reason="no CUPTI in /usr/local/cuda: the library cannot be compiled"
)
