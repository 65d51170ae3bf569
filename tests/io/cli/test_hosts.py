"""kpd hosts: what is shown of them, a host written into config.toml, and its key trusted, over a real sshd."""

import json
from dataclasses import replace

import pytest
from hypothesis import given, strategies as st

from kpd.cli import hosts
from kpd.cli.hosts_add import name_for
from kpd.cli.main import main
from kpd.cli.terminal_text import clean
from kpd.hosts.slurm.keys import SlurmKeys
from kpd.model import codec
from kpd.model.hosts import Check, Device, GpuProcess, HostCard, Telemetry
from kpd.workspace.config import load_config
from kpd.workspace.host_tables import HOST_NAME, HostConfig
from kpd.workspace.paths import Workspace
from tests.support.cli.places import MINE, Kpd, at_home, box, fingerprint, ws
from tests.support.hosts.sshd import Sshd

__all__ = ["at_home", "box", "ws"]


def kpd(ws: Workspace, *args: str) -> int:
    return main(["-w", str(ws.root), "hosts", *args])


# ── add ───────────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("address", "taken", "name"),
    [
        ("box", (), "box"),
        ("me@gpu7.example.org:2222", (), "gpu7"),
        ("gpu7.example.org", ("gpu7",), "gpu7-2"),
        ("gpu7", ("gpu7", "gpu7-2"), "gpu7-3"),
        ("localhost", (), "localhost"),
        ("local", ("local",), "local-2"),
        ("10.0.0.7:22", (), "10.0.0.7"),
        ("me@[fe80::1%eth0]:22", (), "fe80--1-eth0"),
        ("fe80::1", (), "fe80--1"),
        ("_dmz_", (), "dmz"),
        ("a" * 60, ("a" * 32,), "a" * 30 + "-2"),
    ],
)
def test_a_name_comes_from_the_address(address: str, taken: tuple[str, ...], name: str) -> None:
    assert name_for(address, taken) == name


@given(st.from_regex(r"[A-Za-z0-9_][\w.-]{0,80}", fullmatch=True))
def test_every_such_name_is_one(address: str) -> None:
    first = name_for(address, ())
    second = name_for(address, (first,))
    assert HOST_NAME.fullmatch(first) and HOST_NAME.fullmatch(second) and first != second


@pytest.mark.parametrize(
    ("before", "gap"),
    [
        (MINE, b"\n"), (MINE.rstrip(), b"\n\n"), (MINE.replace(b"\n", b"\r\n"), b"\r\n"),
        (b"\xef\xbb\xbf" + MINE, b"\n"), (b"", b""), (None, b""),
    ],
)  # fmt: skip
def test_a_host_is_appended_and_all_else_stays(ws: Workspace, before: bytes | None, gap: bytes) -> None:
    ws.config.unlink() if before is None else ws.config.write_bytes(before)
    assert kpd(ws, "add", "me@gpu7.example.org:2222", "--accept-new", "--no-check") == 0
    end = b"\r\n" if before and b"\r\n" in before else b"\n"
    rows = (b"[hosts.gpu7]", b'transport = "ssh"', b'address = "me@gpu7.example.org:2222"', b"accept_new = true", b"")
    assert ws.config.read_bytes() == (before or b"") + gap + end.join(rows)
    config = load_config(ws)
    assert config.hosts["gpu7"] == HostConfig(transport="ssh", address="me@gpu7.example.org:2222", accept_new=True)
    assert (config.run.iterations == 3, "old" in config.hosts) == (bool(before), bool(before))


def test_several_hosts_with_names_of_all_kinds(ws: Workspace, capsys: pytest.CaptureFixture[str]) -> None:
    ws.config.chmod(0o640)
    for args in (
        ["10.0.0.7"], ["old.example.org"], ["x", "--name", "A.b-c_d"], ["y", "--transport", "controlmaster"],
        ["CORP\\me@z"],
    ):  # fmt: skip
        assert kpd(ws, "add", *args, "--no-check") == 0
    assert capsys.readouterr().out.split() == ["10.0.0.7", "old-2", "A.b-c_d", "y", "z"]
    found = load_config(ws).hosts
    assert list(found) == ["local", "old", "10.0.0.7", "old-2", "A.b-c_d", "y", "z"]
    assert found["z"].address == "CORP\\me@z"
    assert found["y"] == HostConfig(transport="controlmaster", address="y")
    assert ws.config.read_bytes().startswith(MINE)
    assert ws.config.stat().st_mode & 0o777 == 0o640
    assert [path.name for path in ws.root.iterdir() if path.name.startswith(".config")] == []


