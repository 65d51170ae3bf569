"""Observes one run of a program on a host: builds the library, runs the program with it, brings its records back."""

import io
import tarfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from uuid import uuid4

from kpd.hosts.errors import HostError
from kpd.hosts.host import Host, JobResult, JobSpec, LeaseRequest
from kpd.measure import jobs
from kpd.production.observe.errors import ObserveError
from kpd.production.observe.launches import devices, launches, totals
from kpd.production.observe.library import library
from kpd.production.observe.names import KernelName, called, read_name
from kpd.production.observe.observation import Observation, observation
from kpd.production.observe.record import ProcessRecord, UnreadableRecord, read_record
from kpd.production.program import shell_path
from kpd.source.kernels import Kernel
from kpd.text.numbers import counted

LAUNCHES = 10_000
BYTES = 64 << 20
PACKED = 48 << 20
"""The most bytes of all records, compressed, that are brought back."""
UNPACKED = 1 << 30
NO_FOLDER, NO_RECORD = 85, 86
PACK_S = 120.0
NAMES_S = 20.0
TOLD = 12
"""How many of the kernels that were launched an error names."""
LONGEST = 80
"""The most characters of each."""


@dataclass(frozen=True, slots=True)
class ObservedProgram:
    """A program to observe on a host. `run` is a shell command in the folder `cwd`, with `env` added.

    `kernel` is a kernel's name as in the source, in full where several have it, or its symbol. `limit_s` is in seconds.
    A program that is `endless` is ended at its limit, and that is no error. `launches` of each kernel are recorded in
    full, and `bytes` in all of each process.
    """

    run: str
    cwd: str
    kernel: str
    limit_s: float
    env: Mapping[str, str] = field(default_factory=dict)
    endless: bool = False
    launches: int = LAUNCHES
    bytes: int = BYTES
    lease: LeaseRequest | None = None


# The command has a subshell of its own: what it sets or exits from does not concern the script.
_SCRIPT = """
mkdir -p out/records
CUDA_INJECTION64_PATH=@LIBRARY@ KPD_OBSERVE_DIR=$PWD/out/records
export CUDA_INJECTION64_PATH KPD_OBSERVE_DIR
cd @CWD@ || exit @NO_FOLDER@
( @RUN@
)
"""
_PACK = """
out=$PWD/out
cd @FOLDER@ && ls ./*.record >/dev/null 2>&1 || exit @NONE@
tar -czf "$out/records.tgz" ./*.record
"""
_DEMANGLE = """
LC_ALL=C; export LC_ALL
for tool in c++filt cu++filt "${KPD_CUDA_HOME:-/usr/local/cuda}/bin/cu++filt" llvm-cxxfilt; do
  command -v "$tool" >/dev/null && break; tool=
done
[ -n "$tool" ] && exec "$tool"
exit 3
"""


async def observe(host: Host, program: ObservedProgram, source: Kernel | None = None, key: str = "") -> Observation:
    """Run the program once and return what it launched. `source` has the kernel's parameters by name.

    The program's files are not touched, and it is not built. Raises ObserveError, HostError.
    """
    shared = await library(host)
    began = time.time()
    id = f"observe-{uuid4().hex}"
    ran = await host.job(JobSpec(id, _script(program, shared), program.limit_s, env=_env(program), lease=program.lease))
    try:
        records, problems = await _records(host, id)
    finally:
        await host.forget(id)
    _refuse(program, ran, records)
    names = await _names(host, {symbol for record in records for symbol in record.symbols.values() if symbol})
    seen = [one for number, record in enumerate(records) for one in launches(record, number)]
    kernels = totals(records)
    name = _chosen(program.kernel, names, {one.symbol: one.count for one in kernels})
    problems += _problems(records, ran)
    if not any(names.values()):
        problems.append("the host has no c++filt: types of parameters come from the source alone")
    at = time.strftime("%Y-%m-%dT%H:%M:%S", time.localtime(began))
    return observation(name, source, seen, kernels, devices(records), problems, at, key)


def _script(program: ObservedProgram, shared: str) -> str:
    text = _SCRIPT.replace("@LIBRARY@", jobs.words([shared])).replace("@NO_FOLDER@", str(NO_FOLDER))
    return text.replace("@CWD@", shell_path(program.cwd)).replace("@RUN@", program.run)


def _env(program: ObservedProgram) -> dict[str, str]:
    return {
        **program.env,
        "KPD_OBSERVE_KERNEL": program.kernel.partition("<")[0].rpartition("::")[2].strip(),
        "KPD_OBSERVE_LAUNCHES": str(program.launches),
        "KPD_OBSERVE_BYTES": str(program.bytes),
    }


async def _records(host: Host, id: str) -> tuple[list[ProcessRecord], list[str]]:
    """Bring back the records of the job's processes, and what is wrong with some. Raises ObserveError, HostError."""
    folder = jobs.words([f"{host.root}/jobs/{id}/out/records"])
    packed = JobSpec(f"{id}-pack", _PACK.replace("@FOLDER@", folder).replace("@NONE@", str(NO_RECORD)), PACK_S)
    try:
        done = await jobs.run(host, packed)
        if done.rc == NO_RECORD:
            return [], []
        if done.rc or done.reason:
            raise HostError("host", f"{host.name}: the records cannot be packed: {jobs.tail(done.stderr)}")
        raw = await host.read(jobs.out(host, packed.id, "records.tgz"), PACKED)
    except HostError as err:
        if err.kind == "too_large":
            raise ObserveError("too_large", f"the records are larger than {PACKED >> 20} MiB") from err
        raise
    finally:
        await host.forget(packed.id)
    return unpacked(raw)


