"""What several rooms' tests share."""

from hypothesis import settings

pytest_plugins = ["tests.served"]

# How long an example takes says how busy the machine is.
settings.register_profile("kpd", deadline=None)
settings.load_profile("kpd")
