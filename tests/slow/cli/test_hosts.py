"""kpd hosts: what is shown of them, a host written into config.toml, and its key trusted, over a real sshd."""

import json

from kpd.workspace.paths import Workspace
from tests.support.cli.places import Kpd, at_home, box, fingerprint, ws
from tests.support.hosts.sshd import Sshd

__all__ = ["at_home", "box", "ws"]


def test_an_unknown_key_is_shown_and_trusted_by_its_fingerprint(at_home: Kpd, box: Sshd, ws: Workspace) -> None:
    ws.config.unlink()
    added = at_home("hosts", "add", "box")
    assert added.returncode == 3
    assert added.stdout.splitlines()[0] == "box"
    assert f"kpd hosts trust box --fingerprint {fingerprint(box)}" in added.stderr
    assert not box.known_hosts.exists()
    wrong = at_home("hosts", "trust", "box", "--fingerprint", "SHA256:no")
    assert (wrong.returncode, "do not trust it" in wrong.stderr) == (1, True)
    asked = at_home("hosts", "trust", "box")
    assert (asked.returncode, "not trusted" in asked.stderr) == (64, True)
    assert not box.known_hosts.exists()
    trusted = at_home("hosts", "trust", "box", "--fingerprint", fingerprint(box))
    assert trusted.returncode in (0, 1), trusted.stderr
    assert "✓ link          ssh to box, " in trusted.stdout
    assert box.host_key_pub in box.known_hosts.read_text()
    again = at_home("hosts", "trust", "box", "--yes")
    assert (again.returncode, "there is no key to trust" in again.stderr) == (0, True)
    (card,) = json.loads(at_home("doctor", "box", "--json").stdout)["hosts"]
    assert (card["link"], card["address"], card["rtt_ms"] > 0) == ("up", "box", True)