def unpacked(raw: bytes) -> tuple[list[ProcessRecord], list[str]]:
    """Read a tar file of records; what cannot be read is told."""
    records, problems = [], []
    left = UNPACKED
    try:
        with tarfile.open(fileobj=io.BytesIO(raw), mode="r:gz") as archive:
            for member in archive:
                left -= member.size
                if left < 0:
                    problems.append("there are more records than kpd reads")
                    break
                file = archive.extractfile(member) if member.isreg() else None
                try:
                    records.append(read_record(file.read() if file is not None else b""))
                except UnreadableRecord as err:
                    problems.append(f"a record cannot be read: {err}")
    except (tarfile.TarError, OSError, EOFError) as err:
        problems.append(f"the records are cut off: {err}")
    return sorted(records, key=lambda record: record.pid), problems


def _refuse(program: ObservedProgram, ran: JobResult, records: Sequence[ProcessRecord]) -> None:
    """Raise ObserveError for a run that did not end well, or that no process left a record of."""
    said = jobs.tail(ran.stderr) or jobs.tail(ran.stdout)
    if ran.rc == NO_FOLDER and not records:
        raise ObserveError("no_folder", f"the folder {program.cwd} is not there")
    if ran.reason == "timeout" and not program.endless:
        raise ObserveError("endless", f"the program did not end within {program.limit_s:g} s")
    if ran.reason in ("killed", "lost"):
        raise ObserveError("failed", f"the program was {ran.reason}", "observe it again")
    if ran.rc and ran.reason != "timeout":
        raise ObserveError("failed", f"the program ended with {ran.rc}: {said}")
    if not records:
        raise ObserveError("no_cuda", "no process of the program left a record")
    if not any(record.counted for record in records):
        why = ", ".join(sorted({warning for record in records for warning in record.warnings}))
        message = "the program started CUDA and launched no kernel"
        raise ObserveError("no_cuda", f"{message}; the library could not do its work: {why}" if why else message)


async def _names(host: Host, symbols: set[str]) -> dict[str, str]:
    """Return the demangled name of each symbol, empty where the host cannot tell it. Raises HostError."""
    ordered = sorted(symbols)
    job = JobSpec(
        jobs.key("observe-names", host.boot, host.cuda_home, *ordered), _DEMANGLE, NAMES_S,
        stdin="".join(f"{symbol}\n" for symbol in ordered).encode(),
        env={"KPD_CUDA_HOME": host.cuda_home} if host.cuda_home else {},
    )  # fmt: skip
    said = await jobs.run(host, job)
    found = said.stdout.decode(errors="replace").splitlines()
    if said.rc or said.reason or len(found) != len(ordered):
        return dict.fromkeys(ordered, "")
    return dict(zip(ordered, found, strict=True))


def _chosen(wanted: str, names: Mapping[str, str], counts: Mapping[str, int]) -> KernelName:
    """Return the kernel that is meant. Raises ObserveError."""
    found = [one for one in called(names, wanted) if counts.get(one.symbol)]
    if len(found) == 1:
        return found[0]
    among = found or [read_name(symbol, names[symbol]) for symbol in names]
    among = sorted(among, key=lambda one: -counts.get(one.symbol, 0))
    listed = ", ".join(f"{_short(one.shown)} ({counts.get(one.symbol, 0)})" for one in among[:TOLD])
    more = f" and {len(among) - TOLD} more" if len(among) > TOLD else ""
    if found:
        raise ObserveError("several", f"{len(found)} kernels are called {wanted}: {listed}{more}")
    raise ObserveError("no_kernel", f"{wanted} was never launched; launched were {listed}{more}")


def _short(name: str) -> str:
    return name if len(name) <= LONGEST else f"{name[: LONGEST - 1]}…"


_WARNINGS = {
    "full": "a record was full: later launches are counted alone",
    "conditional": "a graph decides while it runs which kernels run: these are counted alone",
    "graph nodes": "of some kernels in graphs only the first nodes are recorded in full",
    "graph parameters": "a graph's parameters were changed in a way that is not recorded",
    "dropped records": "CUPTI had no room for some durations",
    "flush": "the last durations are missing",
}


def _problems(records: Sequence[ProcessRecord], ran: JobResult) -> list[str]:
    """Say what the records lack."""
    found = sorted({warning for record in records for warning in record.warnings})
    told = [_WARNINGS.get(warning, f"CUPTI: {warning}") for warning in found]
    if cut := sum(not record.ended for record in records):
        told.append(
            f"{cut} of {counted(len(records), 'process')} did not end by themselves: the last durations may lack"
        )
    if bad := sum(record.unreadable for record in records):
        told.append(f"{bad} lines of the records cannot be read")
    if ran.reason == "timeout":
        told.append(f"the program was ended after {ran.seconds:.0f} s")
    return told
