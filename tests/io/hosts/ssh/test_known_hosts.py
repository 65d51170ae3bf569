"""known_hosts read and written as OpenSSH does: ssh-keygen is asked what it thinks."""

import base64
import subprocess
from pathlib import Path

import pytest
from hypothesis import example, given, strategies as st

from kpd.hosts.ssh.known_hosts import KnownHosts, add, fingerprint, matches, names_of
from tests.support.hosts.sshd import make_key


def a_key(kind: str, content: bytes) -> str:
    name = kind.encode()
    raw = len(name).to_bytes(4, "big") + name + len(content).to_bytes(4, "big") + content
    return f"{kind} {base64.b64encode(raw).decode()}"


ONE, TWO = a_key("ssh-ed25519", b"1" * 32), a_key("ssh-ed25519", b"2" * 32)


def ssh_keygen(*arguments: object) -> str:
    done = subprocess.run(["ssh-keygen", *map(str, arguments)], capture_output=True, text=True)
    return done.stdout


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "known_hosts"


def known(path: Path, host: str, port: int = 22, alias: str = "") -> list[str]:
    return [entry.key for entry in KnownHosts.read([path]).keys(names_of(host, port, alias))]


@pytest.mark.parametrize(
    ("names", "name"),
    [
        ("box", "box"), ("box,10.0.0.1", "10.0.0.1"), ("*.lab", "a.lab"), ("*.lab,!b.lab", "b.lab"),
        ("!b.lab,*.lab", "b.lab"), ("!b.lab,*.lab", "c.lab"), ("b?x", "box"), ("b?x", "bx"), ("[box]:22", "[box]:22"),
        ("[*.lab]:2200", "[a.lab]:2200"), ("box", "[box]:22"), ("BOX", "box"), ("b.x", "box"), ("!box", "other"),
        ("10.0.0.*", "10.0.0.77"), ("[b]", "b"),
    ],
)  # fmt: skip
def test_patterns_mean_what_they_mean_to_openssh(names: str, name: str, path: Path) -> None:
    path.write_text(f"{names} {ONE}\n")
    assert matches(names, name) == bool(ssh_keygen("-F", name, "-f", path))


PATTERN = st.lists(st.text("ab.*?!", min_size=1, max_size=5), min_size=1, max_size=3).map(",".join)


@given(PATTERN, st.text("ab.", min_size=1, max_size=4))
@example("!a,a*", "ab")
def test_a_negated_pattern_always_wins(names: str, name: str) -> None:
    patterns = names.split(",")
    if any(pattern.startswith("!") and matches(pattern[1:], name) for pattern in patterns if pattern.count("!") == 1):
        assert not matches(names, name)
    if not any(pattern.startswith("!") for pattern in patterns) and name in patterns:
        assert matches(names, name)


def test_hashed_lines(path: Path) -> None:
    path.write_text(f"box {ONE}\n[box]:2200 {TWO}\n")
    ssh_keygen("-H", "-f", path)
    assert "box" not in path.read_text()
    assert (known(path, "box"), known(path, "BOX", 2200), known(path, "bux")) == ([ONE], [TWO], [])


def test_a_port_has_its_own_key_and_else_the_hosts(path: Path) -> None:
    path.write_text(f"box {ONE}\n")
    assert known(path, "box", 2200) == [ONE]
    add(path, "[box]:2200", TWO)
    assert known(path, "box", 2200) == [TWO]


def test_an_alias_stands_for_the_host_at_every_port(path: Path) -> None:
    path.write_text(f"cluster {ONE}\nbox {TWO}\n")
    assert known(path, "box", 2200, alias="Cluster") == [ONE]


def test_marked_lines_are_no_keys_of_the_host(path: Path) -> None:
    path.write_text(f"@cert-authority *.lab {ONE}\n@revoked * {TWO}\n@other box {ONE}\n")
    read = KnownHosts.read([path])
    names = names_of("a.lab", 2200)
    assert (read.keys(names), read.authorities(names), read.revoked(names)) == ([], {ONE}, {TWO})


def test_lines_that_nobody_understands_are_passed_over(path: Path) -> None:
    junk = ["", "#", "# box ssh-ed25519 x", "box", "box ssh-ed25519", "box ssh-ed25519 ???", "@cert-authority",
            f"box ssh-rsa {ONE.split()[1]}", "box 1024 35 12345", "|1|x box", "|1|x|y", f"|1|?|? {ONE}", f"|1| {ONE}",
            f"# box {ONE}"]  # fmt: skip
    path.write_bytes("\n".join(junk).encode() + b"\nb\xffx " + ONE.encode() + f"\nbox {TWO} and a comment\n".encode())
    assert known(path, "box") == [TWO]
    assert KnownHosts.read([path]).keys(["box"])[0].line == len(junk) + 2


@given(st.binary(max_size=200))
@example(b"box ssh-ed25519 \x80")
def test_any_bytes_can_be_read(tmp_path_factory: pytest.TempPathFactory, content: bytes) -> None:
    path = tmp_path_factory.getbasetemp() / "any"
    path.write_bytes(content)
    KnownHosts.read([path]).keys(["box"])


def test_a_new_file_is_its_owners_alone(tmp_path: Path) -> None:
    path = tmp_path / "ssh" / "known_hosts"
    add(path, "[box]:2200", ONE)
    assert (path.stat().st_mode & 0o777, path.parent.stat().st_mode & 0o777) == (0o600, 0o700)
    assert ONE in ssh_keygen("-F", "[box]:2200", "-f", path)


def test_an_unfinished_last_line_stays_whole(path: Path) -> None:
    path.write_text(f"a {ONE}")
    add(path, "b", TWO)
    assert path.read_text() == f"a {ONE}\nb {TWO}\n"
    assert (known(path, "a"), known(path, "b")) == ([ONE], [TWO])


def test_a_file_that_is_missing_or_a_folder_knows_nobody(tmp_path: Path) -> None:
    assert KnownHosts.read([tmp_path / "none", tmp_path]).keys(["box"]) == []


def test_fingerprints_are_those_of_ssh_keygen(tmp_path: Path) -> None:
    public = make_key(tmp_path / "key").with_suffix(".pub")
    assert fingerprint(public.read_text()) == ssh_keygen("-l", "-f", public).split()[1]
