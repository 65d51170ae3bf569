"""What `kpd doctor` looks at on a cluster: the partition, the limits of the user, and whether the root is shared."""

import shlex
from pathlib import PurePath

from kpd.hosts.slurm.keys import SlurmKeys
from kpd.model.hosts import Check

LOOK_S = 10.0
NODES = "%P|%a|%l|%D|%G|%c|%m"
SHOWN = 200  # characters of Slurm's words
LIMITS = "account,qos,maxjobs,maxsubmit,grptres,grptresmins,maxwall"


def partition_script(keys: SlurmKeys) -> str:
    """Return the command that lists the nodes of the partition, or of all."""
    of = f" -p {shlex.quote(keys.partition)}" if keys.partition else ""
    return f"{keys.program('sinfo')} -h{of} -o '{NODES}'"


def partition(keys: SlurmKeys, rc: int | None, said: str, words: str) -> Check:
    """Read what sinfo printed."""
    rows = [parts for line in said.splitlines() if len(parts := line.split("|")) == NODES.count("|") + 1]
    if rc != 0:
        return Check("partition", "bad", f"sinfo failed: {' '.join(words.split())[:SHOWN]}", "is `bin` Slurm's folder?")
    if not rows:
        return Check("partition", "bad", f"sinfo knows no {keys.partition}", "set `partition` to one of `sinfo -s`")
    told = [
        f"{name} {state}: {nodes} {'node' if nodes == '1' else 'nodes'} with {gres}, {cpus} CPUs and {memory} MB"
        f", at most {limit}"
        for name, state, limit, nodes, gres, cpus, memory in rows[:3]
    ]
    if not any(parts[1] == "up" for parts in rows):
        return Check("partition", "bad", "; ".join(told), "it takes no jobs now: wait, or set another `partition`")
    return Check("partition", "ok", "; ".join(told))


def limits_script(keys: SlurmKeys) -> str:
    """Return the command that lists what the user's accounts may use."""
    return f'{keys.program("sacctmgr")} -nP show assoc "user=$(id -un)" format={LIMITS}'


def limits(keys: SlurmKeys, rc: int | None, said: str) -> Check:
    """Read what sacctmgr printed: no error where Slurm keeps no accounts, as then nothing is limited."""
    rows = [dict(zip(LIMITS.split(","), line.split("|"), strict=False)) for line in said.splitlines() if "|" in line]
    if rc != 0 or not rows:
        return Check("quota", "off", "sacctmgr tells no account of yours: Slurm does not limit them here, or hides it")
    told = [" ".join(f"{key}={value}" for key, value in row.items() if value)[:SHOWN] for row in rows[:3]]
    mine = {row["account"] for row in rows}
    if keys.account and keys.account not in mine:
        remedy = f"set `account` to one of yours: {', '.join(sorted(mine))[:SHOWN]}"
        return Check("quota", "bad", f"{keys.account} is no account of yours", remedy)
    return Check("quota", "ok", "; ".join(told))


def shared(root: PurePath, seen: bool) -> Check:
    """Tell whether the login node has the node's root."""
    if seen:
        return Check("shared root", "ok", f"{root} is there on the login node, too")
    found = f"{root} is the node's own: each new node builds again, and all content goes through the pipe"
    return Check("shared root", "off", found, "set `root` to a folder that the nodes share, to keep what is built")
