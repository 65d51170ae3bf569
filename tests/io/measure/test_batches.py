"""Which batch is taken again: the driver's own functions, asked by a small program."""

import subprocess
import sys
from pathlib import Path

import pytest

from kpd.measure.driver.harness import HEADERS, native

PROGRAM = b"""
#include "driver.h"
#include <stdio.h>
int main(void) {
    watch w = watch_begin(2);
    printf("%d %d\\n", watch_retaken(&w, 5000, 100000), watch_retaken(&w, 0, 100000));
    w.forced = 1;
    for (int i = 0; i < 6; i++) printf("%d ", watch_retaken(&w, 5001, 100000));
    watch longer = watch_begin(31), long_one = watch_begin(32); /* 124 batches, and 128 */
    longer.forced = long_one.forced = 0;
    printf("\\n");
    for (int i = 0; i < 4; i++) printf("%d ", watch_retaken(&longer, 5001, 100000));
    for (int i = 0; i < 5; i++) printf("%d ", watch_retaken(&long_one, 5001, 100000));
    watch_lost(&w);
    w.at -= 50000000; /* the process had no CPU for 50 ms, */
    w.waits = -1;     /* for it had waited, */
    w.switches = 1000000;
    printf("\\n%d ", watch_lost(&w) == 0);
    w.at -= 50000000;
    w.switches = w.waits = -1; /* or was switched off once, too, */
    printf("%d ", watch_lost(&w) > 49000000);
    printf("%d ", w.forced);
    w.at -= 50000000; /* or neither: it was the hypervisor */
    w.switches = w.waits = 1000000;
    printf("%d ", watch_lost(&w) > 49000000);
    printf("%d\\n", w.forced);
    printf("%d ", w.lost >= 98000000);
    w.stolen -= 5000; /* ticks, of which a part was found as lost */
    w.lost = 0;
    printf("%d ", watch_stolen(&w) >= 5000);
    w.lost = 30000000000;
    printf("%d ", watch_stolen(&w) >= 2000 && watch_stolen(&w) < 3000);
    w.lost = 1000000000000;
    printf("%ld\\n", watch_stolen(&w));
}
"""


@pytest.fixture(name="said", scope="module")
def _said(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    folder: Path = tmp_path_factory.mktemp("batches")
    for name in (*HEADERS, "batches.c"):
        (folder / name).write_bytes(native(name))
    (folder / "main.c").write_bytes(PROGRAM)
    command = ["cc", "-std=gnu11", "-D_GNU_SOURCE", "-o", "program", "main.c", "batches.c"]
    subprocess.run(command, check=True, cwd=folder)
    return subprocess.run([folder / "program"], check=True, capture_output=True, text=True).stdout.splitlines()


def test_a_batch_may_lose_a_twentieth_of_its_time(said: list[str]) -> None:
    assert said[0] == "0 0"


def test_batches_are_taken_again_so_often_and_no_more(said: list[str]) -> None:
    assert said[1].split() == ["1", "1", "1", "1", "0", "0"], "two for each quad"
    assert said[2].split() == ["1", "1", "1", "0", "1", "1", "1", "1", "0"], "one in 32 where nobody took the CPU"


def test_lost_is_what_other_work_took_and_the_hypervisor_but_not_what_the_kernel_waited(said: list[str]) -> None:
    assert said[3] == "1 1 1 1 0"


@pytest.mark.skipif(sys.platform != "linux", reason="needs Linux's /proc/stat")
def test_what_the_hypervisor_took_counts_once(said: list[str]) -> None:
    assert said[4] == "1 1 1 0"
