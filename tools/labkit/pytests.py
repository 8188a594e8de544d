# SPDX-License-Identifier: BSD-2-Clause
"""Moves a pytest run into a sandbox."""

import sys
from typing import Any

from . import sandbox


def enter(config: Any) -> None:
    """From pytest_configure(config): returns inside the sandbox; outside, runs pytest again inside one and exits."""
    if sandbox.inside():
        return
    capture = config.pluginmanager.getplugin("capturemanager")
    if capture is not None:
        # The new process must write to the real standard output, not to pytest's file.
        capture.stop_global_capturing()
    sandbox.enter([sys.executable, "-m", "pytest", *config.invocation_params.args])
