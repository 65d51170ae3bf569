"""Checks a host's GPUs and CUDA tools, with the commands that help."""

import json
import re

from kpd.hosts.preflight.counter_trial import CounterTrial
from kpd.hosts.preflight.gpus import GpuInfo, chosen, listed, too_old, usable
from kpd.hosts.preflight.probe import HostFacts
from kpd.model.hosts import Check, Device, GpuProcess, HostCard, Telemetry
from kpd.workspace.host_tables import HostConfig

SMI_REMEDIES = {
    "version mismatch": "the driver was updated under a loaded kernel module: sudo reboot",
    "communicate with the NVIDIA driver": "sudo modprobe nvidia; sudo dmesg | grep -i nvrm says why not",
    "No devices were found": "in a container start it with --gpus all, else look at sudo dmesg | grep -i nvrm",
    "does not answer": "sudo dmesg | grep -i xid names a GPU that hangs; often only sudo reboot frees it",
    "not a valid field": "update the NVIDIA driver to 525 or later",
    "is lost": "sudo reboot brings a lost GPU back",
}
"""By a part of what nvidia-smi prints."""
NO_NVCC = "install the CUDA toolkit, or give its folder as cuda_home in config.toml"
FOR_ADMINS = (
    "echo 'options nvidia NVreg_RestrictProfilingToAdminUsers=0' | sudo tee /etc/modprobe.d/kpd.conf, "
    "then sudo update-initramfs -u (Fedora: sudo dracut -f) and sudo reboot"
)
FOR_TAKEN = "end it; DCGM's profiling stops with dcgmi profile --pause"
FOR_GUESTS = "in a container start it with --cap-add SYS_ADMIN; in a virtual machine its owner must permit them"


def gpu(facts: HostFacts, config: HostConfig) -> Check:
    trouble = facts["gpu_trouble"]
    if trouble and not facts["gpus"]:
        remedy = next((remedy for mark, remedy in SMI_REMEDIES.items() if mark in trouble), "run nvidia-smi there")
        return Check("gpu", "bad", trouble, remedy)
    found, missing = chosen(facts["gpus"], config.gpus)
    if missing:
        there = ", ".join(str(gpu.index) for gpu in facts["gpus"]) or "none"
        words = f"no GPU {', '.join(map(str, missing))} on this host; there: {there}"
        return Check("gpu", "bad", words, "correct gpus in config.toml; nvidia-smi -L lists them")
    if not found:
        return Check("gpu", "off", "no NVIDIA driver")
    split = [gpu for gpu in found if gpu.mig]
    words = "; ".join(_told(facts, usable(facts["gpus"], config.gpus), split))
    if split and (config.gpus or len(split) == len(found)):
        remedy = f"sudo nvidia-smi -i {split[0].index} -mig 0 makes it one GPU again, or choose others as gpus"
        return Check("gpu", "bad", words, remedy)
    return Check("gpu", "ok", words)


def _told(facts: HostFacts, gpus: tuple[GpuInfo, ...], split: list[GpuInfo]) -> list[str]:
    told = []
    if gpus:
        some = f"{len(gpus)} of {len(facts['gpus'])}: " if len(gpus) < len(facts["gpus"]) else ""
        told.append(f"{some}{listed((gpu.name, gpu.arch, gpu.memory_mib) for gpu in gpus)}")
    if split:
        told.append(f"GPU {', '.join(str(gpu.index) for gpu in split)} is split by MIG and left out")
    told.append(f"driver {facts['driver']}")
    if not all(gpu.persistence for gpu in gpus):
        told.append("programs start slowly without persistence mode (sudo nvidia-smi -pm 1)")
    if facts["gpu_trouble"]:
        told.append(f"nvidia-smi also says: {facts['gpu_trouble']}")
    return told


