# SPDX-License-Identifier: BSD-2-Clause
"""Private mount, network and process namespaces, which disappear when their first process ends.

    outer    the process that was called: forwards signals, returns the exit status
    init     process 1 of the new process namespace: reaps orphans, ends with `main`
    main     the program itself

Nothing remains in any case: init dies with outer (by the parent-death signal, which works even after SIGKILL), the
kernel ends every process of the namespace with init, and network namespaces, taps, mounts and files under /run
disappear with the last process.

Without root a user namespace is added in which the caller is root.
"""

import ctypes
import errno
import os
import signal
import sys
from typing import NoReturn

CLONE_NEWNS = 0x00020000
CLONE_NEWUSER = 0x10000000
CLONE_NEWPID = 0x20000000
CLONE_NEWNET = 0x40000000

_MS_NOSUID, _MS_NODEV, _MS_NOEXEC, _MS_REC, _MS_PRIVATE = 2, 4, 8, 0x4000, 0x40000
_PR_SET_PDEATHSIG = 1

# The identity of the network namespace outside: a process that is still in that namespace is not inside, even if it
# inherited the variable.
_OUTSIDE = "BAREGATE_LAB_OUTSIDE"

_libc = ctypes.CDLL(None, use_errno=True)


class SandboxError(Exception):
    """The kernel or the container refuses something that the lab needs; the text says what."""


def _check(result: int, what: str) -> None:
    if result != 0:
        code = ctypes.get_errno()
        raise SandboxError(f"{what}: {os.strerror(code)}")


def unshare(flags: int) -> None:
    """Moves the calling process into new namespaces of the kinds in `flags`."""
    _check(_libc.unshare(ctypes.c_int(flags)), "unshare")


def setns(fd: int, kind: int) -> None:
    """Moves the calling thread into the namespace that `fd` refers to."""
    _check(_libc.setns(ctypes.c_int(fd), ctypes.c_int(kind)), "setns")


def mount(source: str, target: str, kind: str, flags: int = 0, data: str = "") -> None:
    """mount(2)."""
    result = _libc.mount(source.encode(), target.encode(), kind.encode(),
                         ctypes.c_ulong(flags), data.encode())
    _check(result, f"mount {kind or source} on {target}")


def _die_with_parent() -> None:
    _check(_libc.prctl(_PR_SET_PDEATHSIG, ctypes.c_ulong(signal.SIGKILL), 0, 0, 0), "prctl")


def inside() -> bool:
    """True when this process already runs in a sandbox."""
    outside = os.environ.get(_OUTSIDE)
    return outside is not None and outside != _netns_id()


def _netns_id() -> str:
    return os.readlink("/proc/self/ns/net")


def _map_root(uid: int, gid: int) -> None:
    """In a new user namespace: maps the caller's ids to root, the only ids there."""
    for name, text in (("setgroups", "deny"), ("uid_map", f"0 {uid} 1"), ("gid_map", f"0 {gid} 1")):
        with open(f"/proc/self/{name}", "w", encoding="ascii") as file:
            file.write(text)


def _furnish() -> None:
    """Makes the mounts of the new namespaces: their own /proc, and an empty /run."""
    mount("none", "/", "", _MS_REC | _MS_PRIVATE)
    mount("proc", "/proc", "proc", _MS_NOSUID | _MS_NODEV | _MS_NOEXEC)
    mount("tmpfs", "/run", "tmpfs", _MS_NOSUID | _MS_NODEV, "mode=755")
    for directory in ("/run/netns", "/run/lock", "/run/tmp"):
        os.mkdir(directory)
    os.environ["TMPDIR"] = "/run/tmp"


def enter(argv: list[str]) -> None:
    """Returns at once inside a sandbox; outside, runs `argv` inside a new one and exits with its status.

    Call it early, with one thread. Exits with status 2 and one line when the system does not allow the namespaces.
    """
    if inside():
        return
    sys.stdout.flush()
    sys.stderr.flush()
    os.environ[_OUTSIDE] = _netns_id()
    uid, gid = os.getuid(), os.getgid()
    try:
        if uid != 0:
            unshare(CLONE_NEWUSER)
            _map_root(uid, gid)
        unshare(CLONE_NEWNS | CLONE_NEWNET | CLONE_NEWPID)
    except (SandboxError, OSError) as error:
        _refuse(error)
    # init reads this pipe once: end of file means that outer died before the parent-death signal was armed.
    alive_read, alive_write = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(alive_write)
        _init(argv, alive_read)
    os.close(alive_read)
    _outer(child)


def _refuse(error: Exception) -> NoReturn:
    print(f"lab: this system does not allow private namespaces ({error}); run as root", file=sys.stderr)
    os._exit(2)


def _forward(signals: tuple[signal.Signals, ...], child: int) -> None:
    def handler(number: int, _frame: object) -> None:
        try:
            os.kill(child, number)
        except ProcessLookupError:
            pass
    for number in signals:
        signal.signal(number, handler)


def _wait_for(child: int) -> int:
    """Reaps ended processes until `child` ends; gives its status in the form of a shell."""
    while True:
        pid, status = os.wait()
        if pid == child:
            code = os.waitstatus_to_exitcode(status)
            return code if code >= 0 else 128 - code


def _outer(child: int) -> NoReturn:
    # Ctrl-C reaches the whole foreground group by itself: main handles it.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGQUIT, signal.SIG_IGN)
    _forward((signal.SIGTERM, signal.SIGHUP), child)
    os._exit(_wait_for(child))


def _init(argv: list[str], alive: int) -> NoReturn:
    try:
        _die_with_parent()
        os.set_blocking(alive, False)
        try:
            if os.read(alive, 1) == b"":
                os._exit(1)
        except OSError as error:
            if error.errno != errno.EAGAIN:
                raise
        _furnish()
    except (SandboxError, OSError) as error:
        _refuse(error)
    main = os.fork()
    if main == 0:
        try:
            os.execvp(argv[0], argv)
        except OSError as error:
            print(f"lab: {argv[0]}: {error.strerror}", file=sys.stderr)
            os._exit(127)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGQUIT, signal.SIG_IGN)
    _forward((signal.SIGTERM, signal.SIGHUP), main)
    os._exit(_wait_for(main))
