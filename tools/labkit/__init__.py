# SPDX-License-Identifier: BSD-2-Clause
"""The lab: private network namespaces, QEMU with our image between them, and what watches both.

Reading order: sandbox (the private world everything happens in), netns (hosts),
serial and machine (QEMU), lab (a LAN host, the gateway, a WAN server), then cli and demo.

Used by tools/lab, by the tests in tests/qemu and by the benchmarks. Standard library
only, so that `make run` needs no virtual environment.

Rules: nothing outside the sandbox is touched or addressed; no sleep-and-hope, only
waits for a condition with a deadline; every process started is ended by its own id.
"""
