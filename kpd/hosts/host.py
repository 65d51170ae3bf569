"""What the rest of kpd sees of a host: stage files, run jobs by id, read back results."""

from dataclasses import dataclass, field
from typing import Literal


@dataclass(frozen=True, slots=True)
class JobSpec:
    """A shell script to run once on a host. `id` is the job's identity: a host runs one id at most once."""

    id: str
    script: str
    limit_s: float
    stdin: bytes = b""
    env: dict[str, str] = field(default_factory=dict)
    cpus: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class JobResult:
    """How a job ended. `reason` is empty when the script ended by itself; `rc` is negative for a signal."""

    id: str
    rc: int
    stdout: bytes
    stderr: bytes
    seconds: float
    reason: Literal["", "timeout", "killed", "lost"] = ""
    cached: bool = False
