"""Parses the output of nvidia-smi, nvcc and ncu; shortens and cleans it."""

import re
from collections.abc import Iterable
from dataclasses import dataclass, replace

from kpd.text.foreign import plain

COLUMNS = ("index", "uuid", "pci.bus_id", "name", "compute_cap", "memory.total", "driver_version", "persistence_mode",
           "mig.mode.current")  # fmt: skip
QUERY = f"--query-gpu={','.join(COLUMNS)} --format=csv,noheader,nounits"
CLOCKS = "--query-gpu=uuid,clocks.max.sm,clocks.max.memory --format=csv,noheader,nounits"
_CLOCKS_ROW = re.compile(r"(GPU-[0-9a-f-]{8,40}), *([0-9]{1,5}), *([0-9]{1,5})")
_ROW = re.compile(
    r"(?P<index>[0-9]{1,3}), *(?P<uuid>GPU-[0-9a-f-]{8,40}), *(?P<pci>[0-9A-Fa-f:.]{7,20}), *(?P<name>.*), *"
    r"(?P<cap>[^,]*), *(?P<memory>[^,]*), *(?P<driver>[^,]*), *(?P<persistence>[^,]*), *(?P<mig>[^,]*)"
)
Version = tuple[int, ...]

# The first toolkit that builds for an architecture; those before sm_80 are older than any toolkit kpd will meet.
FIRST_CUDA: dict[str, Version] = {
    "sm_80": (11, 0), "sm_86": (11, 1), "sm_87": (11, 4), "sm_89": (11, 8), "sm_90": (11, 8), "sm_100": (12, 8),
    "sm_101": (12, 8), "sm_103": (12, 9), "sm_110": (13, 0), "sm_120": (12, 8), "sm_121": (12, 9),
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class GpuInfo:
    """A GPU as nvidia-smi lists it. `arch` is "sm_90" and the like, empty where the driver does not say.

    With `mig` it is split into instances, and no program gets the whole GPU. `clocks` are the highest in MHz, SMs and
    memory, "1980/2619".
    """

    index: int
    uuid: str
    pci: str
    name: str
    arch: str
    memory_mib: int
    driver: str
    persistence: bool = True
    mig: bool = False
    clocks: str = ""


def with_clocks(gpus: tuple[GpuInfo, ...], said: str) -> tuple[GpuInfo, ...]:
    """Add the highest clocks, from nvidia-smi's answer to CLOCKS, where the driver says them."""
    rows = (_CLOCKS_ROW.fullmatch(row.strip()) for row in said.splitlines())
    found = {row[1]: f"{row[2]}/{row[3]}" for row in rows if row is not None}
    return tuple(replace(gpu, clocks=found.get(gpu.uuid, "")) for gpu in gpus)


def gpus_of(said: str) -> tuple[tuple[GpuInfo, ...], str]:
    """Parse nvidia-smi's answer to QUERY: the GPUs, and what else it printed: why there are none, or fewer."""
    gpus: dict[str, GpuInfo] = {}
    other = ""
    for row in said.splitlines():
        if found := _ROW.fullmatch(row.strip()):
            gpus.setdefault(found["uuid"], _gpu(found))
        elif row.strip() and not other:
            other = plain(row)
    return tuple(sorted(gpus.values(), key=lambda gpu: gpu.index)), other


def _gpu(row: re.Match[str]) -> GpuInfo:
    capability = re.fullmatch(r"([0-9]{1,2})\.([0-9])", row["cap"].strip())
    memory = row["memory"].strip()
    return GpuInfo(
        index=int(row["index"]),
        uuid=row["uuid"],
        pci=row["pci"],
        name=plain(row["name"], 60),
        arch=f"sm_{capability[1]}{capability[2]}" if capability else "",
        memory_mib=int(memory) if re.fullmatch("[0-9]{1,8}", memory) else 0,
        driver=plain(row["driver"], 20),
        persistence=row["persistence"].strip() != "Disabled",
        mig=row["mig"].strip() == "Enabled",
    )


def chosen(
    gpus: tuple[GpuInfo, ...], wanted: tuple[int | str, ...]
) -> tuple[tuple[GpuInfo, ...], tuple[int | str, ...]]:
    """Split `wanted`, indexes or UUIDs, into the GPUs they name and the names that no GPU has. Empty means all GPUs."""
    if not wanted:
        return gpus, ()
    names = {str(name).lower() for name in wanted}
    found = tuple(gpu for gpu in gpus if names & _names(gpu))
    known = {name for gpu in found for name in _names(gpu)}
    return found, tuple(name for name in wanted if str(name).lower() not in known)


def usable(gpus: tuple[GpuInfo, ...], wanted: tuple[int | str, ...]) -> tuple[GpuInfo, ...]:
    """Return those of the chosen GPUs that are not split by MIG."""
    return tuple(gpu for gpu in chosen(gpus, wanted)[0] if not gpu.mig)


def lent(gpus: tuple[GpuInfo, ...], visible: str) -> tuple[GpuInfo, ...]:
    """Return those of a node's GPUs that a scheduler lends, `visible` as in CUDA_VISIBLE_DEVICES."""
    names = {name.strip().lower() for name in visible.split(",")}
    return tuple(gpu for gpu in gpus if names & _names(gpu))


def _names(gpu: GpuInfo) -> set[str]:
    return {str(gpu.index), gpu.uuid.lower()}


def cuda_of(said: str) -> str:
    """Parse the toolkit's version from `nvcc --version`, "13.0"; empty where it is not there."""
    found = re.search(r"\brelease ([0-9]{1,3}\.[0-9]{1,3})\b", said)
    return found[1] if found else ""


def ncu_of(said: str) -> str:
    """Parse the version from `ncu --version`, "2025.3.1.0"; empty where it is not there."""
    found = re.search(r"^Version ([0-9]{1,4}(?:\.[0-9]{1,6}){1,3})\b", said, re.MULTILINE)
    return found[1] if found else ""


def version(text: str) -> Version:
    """Return the numbers of a version, for comparisons; empty for a text without any."""
    return tuple(int(part) for part in re.findall("[0-9]{1,9}", text))


def too_old(cuda: str, arch: str) -> str:
    """Return the first toolkit that builds for `arch`, such as "12.8", if `cuda` is older; else empty."""
    toolkit, first = version(cuda), FIRST_CUDA.get(arch)
    return ".".join(map(str, first)) if toolkit and first and toolkit < first else ""


def listed(gpus: Iterable[tuple[str, str, int]]) -> str:
    """List GPUs, given as (name, arch, MiB), with equal ones counted.

    For example "8 × NVIDIA H100 80GB HBM3 (sm_90, 80 GiB)".
    """
    kinds: dict[str, int] = {}
    for name, arch, memory_mib in gpus:
        facts = ", ".join(filter(None, (arch, f"{memory_mib / 1024:.0f} GiB" if memory_mib else "")))
        kind = f"{name} ({facts})" if facts else name
        kinds[kind] = kinds.get(kind, 0) + 1
    return ", ".join(f"{count} × {kind}" if count > 1 else kind for kind, count in kinds.items())
