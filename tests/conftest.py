"""Fixtures that several rooms' tests share, and which tests may run side by side."""

import pytest

pytest_plugins = ["tests.served"]

MEASURING = ("test_e2e_", "test_measure_", "test_profile_measured")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """What measures runs one after the other: side by side its processes would disturb each other's times."""
    for item in items:
        if item.path.name.startswith(MEASURING):
            item.add_marker(pytest.mark.xdist_group("measuring"))
