# SPDX-License-Identifier: BSD-2-Clause
"""The Makefile with a compiler that compiles nothing, tools/deps with an apt-get that installs nothing, the media's
bytes."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools"))

from labkit.wait import until  # noqa: E402

# A compiler that writes a word into the file that -o names. With `pair` in its folder, two must compile at the same
# time. No object may be compiled before the packages are there, when they are being installed.
COMPILER = """\
#!/bin/sh
here=${0%/*}
if [ -e "$here/packages" ] && ! [ -e "$here/installed" ]; then echo "no packages yet" >&2; exit 1; fi
for word; do case $last in -o) out=$word ;; esac; last=$word; done
case " $* " in *" -c "*)
    if [ -e "$here/pair" ]; then
        : >"$here/began.$$"
        for i in $(seq 200); do set -- "$here"/began.*; [ $# -ge 2 ] && break; sleep 0.05; done
        [ $# -ge 2 ] || { echo "compiles alone" >&2; exit 1; }
    fi ;;
esac
echo made >"$out"
"""
TOOLS = {
    "x-gcc": COMPILER,
    "x-nm": "#!/bin/sh\necho 00100000 T main\n",
    "x-objcopy": "#!/bin/sh\ncp \"$2\" \"$3\"\n",
    "x-strip": "#!/bin/sh\ncp \"$3\" \"$2\"\n",
}
DEPS = "#!/bin/sh\n: >bin/packages; sleep 0.3; : >bin/installed\n"


def script(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    path.chmod(0o755)


@pytest.fixture(name="tree")
def make_tree(tmp_path: Path) -> Path:
    """The project's Makefile with two source files and the compiler above."""
    for name in ("Makefile", "tests/tests.mk", "tools/symtab"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        shutil.copy(ROOT / name, tmp_path / name)
    for name, text in {"kernel/sources.mk": "SRC += kernel/a.c kernel/b.c\n", "kernel/a.c": "", "kernel/b.c": "",
                       "boot/gateway.ld": "", "images/README.md": ""}.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    for name, text in TOOLS.items():
        script(tmp_path / "bin" / name, text)
    script(tmp_path / "tools/deps", DEPS)
    script(tmp_path / "tools/run", "#!/bin/sh\necho runs\n")
    return tmp_path


def make(tree: Path, *words: str) -> subprocess.CompletedProcess[str]:
    environment = {name: value for name, value in os.environ.items() if not name.startswith("MAKE")}
    command = ["make", f"CROSS={tree}/bin/x-", *words]
    return subprocess.run(command, cwd=tree, env=environment, capture_output=True, text=True, timeout=60, check=False)


def made(tree: Path) -> list[str]:
    return sorted(path.name for path in (tree / "images").glob("gateway*"))


def test_image_is_built_in_parallel(tree: Path) -> None:
    """Two files are compiled at the same time; an image that is up to date is left alone."""
    (tree / "bin/pair").touch()
    done = make(tree, "-j2", "image")
    assert done.returncode == 0, done.stderr
    assert made(tree) == ["gateway.elf", "gateway.sym"]
    assert "Nothing to be done" in make(tree, "image").stdout


def test_packages_come_first(tree: Path) -> None:
    """`make run` installs packages before it compiles; `make image` needs no Debian."""
    done = make(tree, "-j2", "run")
    assert done.returncode == 0 and done.stdout.endswith("runs\n"), done.stderr
    (tree / "bin/packages").unlink()
    assert make(tree, "clean", "image").returncode == 0
    assert not (tree / "bin/packages").exists()


def test_clean_and_image(tree: Path) -> None:
    """On a built tree, serially and in parallel; -n removes nothing, and clean alone removes all."""
    assert make(tree, "image").returncode == 0
    for words in (("clean", "image"), ("-j2", "clean", "image")):
        (tree / "build/stale").touch()
        done = make(tree, *words)
        assert done.returncode == 0, done.stderr
        assert made(tree) == ["gateway.elf", "gateway.sym"] and not (tree / "build/stale").exists()
    make(tree, "-n", "clean", "image")
    assert made(tree) == ["gateway.elf", "gateway.sym"]
    assert make(tree, "clean").returncode == 0
    assert made(tree) == [] and not (tree / "build").exists()


@pytest.mark.parametrize("nm", [None, "#!/bin/sh\nexit 1\n", "#!/bin/sh\necho 00100000 D data\n"])
def test_no_image_without_names(tree: Path, nm: str | None) -> None:
    """A missing nm, one that fails, and one that finds no function."""
    (tree / "bin/x-nm").unlink()
    if nm:
        script(tree / "bin/x-nm", nm)
    assert make(tree, "image").returncode != 0 and made(tree) == []
    script(tree / "bin/x-nm", TOOLS["x-nm"])
    assert make(tree, "image").returncode == 0
    assert "main" in (tree / "build/image/symtab.S").read_text()


def test_deleted_symbols_come_back(tree: Path) -> None:
    assert make(tree, "image").returncode == 0
    for name in ("gateway.sym", "gateway.elf"):
        (tree / "images" / name).unlink()
        assert make(tree, "image").returncode == 0
        assert made(tree) == ["gateway.elf", "gateway.sym"]


APT = """\
#!/bin/sh
cp "$DPKG_ROOT/usr/sbin/policy-rc.d" "$DPKG_ROOT/seen" 2>/dev/null
[ -e "$DPKG_ROOT/quick" ] || { echo installs; sleep 1000 & wait $!; }
"""


@pytest.fixture(name="machine")
def make_machine(tmp_path: Path) -> Path:
    """A root on which every package is missing, and an apt-get that does not end."""
    (tmp_path / "usr/sbin").mkdir(parents=True)
    for name, text in {"dpkg-query": "#!/bin/sh\n", "apt-get": APT, "id": "#!/bin/sh\necho 0\n",
                       "systemctl": "#!/bin/sh\n"}.items():
        script(tmp_path / "bin" / name, text)
    return tmp_path


def signals_by_default() -> None:
    for sign in (signal.SIGINT, signal.SIGHUP):
        signal.signal(sign, signal.SIG_DFL)


@contextmanager
def deps(machine: Path) -> Iterator[subprocess.Popen[str]]:
    """tools/deps, and at the end its exit status; nothing of it remains."""
    environment = {**os.environ, "DPKG_ROOT": str(machine), "PATH": f"{machine}/bin:{os.environ['PATH']}"}
    # A shell cannot trap a signal that it was started to ignore, as below nohup.
    process = subprocess.Popen([ROOT / "tools/deps", "packages"], env=environment, stdout=subprocess.PIPE, text=True,
                               start_new_session=True, preexec_fn=signals_by_default)
    try:
        yield process
        process.wait(120)
    finally:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.communicate()


def first_lines(process: subprocess.Popen[str]) -> None:
    """Waits until apt-get runs."""
    assert process.stdout
    assert process.stdout.readline().startswith("deps: installing") and process.stdout.readline() == "installs\n"


@pytest.mark.parametrize("sign", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGPIPE])
def test_interrupted_installation(machine: Path, sign: signal.Signals) -> None:
    """The file that keeps services from being started disappears with a run that is interrupted."""
    policy = machine / "usr/sbin/policy-rc.d"
    with deps(machine) as process:
        first_lines(process)
        assert policy.read_text().endswith("exit 101\n") and os.access(policy, os.X_OK)
        os.killpg(process.pid, sign)
    assert process.returncode == 128 + sign and not policy.exists()


def test_killed_installation(machine: Path) -> None:
    """What a run left that was killed, the next one removes, whether it installs anything or not."""
    policy = machine / "usr/sbin/policy-rc.d"
    for present in (False, True):
        with deps(machine) as process:
            first_lines(process)
            os.killpg(process.pid, signal.SIGKILL)
        assert policy.exists()
        (machine / "quick").touch()
        if present:
            script(machine / "bin/dpkg-query", "#!/bin/sh\nfor name; do echo installed $name; done\n")
        with deps(machine) as process:
            pass
        assert process.returncode == 0 and not policy.exists()
        (machine / "quick").unlink()


def test_the_administrators_policy_stays(machine: Path) -> None:
    policy = machine / "usr/sbin/policy-rc.d"
    policy.write_text("#!/bin/sh\nexit 101\n")
    (machine / "quick").touch()
    with deps(machine) as process:
        pass
    assert process.returncode == 0 and policy.read_text() == "#!/bin/sh\nexit 101\n"


def test_installations_exclude_each_other(machine: Path) -> None:
    """The second run waits, so the first one does not remove its file."""
    policy = machine / "usr/sbin/policy-rc.d"
    with deps(machine) as one:
        first_lines(one)
        (machine / "seen").unlink()
        (machine / "quick").touch()
        with deps(machine) as two:
            assert two.stdout and two.stdout.readline().startswith("deps: installing")
            until(lambda: waits_for_a_lock(two.pid), 20, "the second run to wait")
            assert policy.exists() and not (machine / "seen").exists()
            os.killpg(one.pid, signal.SIGTERM)
        assert two.returncode == 0 and (machine / "seen").exists() and not policy.exists()


def waits_for_a_lock(pid: int) -> bool:
    """Whether a child of this process is flock."""
    children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    return any(Path(f"/proc/{child}/comm").read_text() == "flock\n" for child in children)


def media(tmp_path: Path, name: str, *prefix: str, **environment: str) -> dict[str, bytes]:
    """The bytes of all media that mkimages builds, run by `prefix`."""
    image, out = tmp_path / "gateway.elf", tmp_path / name
    image.write_bytes(b"image")
    out.mkdir()
    out.chmod(0o777)
    subprocess.run([*prefix, ROOT / "tools/mkimages", "--elf", image, "--out", out], check=True,
                   env={**os.environ, **environment})
    return {path.name: path.read_bytes() for path in out.iterdir()}


def test_media_do_not_depend_on_the_builder(tmp_path: Path) -> None:
    """The same bytes for another user, umask, date, zone and language, and an empty SOURCE_DATE_EPOCH; other bytes for
    another time."""
    tmp_path.chmod(0o755)
    normal = media(tmp_path, "normal")
    other = ("unshare", "--user", "--map-user=1234", "sh", "-c", 'umask 077; exec "$@"', "sh")
    assert sorted(normal) == ["gateway-usb.img", "gateway.ipxe", "gateway.iso"]
    same = media(tmp_path, "other", *other, SOURCE_DATE_EPOCH="")
    assert [name for name in normal if normal[name] != same[name]] == []
    # faketime must leave the times of files alone: tools compare them with each other.
    elsewhere = ("faketime", "2031-07-08 23:59:01", *other)
    same = media(tmp_path, "elsewhere", *elsewhere, NO_FAKE_STAT="1", TZ="Asia/Kathmandu", LC_ALL="C.UTF-8")
    assert [name for name in normal if normal[name] != same[name]] == []
    later = media(tmp_path, "later", SOURCE_DATE_EPOCH="1800000000")
    assert [name for name in normal if normal[name] != later[name]] != []


def test_no_time(tmp_path: Path) -> None:
    """A SOURCE_DATE_EPOCH that is no number is one line."""
    (tmp_path / "gateway.elf").touch()
    done = subprocess.run([ROOT / "tools/mkimages", "--elf", tmp_path / "gateway.elf", "--out", tmp_path],
                          env={**os.environ, "SOURCE_DATE_EPOCH": "today"}, capture_output=True, text=True, check=False)
    assert done.returncode == 1 and done.stderr.count("\n") == 1 and "SOURCE_DATE_EPOCH" in done.stderr