def nvcc(facts: HostFacts, config: HostConfig) -> Check:
    path, version, home = facts["nvcc"], facts["cuda"], config.cuda_home
    elsewhere = bool(home) and f"/{home.removeprefix('~/').strip('/')}/" not in path
    if not path:
        if home or facts["gpus"]:
            words = f"no nvcc in {home}, on the PATH or in /usr/local" if home else "no nvcc"
            return Check("nvcc", "bad", words, NO_NVCC)
        return Check("nvcc", "off", "no nvcc")
    if not version:
        return Check("nvcc", "bad", f"{path} does not say its version", f"run {path} --version there")
    if elsewhere:
        words = f"none in {home}; CUDA {version}, {path}, instead"
        return Check("nvcc", "bad", words, "correct cuda_home in config.toml")
    for arch in sorted({gpu.arch for gpu in usable(facts["gpus"], config.gpus)}):
        if first := too_old(version, arch):
            words = f"CUDA {version}, {path}, is too old for {arch}"
            return Check("nvcc", "bad", words, f"install CUDA {first} or later, or give its folder as cuda_home")
    return Check("nvcc", "ok", f"CUDA {version}, {path}")


def ncu(facts: HostFacts) -> Check:
    path, version = facts["ncu"], facts["ncu_version"]
    if path and version:
        return Check("ncu", "ok", f"{version}, {path}")
    if path:
        return Check("ncu", "bad", f"{path} does not say its version", f"run {path} --version there")
    if not facts["gpus"]:
        return Check("ncu", "off", "no ncu")
    remedy = "install Nsight Compute, a part of the CUDA toolkit, or give its folder as cuda_home in config.toml"
    return Check("ncu", "bad", "no ncu: candidates on a GPU are not profiled", remedy)


def counters(facts: HostFacts, tried: CounterTrial | None) -> Check:
    """Check the GPU counters: a trial of ncu counts most; without one, the driver's settings."""
    name, allowed = "gpu counters", facts["counters_open"]
    if not facts["gpus"] or not facts["ncu"]:
        return Check(name, "off", "no GPU" if not facts["gpus"] else "no ncu to read them")
    answer, words = (tried.answer, tried.words) if tried else ("untried", "ncu was not tried")
    if answer == "permitted":
        return Check(name, "ok", words)
    if allowed is False:
        # Root without the capability is root of a container: there no setting of the module can be changed.
        remedy = FOR_GUESTS if facts["rights"].startswith("uid 0\n") else FOR_ADMINS
        return Check(name, "bad", "the driver keeps them for administrators", remedy)
    if answer == "denied":
        return Check(name, "bad", words, FOR_GUESTS)
    if answer == "taken":
        return Check(name, "bad", words, FOR_TAKEN)
    if answer == "problem":
        return Check(name, "bad", words, "run ncu there on any CUDA program to see it in full")
    return Check(name, "ok", f"the driver permits them; {words}" if allowed else words)


NAME = "gpu use"
WHOSE = {
    "kpd": "kpd's own",
    "tolerated": "tolerated",
    "foreign": "not kpd's, measurements wait for its end",
    "unseen": "of another container, or gone",
}


def free(card: HostCard) -> tuple[Check, ...]:
    """Check each GPU that was looked at for other users; none on a host that is down."""
    if card.link != "up":
        return ()
    gpus = [device for device in card.devices if device.kind == "gpu"]
    return tuple(
        _check(card.name, f"{_bus(gpu)}: " if len(gpus) > 1 else "", gpu.telemetry) for gpu in gpus if gpu.telemetry
    )


def _check(host: str, which: str, seen: Telemetry) -> Check:
    if seen.trouble:
        return Check(NAME, "off", f"{which}unknown: {seen.trouble}")
    memory = [] if seen.memory_used_mib is None else [f"{seen.memory_used_mib:.0f} MiB in use"]
    lease = [f"leased by {seen.holder}"] if seen.holder else []
    who = [_process(one) for one in seen.computes] or lease or ["free"]
    found = which + "; ".join([*who, *memory])
    foreign = list(dict.fromkeys(one.name for one in seen.computes if one.whose == "foreign"))
    if foreign:
        names = json.dumps(foreign, ensure_ascii=False)
        remedy = f"wait for its end or end it; tolerate = {names} in [hosts.{host}] of config.toml lets it stay if idle"
        return Check(NAME, "bad", found, remedy)
    return Check(NAME, "off" if any(one.whose == "unseen" for one in seen.computes) else "ok", found)


def _process(one: GpuProcess) -> str:
    memory = "" if one.memory_mib is None else f", {one.memory_mib} MiB"
    return f"{one.name} (pid {one.pid}{memory}): {WHOSE[one.whose]}"


def _bus(gpu: Device) -> str:
    """Return the bus id, without its domain where that is the usual one."""
    return re.sub("^0+:(?=.*:)", "", gpu.pci) or gpu.id
