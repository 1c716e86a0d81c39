"""Files are replaced whole or not at all; what is no file is refused."""

from __future__ import annotations

import os
import socket
import stat
import sys
import threading

import pytest
from unprivileged import run_unprivileged

from sklearn_struct.persistence import from_crfsuite, load
from sklearn_struct.persistence import whole_files as disk
from sklearn_struct.persistence.whole_files import read_whole, write_whole

POSIX = pytest.mark.skipif(
    os.name != "posix", reason="pipes, sockets and permissions are those of POSIX"
)


@pytest.mark.parametrize("error", [KeyboardInterrupt, MemoryError, OSError])
@pytest.mark.parametrize("function", ["fsync", "replace", "chmod"])
def test_whole_or_not_at_all(tmp_path, monkeypatch, function, error):
    def interrupted(*arguments):
        raise error

    (tmp_path / "file").write_bytes(b"as before")
    monkeypatch.setattr(disk.os, function, interrupted)
    with pytest.raises(error):
        write_whole(tmp_path / "file", b"new")
    assert [path.name for path in tmp_path.iterdir()] == ["file"]
    assert (tmp_path / "file").read_bytes() == b"as before"


@pytest.mark.parametrize("there", [True, False])
def test_a_link_stays_a_link(tmp_path, there):
    (tmp_path / "folder").mkdir()
    if there:
        (tmp_path / "folder" / "file").write_bytes(b"old")
    (tmp_path / "link").symlink_to(tmp_path / "folder" / "file")
    (tmp_path / "second").symlink_to("link")
    write_whole(tmp_path / "second", b"new")
    assert (tmp_path / "second").readlink().name == "link"
    assert (tmp_path / "link").is_symlink()
    assert [path.name for path in (tmp_path / "folder").iterdir()] == ["file"]
    assert (tmp_path / "folder" / "file").read_bytes() == b"new"


@pytest.mark.parametrize(
    "name", ["a b\n", "ä😀", "-", "*?[]", "'\"", "a" * 200, "\udcff", ".hidden", "file."]
)
def test_odd_names(tmp_path, name):
    try:
        (tmp_path / name).write_bytes(b"old")
    except OSError:
        pytest.skip("the file system of this machine refuses the name itself")
    for data in (b"new", b""):
        write_whole(os.fsencode(tmp_path / name), data)
        assert read_whole(tmp_path / name) == data
    assert len(list(tmp_path.iterdir())) == 1


def pipe(path):
    os.mkfifo(path)


def loop(path):
    path.symlink_to(path)


def listener(path):
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(os.path.relpath(path))  # absolute paths may be too long for a socket


NO_FILES = {
    "folder": (lambda path: path.mkdir(), IsADirectoryError, "this is a folder"),
    "pipe": (pipe, OSError, "this is a pipe"),
    "socket": (listener, OSError, "this is a socket"),
    "loop": (loop, OSError, "[Ll]evels of symbolic links"),
}


@POSIX
@pytest.mark.parametrize("kind", NO_FILES)
def test_what_is_no_file_stays(tmp_path, kind):
    make, error, message = NO_FILES[kind]
    make(tmp_path / "thing")
    before = os.lstat(tmp_path / "thing")
    with pytest.raises(error, match=rf"{message}.*thing'$"):
        write_whole(tmp_path / "thing", b"new")
    assert stat.S_IFMT(os.lstat(tmp_path / "thing").st_mode) == stat.S_IFMT(before.st_mode)
    assert os.lstat(tmp_path / "thing").st_ino == before.st_ino
    assert [path.name for path in tmp_path.iterdir()] == ["thing"]


@POSIX
@pytest.mark.parametrize("kind", NO_FILES)
@pytest.mark.parametrize("read", [read_whole, load, from_crfsuite])
def test_what_is_no_file_is_not_read(tmp_path, kind, read):
    """A pipe without a writer would let its reader wait for ever."""
    make, error, message = NO_FILES[kind]
    make(tmp_path / "thing")
    found = []

    def ask():
        try:
            read(tmp_path / "thing")
        except OSError as told:
            found.append(told)

    waiting = threading.Thread(target=ask, daemon=True)
    waiting.start()
    waiting.join(timeout=60)
    assert len(found) == 1
    with pytest.raises(error, match=rf"{message}.*thing'$"):
        raise found[0]


