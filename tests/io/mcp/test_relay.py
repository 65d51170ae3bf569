"""The relay's own process between an agent and a built tool's server."""

import json
import subprocess
import sys
import time

from tests.support.patience import PATIENCE_S

DEAF = "import os, time; print(sorted(os.environ), flush=True); time.sleep(60)"
RELAY = """
import sys
from kpd.mcp import relay
relay.GRACE_S = 0.2
sys.exit(relay.relay([sys.executable, "-c", sys.argv[1]], {"PATH": "/bin", "LC_CTYPE": "C"}, print) == -9)
"""


def test_a_server_gets_no_other_variable_and_ends_though_it_ignores_the_end_of_its_stdin() -> None:
    begun = time.monotonic()
    argv = [sys.executable, "-c", RELAY, DEAF]
    nested = b'{"id":' + b"[" * 900 + b"]" * 900 + b',"method":"tools/call","params":{}}\n'
    found = subprocess.run(argv, input=nested, capture_output=True, timeout=PATIENCE_S, check=False)
    assert json.loads(found.stdout.splitlines()[0].replace(b"'", b'"')) == ["LC_CTYPE", "PATH"], found.stderr
    assert found.returncode == 1 and time.monotonic() - begun < 20, "killed after its grace"