def test_a_cluster_is_added_with_its_keys(ws: Workspace) -> None:
    keys = ("time=4:00:00", "partition=h100", "gres=gpu:h100:1", "cpus=8", "extra=--mem=32G --exclude=n7")
    sets = [word for key in keys for word in ("--set", key)]
    assert kpd(ws, "add", "old", "--transport", "slurm", "--no-check", *sets) == 0
    here = ("--set", "time=5", "--set", "max_gpu_hours_per_day=7.5")
    assert kpd(ws, "add", "local", "--transport", "slurm", "--name", "here", "--no-check", *here) == 0
    hosts = load_config(ws).hosts
    assert hosts["cluster"].options == SlurmKeys(
        "4:00:00", via="old", partition="h100", gres="gpu:h100:1", cpus=8, extra=("--mem=32G", "--exclude=n7")
    )
    assert hosts["here"].options == SlurmKeys("5", max_gpu_hours_per_day=7.5)


def test_a_linked_config_stays_a_link(ws: Workspace) -> None:
    target = ws.root / "elsewhere.toml"
    ws.config.rename(target)
    ws.config.symlink_to(target)
    assert kpd(ws, "add", "box", "--no-check") == 0
    assert ws.config.is_symlink() and "[hosts.box]" in target.read_text()


@pytest.mark.parametrize(
    ("before", "args", "told"),
    [
        (MINE, ["-oProxyCommand=x"], "arguments are required"),
        (MINE, ["--", "-oProxyCommand=x"], "'-oProxyCommand=x' is not an address; write [user@]host[:port]"),
        (MINE, ["me@box; rm -rf /"], "is not an address"),
        (MINE, ['x"\n[run]'], "is not an address"),
        (MINE, ["me@box", "--transport", "slurm"], "no host me@box to go through; kpd hosts add me@box first"),
        (MINE, ["old", "--transport", "slurm"], "needs time, how long one allocation lasts"),
        (MINE, ["old", "--transport", "slurm", "--set", "time=10", "--set", "tme=1"], "tme=1 sets no key of slurm"),
        (MINE, ["old", "--transport", "slurm", "--set", "time=soon"], "no time limit"),
        (MINE, ["old", "--transport", "slurm", "--set", "time=10", "--set", "cpus=x"], "cpus"),
        (MINE, ["box", "--set", "time=10"], "--set is of no use with ssh"),
        (MINE, ["a:b:c]"], "is not an address"),
        (MINE, ["box:99999"], "is not an address"),
        (MINE, ["me@old"], "me@old is there already, as old; kpd doctor old"),
        (MINE, ["box", "--name", "old"], "there is a host old already"),
        (MINE, ["box", "--name", "local"], "'local' cannot be a host's name; it is reserved for this machine"),
        (MINE, ["box", "--name", "any"], "'any' cannot be a host's name; it is reserved for whichever host is free"),
        (MINE, ["box", "--name", "a b"], "cannot be a host's name"),
        (MINE, ["box", "--name", 'a"]\n[x'], "cannot be a host's name"),
        (MINE, ["box", "--transport", "local"], "invalid choice"),
        (b"hosts = { old = { transport = 'ssh', address = 'o' } }\n", ["box"], "[hosts.box] appears twice"),
        (b"[run\n", ["box"], "config.toml:1: not TOML"),
        (b"[run]\nhost = 'nowhere'\n", ["box"], "names 'nowhere'"),
    ],
)
def test_what_is_refused_leaves_the_file_as_it_was(
    ws: Workspace, capsys: pytest.CaptureFixture[str], before: bytes, args: list[str], told: str
) -> None:
    ws.config.write_bytes(before)
    assert kpd(ws, "add", "--no-check", *args) == 64
    assert ws.config.read_bytes() == before
    said = capsys.readouterr()
    assert said.out == "" and told in said.err and said.err.count("\n") == 1


# ── trust ─────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_a_person_at_a_terminal_is_asked(at_home: Kpd, box: Sshd) -> None:
    no = at_home("hosts", "add", "box", answer="no\n")
    assert no.returncode == 3
    assert f"  {fingerprint(box)}" in no.stderr.replace("\r", "")
    assert "The same? [yes/no]" in no.stderr
    assert not box.known_hosts.exists()
    yes = at_home("hosts", "trust", "box", answer="yes\n")
    assert yes.returncode in (0, 1), yes.stderr
    assert box.host_key_pub in box.known_hosts.read_text()
    assert "✓ python" in yes.stdout


def test_accept_new_asks_nobody(at_home: Kpd, box: Sshd) -> None:
    added = at_home("hosts", "add", f"{box.user}@box", "--accept-new", "--name", "mine")
    assert added.returncode in (0, 1), added.stderr
    assert "✓ link          ssh to " in added.stdout
    assert box.host_key_pub in box.known_hosts.read_text()