@pytest.mark.skipif(not os.path.exists("/dev/null"), reason="this system has no /dev/null")
@pytest.mark.parametrize("linked", [False, True])
def test_devices_are_left_alone(tmp_path, linked, monkeypatch):
    """Nothing is replaced here in earnest, as root could."""
    monkeypatch.setattr(disk, "_replace", lambda *arguments: pytest.fail("it would be replaced"))
    (tmp_path / "link").symlink_to("/dev/null")
    with pytest.raises(OSError, match="this is a device"):
        write_whole(tmp_path / "link" if linked else "/dev/null", b"new")


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("", "this is a folder.*: ''$"),
        (".", r"this is a folder.*: '\.'$"),
        ("new/", "this is a folder.*: 'new/'$"),
        ("nowhere/file", "No such file or directory: 'nowhere/file'$"),
        ("file/inside", "Not a directory: 'file/inside'$"),
        ("a" * 5000, "name too long: 'aaa"),
    ],
)
@POSIX
def test_errors_name_what_was_given(tmp_path, monkeypatch, name, message):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "file").write_bytes(b"old")
    with pytest.raises(OSError, match=message):
        write_whole(name, b"new")
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


@POSIX
@pytest.mark.parametrize("mask", [0o022, 0o077])
def test_permissions(tmp_path, mask):
    """Those of the old file, but for programs' bits; of a new one what umask says."""
    old = tmp_path / "old"
    new = tmp_path / "new"
    old.write_bytes(b"")
    old.chmod(0o4640)
    before = os.umask(mask)
    try:
        write_whole(old, b"1")
        write_whole(new, b"1")
    finally:
        os.umask(before)
    assert old.stat().st_mode & 0o7777 == 0o640
    assert new.stat().st_mode & 0o7777 == 0o666 & ~mask


FORBIDDEN = """
import sys
from sklearn_struct.persistence.whole_files import write_whole
for name in ("folder/file", "file"):
    try:
        write_whole(name, b"new")
    except PermissionError as error:
        print(error)
"""


def test_what_is_write_protected_stays(tmp_path):
    (tmp_path / "folder").mkdir()
    for path in (tmp_path / "folder" / "file", tmp_path / "file"):
        path.write_bytes(b"old")
    (tmp_path / "file").chmod(0o444)
    (tmp_path / "folder").chmod(0o555)
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join(path or os.getcwd() for path in sys.path),
    }
    try:
        done = run_unprivileged("-c", FORBIDDEN, cwd=tmp_path, env=environment)
    finally:
        (tmp_path / "folder").chmod(0o755)
    assert done.stdout.splitlines() == [
        "[Errno 13] Permission denied: 'folder/file'",
        "[Errno 13] the file is write-protected: 'file'",
    ], done.stderr
    assert (tmp_path / "file").read_bytes() == (tmp_path / "folder" / "file").read_bytes() == b"old"
    assert sorted(path.name for path in tmp_path.rglob("*")) == ["file", "file", "folder"]


@POSIX
def test_a_full_disk(tmp_path):
    """The error has the name; what was there stays. A limit of file sizes stands for the disk."""
    (tmp_path / "file").write_bytes(b"old")
    code = f"""
import resource, signal
from sklearn_struct.persistence.whole_files import write_whole
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))
try:
    write_whole({str(tmp_path / "file")!r}, bytes(5000))
except OSError as error:
    print(error)
"""
    done = run_unprivileged("-c", code, cwd=os.getcwd())
    assert "File too large" in done.stdout, done.stderr
    assert done.stdout.endswith("/file'\n")
    assert (tmp_path / "file").read_bytes() == b"old"
    assert len(list(tmp_path.iterdir())) == 1
