# SPDX-License-Identifier: BSD-2-Clause
"""The lab: private network namespaces, QEMU with our image between them, and the programs that watch both.

Reading order: sandbox (the private namespaces in which everything runs), netns (hosts), serial and machine (QEMU), lab
(a LAN host, the gateway, a WAN server), then cli and demo.

Used by tools/lab, by the tests in tests/qemu and by the benchmarks. It needs only the standard library, so that
`make run` needs no virtual environment.

Rules: nothing outside the sandbox is changed or contacted; no fixed sleeps, only waits for a condition with a deadline;
every process that was started is ended by its own id.
"""
