"""Hosts that are reached through an OpenSSH master."""

from pathlib import Path

import pytest

from tests.support.hosts.openssh import Place, place_at
from tests.support.hosts.slow_pipe import Proxy


@pytest.fixture
def place(tmp_path: Path):
    with place_at(tmp_path) as place:
        yield place


def through(network: Proxy, place: Place) -> None:
    """Lets the client's configuration lead through a proxy."""
    place.config.write_text(place.config.read_text().replace(f"Port {place.server.port}", f"Port {network.port}"))
    place.server.known_hosts.write_text(f"[127.0.0.1]:{network.port} {place.server.host_key_pub}\n")