def test_a_key_that_has_changed_is_never_offered_for_trust(at_home: Kpd, box: Sshd) -> None:
    box.know()
    box.restart(new_host_key=True)
    before = box.known_hosts.read_text()
    assert at_home("hosts", "add", "box").returncode == 3
    done = at_home("hosts", "trust", "box", "--yes")
    assert (done.returncode, "box offers no new key" in done.stderr) == (3, True)
    assert box.known_hosts.read_text() == before


def test_trust_and_retry_need_a_host_and_a_daemon(ws: Workspace, capsys: pytest.CaptureFixture[str]) -> None:
    assert kpd(ws, "trust", "odl") == 64
    assert "no host 'odl'; did you mean old?" in capsys.readouterr().err
    assert kpd(ws, "retry", "nobody") == 64
    assert kpd(ws, "retry", "old") == 3
    assert "no daemon runs" in capsys.readouterr().err


# ── the list ──────────────────────────────────────────────────────────────────────────────────────────────────────


def shown(card: HostCard, *waiting: str, width: int = 80, **seen: Telemetry) -> list[str]:
    looked = {id.replace("_", "-"): clean(json.loads(codec.encode(one))) for id, one in seen.items()}
    return hosts.report(clean(json.loads(codec.encode(card))), width, waiting, looked)


H100 = Device("GPU-1", "gpu", "NVIDIA H100 80GB HBM3", "sm_90", "00000000:19:00.0", 81559)
CARD = HostCard(
    "box", "ssh", system="Linux 6.8 x86_64", device="AMD EPYC 9554", address="me@box", rtt_ms=12.34,
    devices=(Device("cpu", "cpu", "AMD EPYC 9554"), H100, replace(H100, id="GPU-2"), Device("G", "gpu", "T4")),
    checks=(Check("link", "ok", "up"), Check("ncu", "bad", "no ncu", "install it"), Check("gpu", "off", "")),
)  # fmt: skip


def test_a_host_with_gpus() -> None:
    assert shown(CARD, "r7: the lease on GPU-1") == [
        "● box (ssh to me@box, up, 12.3 ms)",
        "  system     Linux 6.8 x86_64",
        "  device     AMD EPYC 9554",
        "  gpus       2 × NVIDIA H100 80GB HBM3 (sm_90, 80 GiB), T4",
        "  checks     1 ✓, 1 ✗ (ncu)",
        "  waiting    r7: the lease on GPU-1",
    ]


def test_a_host_that_is_down_shows_why_and_what_it_has() -> None:
    down = replace(CARD, link="down", error="no \x1b[2Janswer; check the network", trouble="unreachable", rtt_ms=None)
    lines = shown(down)
    assert lines[0] == "○ box (ssh to me@box, down)"
    assert "  error      no ␛[2Janswer; check the network" in lines
    assert not any("checks" in line for line in lines)
    assert "  device     AMD EPYC 9554" in lines


def test_without_any_host_it_says_how_to_look(ws: Workspace, capsys: pytest.CaptureFixture[str]) -> None:
    assert kpd(ws) == 0
    assert "kpd doctor" in capsys.readouterr().err
    assert kpd(ws, "--json") == 0
    assert json.loads(capsys.readouterr().out) == []


def test_what_gpus_do_now_is_a_line_for_each_that_was_looked_at() -> None:
    others = (GpuProcess(7, "python3", 1386), GpuProcess(8, "kernel", 5, "kpd"), GpuProcess(9, "Xorg", 5, "tolerated"))
    busy = Telemetry(
        1.0, "me@box:/ws, r1.2-time0", sm_mhz=1920.0, power_w=698.7, power_limit_w=700.0, temperature_c=59.0,
        memory_used_mib=1434.0, busy_pct=99.0, slowed=("power limit",), computes=others,
    )  # fmt: skip
    card = replace(CARD, devices=(*CARD.devices[:2], replace(H100, id="GPU-2", pci="00000000:41:00.0")))
    alone, both = shown(card, width=400, GPU_1=busy), shown(card, width=400, GPU_1=busy, GPU_2=Telemetry(1.0))
    told = (
        "1,920 MHz, 699 of 700 W, 59 °C, 1,434 of 81,559 MiB, 99 % busy, clock held by: power limit, "
        "lease: me@box:/ws, r1.2-time0, not kpd's: python3 (7)"
    )
    assert alone[-1] == f"  now        {told}"
    assert both[-2:] == [f"  now        00000000:19:00.0: {told}", "  now        00000000:41:00.0: no lease"]
    assert shown(card, GPU_1=Telemetry(1.0, trouble="nvidia-smi ended with 9"))[-1].endswith("nvidia-smi ended with 9")
    assert not [line for line in shown(card) if line.startswith("  now")]
