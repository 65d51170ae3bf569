"""As many allocations as a run may have, behind one login node with the limits that sshd has where nobody sets any."""

import asyncio
from pathlib import Path, PurePosixPath

from kpd.hosts.host import Host
from kpd.hosts.ssh.shared import CHANNELS
from tests.support.hosts.local import spec, until
from tests.support.hosts.ssh import ssh_to
from tests.support.hosts.sshd import sshd

HOSTS = 24
JOB_S = 0.5
CUTS = 2


async def test_24_hosts_behind_one_sshd_lose_no_job_when_their_logins_die(tmp_path: Path) -> None:
    with sshd(tmp_path, MaxStartups="10:30:100", MaxSessions=10) as server:
        hosts = [Host(f"h{n}", PurePosixPath(tmp_path / f"h{n}"), ssh_to(server)) for n in range(HOSTS)]
        done = 0
        over = asyncio.Event()

        async def work(n: int) -> int:
            """Run jobs in a row on the host until there have been enough cuts, and return how many."""
            nonlocal done
            job = 0
            while not over.is_set():
                script = f"echo {job} >> {tmp_path}/ran{n}; sleep {JOB_S}; echo {job}"
                result = await hosts[n].job(spec(f"j{job}", script))
                assert (result.rc, result.stdout) == (0, b"%d\n" % job)
                done, job = done + 1, job + 1
            return job

        try:
            await asyncio.gather(*(host.connect() for host in hosts))
            working = asyncio.gather(*(work(n) for n in range(HOSTS)))
            for _ in range(CUTS):
                now = done
                await until(lambda now=now: done >= now + HOSTS or working.done())
                await asyncio.to_thread(server.cut)
                await until(lambda: any(not host.up for host in hosts) or working.done())
                await until(lambda: all(host.up for host in hosts) or working.done())
            over.set()
            counts = await working
            for n, count in enumerate(counts):
                ran = (tmp_path / f"ran{n}").read_text().split()
                assert ran == [str(job) for job in range(count)], "each job ran once"
            assert all(host.tries <= 2 * (1 + CUTS) for host in hosts)
            waves = (1 + CUTS) * -(-HOSTS // CHANNELS)
            assert waves <= server.log().count("Accepted publickey") <= 2 * waves
            assert "MaxStartups" not in server.log() and "no more sessions" not in server.log()
        finally:
            await asyncio.gather(*(host.close() for host in hosts))
        await until(lambda: not server.sessions())
