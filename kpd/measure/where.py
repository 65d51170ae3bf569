"""On what of a host a program of a measurement runs."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from kpd.hosts.host import JobSpec, Lease


@dataclass(frozen=True, slots=True)
class Where:
    """Pinned to a CPU or not, under a lease or not, with these variables set."""

    cpu: int | None = None
    lease: Lease | None = None
    env: Mapping[str, str] = field(default_factory=dict)

    def spec(self, job: str, script: str, limit_s: float, stdin: bytes = b"") -> JobSpec:
        """The job that runs `script` here."""
        cpus = () if self.cpu is None else (self.cpu,)
        return JobSpec(job, script, limit_s, stdin, env=dict(self.env), cpus=cpus, lease=self.lease)
