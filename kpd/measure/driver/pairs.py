"""Writes the job of a driver that does not fork: its shell starts a process for each line that it reads."""

from collections.abc import Callable

from kpd.hosts.host import Host, JobSpec
from kpd.measure import jobs
from kpd.measure.driver.harness import OBJECT, Harness
from kpd.measure.run_context import RunContext
from kpd.measure.seals import UNCHANGED
from kpd.workspace.specs import BenchSpec, CheckSpec

CASE_LIMIT_MS = 20_000
"""The most that one case may take in one process; usually it takes 50 to 100 ms."""
FRESH, ROWS = "fresh", "rows"
"""The words in the line of a process that times calls on fresh inputs, one by one; and on a GPU also in a row."""
PLACING = 92
"""The exit status of a script that could not make the objects of a process."""
READY_AHEAD = 2
"""Processes that get ready on a GPU while one is timed: that takes longer than to time it."""

PlaceObject = Callable[[str, str, str], str]
"""A function that returns shell which makes a file of a built job's object, for one process.

It takes the job's name, the file's, and a word of the shell that is a random number. The shell exits with `jobs.GONE`
when the job's files are gone, and with PLACING when it fails otherwise.
"""


def copied(host: Host) -> PlaceObject:
    """Return how a process gets copies of the objects, as they were built."""

    def place(built: str, to: str, seed: str) -> str:
        return f"cp {jobs.words([jobs.out(host, built, OBJECT)])} {to} || exit {jobs.GONE}"

    return place


def pair_spec(
    host: Host, harness: Harness, incumbent: str, candidate: str, job: str, bench: BenchSpec, tolerance: CheckSpec,
    where: RunContext, place: PlaceObject | None, reference: str, stdin: bytes, limit_s: float, fresh_ms: int = 0,
    earlier: tuple[str, ...] = (), baseline: str = "",
) -> JobSpec:  # fmt: skip
    """Return the job of a driver that does not fork: a process of its own for each line of `stdin` (see `lines`).

    One whose line says FRESH or ROWS takes the audit on fresh inputs, for `fresh_ms`. On a GPU a command may come
    `earlier`, whose seed is the first line. `reference` and `baseline` are as in Harness.command.
    """
    own, *settings = harness.command(tolerance, reference, baseline)
    program = jobs.words([own, *settings])
    place = place or copied(host)

    def chosen(who: str, then: str, otherwise: str, to: str, seed: str) -> str:
        return f'if [ "$who" = {who} ]; then {place(then, to, seed)}; else {place(otherwise, to, seed)}; fi'

    # Each process has files of its own: the memory pages of a file can make a difference of some percent, and with one
    # file for all processes that would look like a gain in each. They are made before the last ones are removed: else
    # they would get the same pages. Both lie in one folder, under names of their own: a path is loaded only once. A
    # seed goes through a pipe: `printf` is built into the shell, so no process shows it among its arguments.
    timed = f'{program} "$mode" a$n.so b$n.so "$order" "$most" {CASE_LIMIT_MS}'
    one = f'printf \'%s\\n\' "$seed" | KPD_LAYOUT="$pad" KPD_TURN="$n" {timed}'
    # On a GPU the next ones start while one is timed, and the first one has its context: that keeps CPUs busy, and the
    # driver waits for its turn. Those that have not ended are the shell's arguments. Which report is whose follows from
    # their order.
    gpu = where.gpu
    before = f"$((n - {READY_AHEAD if gpu else 1}))"
    clear = f"rm -f a{before}.so b{before}.so"
    first = f'{{ wait "$1" || exit $?; shift; {clear}; }}'
    alone = 'while [ ! -e turn ] && kill -0 "$1" 2>/dev/null; do sleep 0.01; done\n'
    queued = f'  {one} &\n  set -- "$@" "$!"\n  {alone}  [ $# -le {READY_AHEAD} ] || {first}\n'
    turn = queued if gpu else f"  {clear}\n  {one} || exit $?\n"
    guarded = UNCHANGED if where.seals else ":"
    led = (
        f"[ -e {jobs.words([jobs.out(host, candidate, OBJECT)])} ] || exit {jobs.GONE}\n"
        "n=1\nread -r seed\n"
        f'printf \'%s\\n\' "$seed" | KPD_TURN=1 {program} {jobs.words(earlier)} &\nset -- "$!"\n{alone}'
    )
    script = (
        "n=0; rm -f turn; set --\n"
        f"{led if earlier else ''}"
        "while read -r seed order who pad drawn_a drawn_b; do\n"
        "  n=$((n + 1))\n"
        f"  {guarded}\n"
        f"  {chosen('b', candidate, incumbent, 'a$n.so', '$drawn_a')}\n"
        f"  {chosen('a', incumbent, candidate, 'b$n.so', '$drawn_b')}\n"
        f'  pad=$(printf "%${{pad}}s" "") mode=time most={bench.quads}\n'
        f'  case "$who" in a) mode=alone ;; b) mode=solo ;; {FRESH}|{ROWS}) mode=$who most={fresh_ms} ;; esac\n'
        f"{turn}"
        "done\n"
        'while [ $# -gt 0 ]; do wait "$1" || exit $?; shift; done\n'
    )
    return where.spec(job, script, limit_s, stdin)
