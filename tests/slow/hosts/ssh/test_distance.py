"""A host that is far away: everything works, only later."""

from pathlib import Path

import pytest

from tests.support.hosts.local import spec
from tests.support.hosts.slow_pipe import proxy
from tests.support.hosts.ssh import host_by, ssh_to
from tests.support.hosts.sshd import ssh_config, sshd


@pytest.mark.parametrize("round_trip_s", [0.1, 1.0])
async def test_a_far_host(tmp_path: Path, round_trip_s: float) -> None:
    with sshd(tmp_path, MaxSessions=1) as server:
        async with proxy(server.port) as network:
            network.delay_s = round_trip_s / 2
            alias = f"[127.0.0.1]:{server.port}"
            config = ssh_config(tmp_path / "config", server, box={"Port": network.port, "HostKeyAlias": alias})
            async with host_by(ssh_to(server, config=config), tmp_path / "host") as host:
                assert host.rtt_s >= round_trip_s
                digest = await host.stage({"kernel.c": b"int x;\n", "large": bytes(200_000)})
                script = f"cat {host.root}/trees/{digest}/kernel.c; head -c 300000 /dev/zero; exit 3"
                result = await host.job(spec("a", script))
                assert (result.rc, result.reason) == (3, "")
                assert result.stdout == b"int x;\n" + bytes(300_000)
                assert (await host.run("echo far", 5.0)).stdout == b"far\n"
