"""What is asked of Slurm, on the machine where its commands run, and how its answers are read: all of it pure."""

import re
import shlex
from dataclasses import dataclass
from math import inf
from pathlib import Path, PurePath
from typing import Literal

from kpd.hosts.errors import HostError
from kpd.hosts.slurm.keys import SlurmKeys

STATES = "PENDING,CONFIGURING,RUNNING,SUSPENDED"
FIELDS = "%i|%T|%r|%S|%e|%l|%N|%P|%b|%a|%u"
NO_COMMAND, NO_QUEUE, NO_SUBMISSION, NOBODY = 96, 95, 94, 93
LOCK_S = 5  # to wait for a script that submits a job
FIRST_VAIN_S, MOST_VAIN_S = 60.0, 3600.0
SHOWN = 400  # characters of Slurm's words
JOB = re.compile(r"[0-9]{1,12}")
SUBMITTED = re.compile(r"\A([0-9]{1,12})(;\S*)?\n")
NODE = re.compile(r"[A-Za-z0-9_.-]{1,255}")

REFUSALS = (
    (r"nvalid partition", "set `partition` to one that `sinfo -s` lists"),
    (r"nvalid account|account/partition combination",
     "set `account` to one of yours: `sacctmgr show assoc user=$USER`"),
    (r"nvalid qos|Invalid QOS", "set `qos` to one of yours: `sacctmgr show assoc user=$USER format=qos`"),
    (r"nvalid generic resource|node configuration is not available",
     "correct `gres`, `constraint` and `cpus`: `sinfo -o '%P %G %f %c'` lists what nodes have"),
    (r"nvalid feature", "correct `constraint`: `sinfo -o '%P %f'` lists what nodes have"),
    (r"[Tt]ime ?limit", "set a shorter `time`: `sinfo -o '%P %l'` lists each partition's limit"),
    (r"policy|[Qq]uota|limit",
     "ask for less, or wait until your other jobs have ended; `sacctmgr show assoc` has the limits"),
)  # fmt: skip
"""What sbatch says when it refuses a job, and what helps."""
ABSENT = re.compile(r"nable to contact|onnection (refused|reset|timed out)|not responding|timed out", re.IGNORECASE)
"""Slurm's words where its controller does not answer: the next try may succeed."""
NOT_SET_UP = re.compile(r"configuration source|slurm\.conf|invalid user", re.IGNORECASE)
NEVER = {
    "PartitionTimeLimit": "set a shorter `time`: `sinfo -o '%P %l'` lists each partition's limit",
    "PartitionNodeLimit": "set another `partition`",
    "PartitionConfig": "the partition does not give so much: correct `cpus`, `gres`, `time` or `partition`",
    "BadConstraints": "correct `gres` and `constraint`",
    "InvalidAccount": "set `account` to one of yours",
    "InvalidQOS": "set `qos` to one of yours",
    "AssocMaxWallDurationPerJobLimit": "set a shorter `time`",
    "QOSMaxWallDurationPerJobLimit": "set a shorter `time`",
    "DependencyNeverSatisfied": "remove the dependency from `extra`",
}
"""Reasons for which a job waits in vain, unless a person changes something."""
LIMITS = (
    (r"(Assoc|QOS)Grp\w*Minutes(Limit)?", "the account's hours are used up: ask for more, or set another `account`"),
    (r"(Assoc|QOS)Max\w+PerJob(Limit)?", "one job may not have so much: ask for less in `cpus` and `gres`"),
    (r"(Assoc|QOS)MaxGRESPerUser", "ask for less in `gres`, or end other jobs of yours"),
)
"""The same for the limits of accounts and of qualities of service."""


@dataclass(frozen=True, slots=True)
class Allocation:
    """A job as squeue shows it. Times are Unix times by the cluster's clock, None where Slurm does not know them."""

    job: str
    state: Literal["pending", "running"]
    reason: str = ""
    begins: float | None = None
    ends: float | None = None
    limit_s: float | None = None
    node: str = ""
    partition: str = ""
    gres: str = ""
    account: str = ""
    user: str = ""


