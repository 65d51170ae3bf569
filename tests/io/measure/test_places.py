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


# How many buffers are elsewhere after each of some moves: of all of them, and of some.
MOVES = r"""
#include "driver.h"
#include <stdio.h>
int main(void) {
    static view views[KPD_MAX_CASES + 1];
    measurement *shared;
    outcome answer = {.how = DONE};
    void *home[KPD_MAX_BUFFERS];
    arena_make(views, &shared);
    memcpy(home, views[0].data, sizeof home);
    places_try(views);
    for (uint64_t drawn = 0; drawn < 64; drawn++) {
        size_t away = 0;
        places_move(views, drawn, &answer);
        for (size_t b = 0; b < kpd_task.buffer_count; b++) away += views[0].data[b] != home[b];
        printf("%d %zu %zu\n", (int)(drawn & ALL_OF_THEM), away, kpd_task.buffer_count);
    }
    return answer.how != DONE;
}
"""


def told(folder: Path, program: str) -> str:
    native = files("kpd.measure") / "native"
    (folder / "harness.c").write_bytes(HARNESS)
    (folder / "tries.c").write_text(program)
    sources = [str(native / name) for name in (*SOURCES, "cpu.c") if name != "driver.c"]
    compiler = ["cc", "-std=gnu11", "-D_GNU_SOURCE", "-O1", f"-I{native}", "-o", "tries"]
    made = [*compiler, "harness.c", "tries.c", *sources, "-lm", "-lpthread", "-ldl"]
    subprocess.run(made, cwd=folder, check=True)
    return subprocess.run(["./tries"], cwd=folder, check=True, capture_output=True, text=True).stdout


@linux_only
def test_no_byte_is_written_before_the_driver_waits(tmp_path: Path) -> None:
    """It may be filling the buffers: a byte that is read and written back would then be an older one."""
    assert told(tmp_path, TRIES) == "1 1 7"


@linux_only
def test_all_buffers_are_moved_or_one_at_the_least(tmp_path: Path) -> None:
    moves = [tuple(map(int, line.split())) for line in told(tmp_path, MOVES).splitlines()]
    assert len(moves) == 64
    assert all(away == count for every, away, count in moves if every)
    some = {away for every, away, _ in moves if not every}
    assert min(some) == 1 < max(some) == moves[0][2], "some are where they begin"
