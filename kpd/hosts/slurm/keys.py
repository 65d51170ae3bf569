"""Defines the keys of a [hosts.*] table with `transport = "slurm"`."""

import re
from dataclasses import dataclass, field, replace
from math import inf

from kpd.workspace.durations import duration
from kpd.workspace.strict import Count, Few, NotNegative, Text
from kpd.workspace.transports import ASKED, BadKey

TIME = re.compile(r"[0-9]{1,6}|(?:[0-9]{1,4}-)?[0-9]{1,3}(?::[0-9]{1,2}){0,2}")
WORD = re.compile(r"[\w./:,=+@%*()\[\]&|-]*", re.ASCII)
OWN = (
    "--job-name", "--time", "--time-min", "--output", "--partition", "--array", "--requeue", "--nodes", "--ntasks",
    "--clusters", "--wrap", "--test-only", "--wait", "--hold", "--parsable",
)  # fmt: skip
"""Options of sbatch that kpd sets itself, or that would make another kind of job, or one that kpd does not find."""
SHORTER = {name[:size] for name in OWN for size in range(4, len(name) + 1)} - {"--nodelist", "--no"}
"""An option may be shortened to where it is the only one that begins so; these are those kept from users."""

SINGLE = "--dependency=singleton"
"""Has Slurm begin a job only when earlier ones of its name have ended: should two be submitted, one at a time runs."""


@dataclass(frozen=True, slots=True)
class BuildKeys:
    """What is asked for to build in, where that is another allocation; what is empty is as for that which measures."""

    partition: Text
    time: str = ""
    account: str = ""
    qos: str = ""
    constraint: str = ""
    cpus: Count = 4
    extra: tuple[Text, ...] = ()


@dataclass(frozen=True, slots=True)
class SlurmKeys:
    """What is asked of Slurm, and where its commands run: on the host `via` of config.toml, or on this machine.

    `bin` is the folder of Slurm's commands there, where they are not on the PATH. `partition`, `account`, `qos`,
    `gres`, `constraint` and `time` are those of sbatch; `extra` are further options of it. An allocation that no run
    needs is given back after `idle_release`; it ends itself when no daemon has been connected for `abandon_after`.
    `max_gpu_hours_per_day` is the limit of all its allocations on a day (UTC); 0 is none. There are `max_allocations`
    at a time at most, each a host of its own, on one node (`nodes`). Candidates are built in an allocation of `build`.
    """

    time: Text = field(metadata={ASKED: "how long one allocation lasts, as for sbatch: 4:00:00"})
    via: str = ""
    bin: str = ""
    partition: str = field(default="", metadata={ASKED: "the partition with the devices, as `sinfo -s` lists them"})
    account: str = field(default="", metadata={ASKED: "the account that pays"})
    qos: str = field(default="", metadata={ASKED: "the quality of service"})
    gres: str = field(default="", metadata={ASKED: "the devices of one allocation, as for sbatch: gpu:h100:1"})
    constraint: str = ""
    cpus: Count = 4
    extra: tuple[Text, ...] = ()
    idle_release: Text = "10m"
    abandon_after: Text = "15m"
    max_gpu_hours_per_day: NotNegative = 0.0
    nodes: Count = 1
    max_allocations: Few = field(
        default=1, metadata={ASKED: "how many allocations at a time, for several runs or for one"}
    )
    build: BuildKeys | None = None

    def __post_init__(self) -> None:
        if not TIME.fullmatch(self.time):
            raise BadKey("time", f"is no time limit: {self.time!r}", 'write it as for sbatch: "4:00:00", or minutes')
        for key in ("partition", "account", "qos", "gres", "constraint"):
            if not WORD.fullmatch(value := getattr(self, key)):
                raise BadKey(key, f"has signs that no such name has: {value!r}", "write it as for sbatch")
        if self.nodes != 1:
            remedy = f"max_allocations = {self.nodes} lends as many, each of which begins as soon as there is one"
            raise BadKey("nodes", f"is {self.nodes}: an allocation is one node, where a run works", remedy)
        if self.bin and not re.fullmatch(r"/[\w./+-]*", self.bin, re.ASCII):
            raise BadKey("bin", f"is no absolute path: {self.bin!r}", "name the folder of sbatch and squeue")
        for word in self.extra:
            name = word.partition("=")[0]
            if not word.startswith("--") or not WORD.fullmatch(word):
                raise BadKey("extra", f"has {word!r}", 'write one long option a word: "--mem=32G", "--exclude=n7"')
            if any(own.startswith(name) for own in OWN):  # options may be shortened
                raise BadKey(
                    "extra", f"sets {name}, which kpd sets itself", "use the key of that name, if there is one"
                )
        for key in ("idle_release", "abandon_after"):
            try:
                duration(getattr(self, key))
            except ValueError as err:
                raise BadKey(key, f"is {err}", 'write "90s", "20m" or "1h"') from err

    @property
    def of_builds(self) -> "SlurmKeys | None":
        """What is asked of Slurm for builds; None where they run in the allocation that measures."""
        if self.build is None:
            return None
        own = self.build
        return replace(
            self, partition=own.partition, time=own.time or self.time, account=own.account or self.account,
            qos=own.qos or self.qos, constraint=own.constraint, cpus=own.cpus, extra=own.extra, gres="",
            max_allocations=1, build=None,
        )  # fmt: skip

    @property
    def idle_s(self) -> float:
        return duration(self.idle_release)

    def program(self, name: str) -> str:
        """Return one of Slurm's commands as it is called."""
        return f"{self.bin.rstrip('/')}/{name}" if self.bin else name

    @property
    def time_s(self) -> float:
        """Return the time of an allocation in seconds, as sbatch reads it: minutes first, hours after a day."""
        days, dash, rest = self.time.rpartition("-")
        parts = [int(part) for part in rest.split(":")]
        units = (3600, 60, 1) if dash or len(parts) == 3 else (60, 1)
        return 86_400 * int(days or 0) + sum(unit * part for unit, part in zip(units, parts, strict=False))

    @property
    def gpus(self) -> int:
        """Return how many GPUs an allocation has."""
        return gpus_of(self.gres)

    def options(self, name: str, most_s: float = inf) -> tuple[str, ...]:
        """Return the options of sbatch for a job of this name: one task on one node, for at most `most_s`."""
        time = self.time if self.time_s <= most_s else str(int(most_s / 60))
        asked = {
            "partition": self.partition, "account": self.account, "qos": self.qos, "gres": self.gres,
            "constraint": self.constraint,
        }  # fmt: skip
        return (
            "--parsable", f"--job-name={name}", "--nodes=1", "--ntasks=1", f"--cpus-per-task={self.cpus}",
            f"--time={time}", "--no-requeue", "--output=/dev/null", SINGLE,
            *(f"--{key}={value}" for key, value in asked.items() if value), *self.extra,
        )  # fmt: skip


def gpus_of(gres: str) -> int:
    """Return how many GPUs a request for generic resources asks for: `gpu`, `gpu:2`, `gpu:h100:4`, `gpu:1,nic:2`."""
    count = 0
    for one in gres.split(","):
        kind, *rest = one.partition("(")[0].split(":")
        if kind == "gpu":
            count += int(rest[-1]) if rest and rest[-1].isdecimal() else 1
    return count