def asking(keys: SlurmKeys, name: str, python: str, patience_s: float, folder: PurePath, most_s: float = inf) -> str:
    """Return a script that lists the job of this name, after having submitted one where there was none.

    The id of one that it has submitted comes first; it lasts for at most `most_s`. It may be repeated: a lock in
    `folder`, where nobody else may write, keeps two copies of it from submitting both.
    """
    squeue = listing(keys, name)
    options = " ".join(map(shlex.quote, keys.options(name, most_s)))
    return f"""
command -v {keys.program("sbatch")} >/dev/null && command -v {keys.program("squeue")} >/dev/null || exit {NO_COMMAND}
{_lock(name, folder)} || exit {NO_QUEUE}
there=$({squeue}) || exit {NO_QUEUE}
if [ -z "$there" ]; then
{keys.program("sbatch")} {options} <<'KPD_JOB' 9>&- || exit {NO_SUBMISSION}
{batch(name, python, patience_s)}
KPD_JOB
{squeue} || exit {NO_QUEUE}
else echo "$there"; fi
"""


def _lock(name: str, folder: PurePath) -> str:
    """Return a command that locks what is submitted and cancelled under this name; it fails where others keep it."""
    lock = shlex.quote(f"{folder}/{name}.lock")
    return f"if command -v flock >/dev/null && : >>{lock}; then exec 9>>{lock}; flock -w {LOCK_S} 9; fi"


def listing(keys: SlurmKeys, name: str) -> str:
    """Return the command that lists the jobs of this name, of this user."""
    squeue = keys.program("squeue")
    return f"SLURM_TIME_FORMAT=%s {squeue} -h -u \"$(id -un)\" -n {name} -t {STATES} -o '{FIELDS}'"


def batch(name: str, python: str, patience_s: float) -> str:
    """Return the batch script: the holder, which Slurm copies to the node itself."""
    source = (Path(__file__).parent / "holder.py").read_text()
    return f"""#!/bin/sh
exec 3<<'KPD'
{source}KPD
source=$(cat <&3)
exec 3<&-
exec {shlex.quote(python)} -I -S -c "$source" {patience_s:g} "$source" {name}
"""


def remedy_of(reason: str) -> str:
    """Return what helps a job that waits in vain for this reason; empty for one that will begin some time."""
    known = NEVER.get(reason, "")
    return known or next((helps for pattern, helps in LIMITS if re.fullmatch(pattern, reason)), "")


def cancelling(keys: SlurmKeys, name: str, folder: PurePath) -> str:
    """Return a script that ends all jobs of this name, of this user, after one that is just being submitted."""
    return f'{_lock(name, folder)}\n{keys.program("scancel")} -u "$(id -un)" -n {name}'


def cancelling_only(keys: SlurmKeys, jobs: list[str]) -> str:
    """Return the command that ends these jobs, of those of one name that were submitted twice."""
    return f"{keys.program('scancel')} {' '.join(jobs)}"


def ending(keys: SlurmKeys, name: str, job: str) -> str:
    """Return the command that shows how a job has ended, for as long as Slurm remembers it: longest in its accounts.

    A job of another name is none: a controller that crashes gives the ids of its last seconds again.
    """
    show, known = keys.program("scontrol"), keys.program("sacct")
    return (
        f"export SLURM_TIME_FORMAT=%s; {show} -o show job {job} | grep -F 'JobName={name} '"
        f" || {known} -nXP -j {job} --name={name} --format=State,End"
        " | sed 's/^\\([A-Z_]*\\)[^|]*|/JobState=\\1 EndTime=/'"
    )


def how_it_ended(said: str) -> str:
    """Read Slurm's word for the end of a job, such as TIMEOUT, with its exit status where that is not 0."""
    state, status = (
        re.search(r"\bJobState=([A-Z_]{1,40})", said),
        re.search(r"\bExitCode=([0-9]{1,5}:[0-9]{1,5})", said),
    )
    if state is None:
        return ""
    return f"{state[1]} {status[1]}" if status is not None and status[1] != "0:0" else state[1]


def when_it_ended(said: str) -> float | None:
    """Read the Unix time of the end of a job; None where Slurm does not know it."""
    found = re.search(r"\bEndTime=([0-9]{1,12})\b", said)
    return float(found[1]) if found is not None else None


