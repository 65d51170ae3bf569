"""What goes wrong on the way to a host through OpenSSH: its kind, in the host's own words, with what helps."""

from pathlib import Path

import pytest

from tests.support.hosts.openssh import Place, commands_in, place_at
from tests.support.hosts.openssh_errors import place, refused

__all__ = ["place"]


async def test_an_unknown_key_is_an_error_until_a_person_has_said_yes(place: Place) -> None:
    place.server.known_hosts.unlink()
    err = await refused(place)
    assert err.kind == "host_key" and f"[127.0.0.1]:{place.server.port}" in err.message
    assert commands_in(err.remedy) == [["ssh", "-F", str(place.config), "box"]] and "accept_new" in err.remedy
    assert not place.server.known_hosts.exists()

    transport = place.transport(accept_new=True)
    await (await transport.open()).close()
    await transport.close()
    assert place.server.host_key_pub in place.server.known_hosts.read_text()

    transport = place.transport()
    await (await transport.open()).close()
    await transport.close()


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("kill -KILL $$", "box: "),
        ("sh -c 'kill -TERM $$'; exit $?", "status 143"),
        ("echo 'System is going down. Unprivileged users are not permitted' >&2; exit 254", "going down"),
    ],
)
async def test_a_login_that_is_ended_at_once(tmp_path: Path, line: str, says: str) -> None:
    """By a fault that passes."""
    with place_at(tmp_path, ForceCommand=line) as place:
        err = await refused(place)
        assert err.kind == "unreachable" and says in err.message


async def test_a_host_that_goes_down_under_its_master_and_comes_back(place: Place) -> None:
    transport = place.transport()
    channel = await transport.open()
    place.server.stop()
    with pytest.raises(ConnectionResetError):
        await channel.reader.readexactly(1)
    await refused(place)
    place.server.start()
    await (await transport.open()).close()
    await transport.close()
