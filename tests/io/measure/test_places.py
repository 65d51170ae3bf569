"""Where a worker puts the buffers that it shares with the driver."""

import subprocess
from importlib.resources import files
from pathlib import Path

from kpd.measure.driver.harness import SOURCES
from tests.support.hosts.local import linux_only
from tests.support.measure.measured import HARNESS

# Pages that can only be read: who writes one crashes, and in a worker it would write back what the driver has changed.
TRIES = r"""
#include "driver.h"
#include <stdio.h>
#include <sys/mman.h>
int main(void) {
    static view views[KPD_MAX_CASES + 1];
    measurement *shared;
    outcome answer = {.how = DONE};
    arena_make(views, &shared);
    void *home = views[0].data[0];
    mprotect(views[0].base, arena_bytes, PROT_READ);
    places_try(views);
    mprotect(views[0].base, arena_bytes, PROT_READ | PROT_WRITE);
    *(char *)home = 7;
    places_move(views, 1, &answer);
    printf("%d %d %d", answer.how == DONE, views[0].data[0] != home, *(char *)views[0].data[0]);
    return 0;
}
"""


@linux_only
def test_no_byte_is_written_before_the_driver_waits(tmp_path: Path) -> None:
    """It may be filling the buffers: a byte that is read and written back would then be an older one."""
    native = files("kpd.measure") / "native"
    (tmp_path / "harness.c").write_bytes(HARNESS)
    (tmp_path / "tries.c").write_text(TRIES)
    sources = [str(native / name) for name in (*SOURCES, "cpu.c") if name != "driver.c"]
    compiler = ["cc", "-std=gnu11", "-D_GNU_SOURCE", "-O1", f"-I{native}", "-o", "tries"]
    made = [*compiler, "harness.c", "tries.c", *sources, "-lm", "-lpthread", "-ldl"]
    subprocess.run(made, cwd=tmp_path, check=True)
    done = subprocess.run(["./tries"], cwd=tmp_path, check=True, capture_output=True, text=True)
    assert done.stdout == "1 1 7"