def shell(*words: str) -> str:
    """Return a command as one line of a shell."""
    return " ".join(map(shlex.quote, words))


def step(keys: SlurmKeys, found: Allocation) -> tuple[str, ...]:
    """Return the command that starts a program in a step of its own beside others, on the allocation's node."""
    return (
        keys.program("srun"),
        "-Q",
        f"--jobid={found.job}",
        "--overlap",
        "-u",
        "-n1",
        "-N1",
        f"--nodelist={found.node}",
    )


def waiting(folder: str, tries: int) -> str:
    """Return a script that waits until the holder listens in `folder`; one of somebody else, or a link, is none.

    It ends with NOBODY where none does, also in the folder that a killed one has left. What is run from there is read
    from there; in a folder like /tmp nobody else can take ours away.
    """
    ours = f"test -O {folder} && ! test -L {folder} && grep -qF ' {folder}/socket' /proc/net/unix"
    return f"for n in $(seq {tries}); do {ours} && exit 0; sleep 0.2; done; exit {NOBODY}"


def submitted(said: str) -> str:
    """Return the id of the job that sbatch has printed before squeue's lines; empty where none was submitted."""
    found = SUBMITTED.match(said)
    return found[1] if found is not None else ""


def allocations(said: str) -> list[Allocation]:
    """Read what squeue printed: the jobs, the oldest first. Raises ValueError for strange lines."""
    found = [_job(line) for line in SUBMITTED.sub("", said, count=1).splitlines() if line.strip()]
    return sorted(found, key=lambda one: int(one.job))


def next_try_s(in_vain: int) -> float:
    """Return for how long no job is asked for after so many in a row that ended before they could be used."""
    return min(FIRST_VAIN_S * 2.0 ** (in_vain - 1), MOST_VAIN_S)


def _job(line: str) -> Allocation:
    parts = line.strip().split("|")
    if len(parts) != FIELDS.count("|") + 1 or not JOB.fullmatch(parts[0]):
        raise ValueError(f"squeue printed a strange line: {line[:SHOWN]!r}")
    job, state, reason, begins, ends, limit, node, partition, gres, account, user = parts
    running = state == "RUNNING"
    if running and not NODE.fullmatch(node):
        raise ValueError(f"squeue printed a strange node: {node[:SHOWN]!r}")
    return Allocation(
        job, "running" if running else "pending", reason[:80], _time(begins), _time(ends), _seconds(limit), node,
        partition[:80], _known(gres), _known(account), _known(user),
    )  # fmt: skip


def _known(text: str) -> str:
    return "" if text in ("N/A", "(null)") else text[:80]


def _time(text: str) -> float | None:
    return float(text) if re.fullmatch(r"[0-9]{1,12}", text) else None


def _seconds(text: str) -> float | None:
    """Return the seconds of Slurm's [days-][[hours:]minutes:]seconds."""
    found = re.fullmatch(r"(?:([0-9]{1,5})-)?((?:[0-9]{1,5}:){0,2}[0-9]{1,5})", text)
    if found is None:
        return None
    seconds = 0.0
    for part in found[2].split(":"):
        seconds = seconds * 60 + int(part)
    return seconds + 86_400 * int(found[1] or 0)


def refusal(host: str, rc: int | None, words: str) -> HostError:
    """Return the error for a script of `asking` that did not succeed, with what helps."""
    said = " ".join(words.replace("sbatch: error: ", "").split())[:SHOWN]
    if rc == NO_COMMAND:
        remedy = "set `bin` to the folder of Slurm's commands, or `via` to the host of config.toml that has them"
        return HostError("config", f"{host}: there are no Slurm commands (sbatch, squeue) on the PATH", remedy)
    if rc is None or ABSENT.search(words) or (rc == NO_QUEUE and not NOT_SET_UP.search(words)):
        return HostError("unreachable", f"{host}: Slurm's controller does not answer: {said}", "kpd keeps trying")
    remedy = next(
        (helps for pattern, helps in REFUSALS if re.search(pattern, words)), "correct the host's table in config.toml"
    )
    what = "refused the job" if rc == NO_SUBMISSION else f"cannot be asked ({rc})"
    return HostError("config", f"{host}: Slurm {what}: {said}", remedy)
