"""Settings of the whole suite."""

from __future__ import annotations

import os
import signal

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

# The same on every machine: results are exact on the processor. What needs a GPU is tested with
# CUDA_VISIBLE_DEVICES=0 pytest tests/test_tensors.py
os.environ.setdefault("CUDA_VISIBLE_DEVICES", "")

# A shell that starts the suite in the background makes it ignore Ctrl-C, and programs that tests
# start and interrupt would inherit that.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)
