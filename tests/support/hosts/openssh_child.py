"""The environment in which OpenSSH's client starts."""

import os

ENV = {"PATH": os.defpath}
