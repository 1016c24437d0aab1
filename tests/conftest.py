"""Settings of the whole suite."""

from __future__ import annotations

from hypothesis import HealthCheck, settings

# The same examples on every run, and none that fails because the machine is busy.
settings.register_profile(
    "suite",
    deadline=None,
    derandomize=True,
    database=None,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("suite")
