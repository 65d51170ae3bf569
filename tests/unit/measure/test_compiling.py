"""What a compiler says of a limit that it hit, and what only looks like that."""

import pytest

from kpd.measure.compiling import over_limit


@pytest.mark.parametrize(
    ("log", "limit"),
    [
        ("cc1: out of memory allocating 65536 bytes\n", "more than 64 MiB of memory"),
        ("as: kernel.o: File too large\n", "a file of more than 512 MiB"),
        ("kernel.c:3:1: error: expected ';'\n    3 | /* never out of memory */ int a\n      | ^~ File too large\n", ""),
        ("  |\ncc1: out of memory\n", "more than 64 MiB of memory"),
    ],
)
def test_the_source_below_an_error_names_no_limit(log: str, limit: str) -> None:
    over = over_limit(log, 64)
    assert (limit in str(over)) if limit else over is None
