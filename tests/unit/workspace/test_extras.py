"""The command that installs an extra names the checkout that kpd runs from, and this Python."""

import sys

from kpd.workspace.extras import install
from tests.places import ROOT


def test_an_extra_is_installed_from_the_checkout_into_this_environment() -> None:
    assert install("report") == f"{sys.executable} -m pip install -e '{ROOT}[report]'"
