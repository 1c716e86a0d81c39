"""The disk cache of kernels never serves stale or damaged code, and is missing where it has no
place.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import numba
import pytest
from numba import njit
from unprivileged import run_unprivileged

from sklearn_struct.compiled import cache
from sklearn_struct.compiled.cache import (
    KernelCache,
    _is_private,
    _of_process,
    _of_user,
    _temporary_folder,
    keep,
)

SIMD = """
from mini.compiled.kernel import kernel
@kernel
def callee(x):
    return x + {increment}
"""
BATCH = """
from typing import NamedTuple
import numpy as np
class Pair(NamedTuple):
    {fields}
"""
CALLER = """
import numpy as np
from mini.containers.pairs import Pair
from mini.compiled.kernel import kernel
from mini.compiled.simd import callee
@kernel
def caller(pair):
    return callee(10) + 100 * pair.first[0]
"""
RUN = """
from mini.inference.caller import caller, np, Pair
print(caller(Pair(first=np.array([1.0]), second=np.array([2.0]))))
print(sum(caller.stats.cache_hits.values()))
print(sum(caller.stats.cache_misses.values()))
"""


@njit
def twice(x):
    return 2 * x


pytestmark = pytest.mark.skipif(not hasattr(twice, "stats"), reason="the JIT is switched off")


class Mini:
    """A package of our layout with one kernel that calls a kernel of another file."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.package = folder / "mini"
        for room in ("compiled", "containers", "inference", "losses", "linear", "encoding"):
            (self.package / room).mkdir(parents=True)
            (self.package / room / "__init__.py").touch()
        (self.package / "__init__.py").touch()
        ours = Path(cache.__file__).parents[1]
        files = ["kernel", "pipeline", "indexing", "cache"]
        for file in (*[f"compiled/{name}.py" for name in files], "_warning.py", "_uncollected.py"):
            text = (ours / file).read_text("utf-8")
            (self.package / file).write_text(text.replace("sklearn_struct", "mini"), "utf-8")
        (self.package / "inference" / "caller.py").write_text(CALLER)
        self.change()

    def change(
        self, increment: int = 1, fields: str = "first: np.ndarray; second: np.ndarray"
    ) -> None:
        (self.package / "compiled" / "simd.py").write_text(SIMD.format(increment=increment))
        (self.package / "containers" / "pairs.py").write_text(BATCH.format(fields=fields))

    def environment(self, **more: str | None) -> dict[str, str]:
        environment = {
            **os.environ,
            "NUMBA_CACHE_DIR": str(self.folder / "cache"),
            "PYTHONPATH": str(self.folder),
        }
        environment |= {"PYTHONWARNINGS": "always", **more}
        environment.pop("NUMBA_DISABLE_JIT", None)
        return {name: value for name, value in environment.items() if value is not None}

    def result(self, done: subprocess.CompletedProcess[str]) -> tuple[float, bool]:
        """The kernel's result, and whether the cache served it."""
        assert done.returncode == 0, done.stderr
        result, hits, misses = done.stdout.split()
        assert int(hits) + int(misses) == 1
        return float(result), int(hits) == 1

    def run(self, **more: str | None) -> tuple[float, bool]:
        """In a fresh process."""
        command = [sys.executable, "-B", "-c", RUN]
        environment = self.environment(**more)
        done = subprocess.run(
            command, cwd=self.folder, env=environment, capture_output=True, text=True
        )
        self.said = done.stderr
        return self.result(done)

    def kept(self) -> list[Path]:
        """The files of the kernel."""
        return [file for file in self.folder.rglob("*.nbc") if "caller" in file.name]


@pytest.fixture
def mini(tmp_path):
    return Mini(tmp_path)


# ---- stale and damaged files


def test_a_change_in_another_file_is_seen(mini):
    """A callee, or the order of the fields of a NamedTuple; what has not changed comes from the
    cache.
    """
    assert mini.run() == (111.0, False)
    assert mini.run() == (111.0, True)
    mini.change(increment=11)
    assert mini.run() == (121.0, False)
    mini.change(increment=11, fields="second: np.ndarray; first: np.ndarray")
    assert mini.run() == (121.0, False)
    assert len(mini.kept()) == 1


def test_a_room_further_down_leaves_kernels_alone(mini):
    mini.run()
    (mini.package / "encoding" / "other.py").write_text("x = 1")
    assert mini.run() == (111.0, True)
    (mini.package / "compiled" / "other.py").write_text("x = 1")
    assert mini.run() == (111.0, False)


@pytest.fixture
def kept(tmp_path, monkeypatch):
    """A kernel with a cache of its own, and its file for integers."""
    monkeypatch.setattr(numba.config, "CACHE_DIR", str(tmp_path))

    def fresh():
        function = njit(twice.py_func)
        keep(function)
        return function

    function = fresh()
    assert function(2) == 4
    (file,) = tmp_path.rglob("*.nbc")
    return SimpleNamespace(fresh=fresh, file=file)


def is_served(kept, x=3):
    """Whether a call is served by the cache; its result is right in any case."""
    function = kept.fresh()
    assert function(x) == 2 * x
    return sum(function.stats.cache_hits.values()) == 1


def damages(content):
    yield "empty", b""
    yield "short", content[:20]
    yield "cut", content[:-20]
    yield "longer", content + b"x"
    yield "random", bytes(range(256)) * 20
    for place in (0, 40, len(content) // 2, len(content) - 1):
        yield (
            f"bit at {place}",
            content[:place] + bytes([content[place] ^ 16]) + content[place + 1 :],
        )


def test_damaged_files_mean_compilation(kept):
    """Whatever the damage is: of machine code, too, of which a processor would make something."""
    content = kept.file.read_bytes()
    assert is_served(kept)
    for damage, bytes_ in damages(content):
        kept.file.write_bytes(bytes_)
        assert not is_served(kept), damage
        assert is_served(kept)  # mended


def test_what_is_no_file_means_compilation(kept):
    kept.file.unlink()
    kept.file.mkdir()
    with pytest.warns(UserWarning, match=f"cannot be kept in {kept.file.parent} .*NUMBA_CACHE_DIR"):
        assert not is_served(kept)


def test_a_file_serves_the_signature_that_it_is_for(kept):
    """Not another one whose name it got."""
    assert not is_served(kept, 0.5)
    (other,) = set(kept.file.parent.glob("*.nbc")) - {kept.file}
    other.write_bytes(kept.file.read_bytes())
    assert not is_served(kept, 0.5)


@pytest.mark.parametrize("name", ["numba", "llvmlite", "np"])
def test_other_versions_of_others_mean_compilation(kept, name, monkeypatch):
    library = getattr(cache, name)
    fake = SimpleNamespace(**{**vars(library), "__version__": "0.0.0"})
    monkeypatch.setattr(cache, name, fake)
    assert not is_served(kept)


def test_recompilation_forgets_what_is_kept(kept):
    function = kept.fresh()
    function(2)
    function.recompile()
    assert kept.file.exists()
    function._cache.flush()
    assert not kept.file.exists()


@pytest.fixture
def silence_over(monkeypatch):
    """As in a process that has said nothing yet."""
    cache._say.cache_clear()
    _temporary_folder.cache_clear()
    yield
    cache._say.cache_clear()
    _temporary_folder.cache_clear()


def test_a_full_disk_is_a_warning(kept, monkeypatch, silence_over):
    """One, with the remedy; nothing is left of a file that could not be written."""

    def fail(path, content):
        with path.open("wb") as file:
            file.write(content[:10])
        raise OSError(28, "No space left on device")

    kept.file.unlink()
    monkeypatch.setattr(Path, "write_bytes", fail)
    with pytest.warns(UserWarning, match="No space left on device.*NUMBA_CACHE_DIR") as found:
        assert not is_served(kept)
    assert [warning.filename for warning in found] == [__file__]
    assert not is_served(kept)  # without one more
    assert not list(kept.file.parent.iterdir())


def test_ctrl_c_leaves_no_half_of_a_file(kept, monkeypatch):
    def interrupted(new, path):
        raise KeyboardInterrupt

    kept.file.unlink()
    monkeypatch.setattr(os, "replace", interrupted)
    with pytest.raises(KeyboardInterrupt):
        kept.fresh()(1)
    assert not list(kept.file.parent.iterdir())


# ---- no place to write to


@pytest.fixture
def nowhere(monkeypatch, tmp_path, silence_over):
    """Numba finds no folder but in a temporary directory, which others can write to."""
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    temporary.chmod(0o1777)
    monkeypatch.setattr("tempfile.tempdir", str(temporary))
    monkeypatch.setattr(numba.config, "CACHE_DIR", "")
    init = KernelCache.__init__

    def init_if_chosen(self, function):
        if not numba.config.CACHE_DIR:
            raise RuntimeError("cannot cache function: no locator available")
        init(self, function)

    monkeypatch.setattr(KernelCache, "__init__", init_if_chosen)
    return temporary


def kernel_of(warned=True):
    function = njit(twice.py_func)
    if warned:
        with pytest.warns(UserWarning, match="NUMBA_CACHE_DIR") as found:
            keep(function)
        assert len(found) == 1
    else:
        keep(function)
    return function


needs_owners = pytest.mark.skipif(
    not hasattr(os, "geteuid"), reason="files have no owners and modes here"
)


@needs_owners
def test_a_folder_of_the_user_is_next(nowhere):
    assert kernel_of()(1) == 2
    (folder,) = nowhere.iterdir()
    assert folder.name == f"sklearn_struct-{os.geteuid()}"
    assert folder.stat().st_mode & 0o777 == 0o700
    function = kernel_of(warned=False)  # not once more
    assert function(1) == 2
    assert sum(function.stats.cache_hits.values()) == 1
    assert numba.config.CACHE_DIR == ""


def with_mode(folder):
    folder.mkdir()
    folder.chmod(0o750)


def linked(folder):
    (folder.parent / "theirs").mkdir(mode=0o700)
    folder.symlink_to(folder.parent / "theirs")


def as_file(folder):
    folder.touch(mode=0o700)


def of_another(folder):
    folder.mkdir(mode=0o700)
    if os.geteuid() != 0:
        pytest.skip("only root can give a folder away")
    os.chown(folder, 12345, -1)


@needs_owners
@pytest.mark.parametrize("prepare", [with_mode, linked, as_file, of_another])
def test_a_folder_that_another_may_have_filled_is_not_used(nowhere, prepare):
    """Then it is one of this process."""
    expected = nowhere / f"sklearn_struct-{os.geteuid()}"
    prepare(expected)
    before = {*nowhere.rglob("*")}
    assert _of_user() is None
    function = kernel_of()
    assert function(1) == 2
    folder = function._cache.private
    assert {*nowhere.iterdir()} - before == {folder}
    assert _is_private(folder)
    assert {*nowhere.rglob("*.nbc")} <= {*folder.rglob("*")}


@needs_owners
def test_where_all_can_move_files_the_user_has_none(nowhere):
    nowhere.chmod(0o777)
    assert _of_user() is None
    nowhere.chmod(0o700)
    assert _of_user() is not None


@needs_owners
@pytest.mark.parametrize("change", [0o755, None])
def test_a_folder_is_looked_at_each_time(nowhere, change, silence_over):
    """Cleaners of temporary directories may make room for another's."""
    kernel_of()(1)
    function = kernel_of(warned=False)
    folder = function._cache.private
    if change:
        folder.chmod(change)
    else:
        folder.rename(nowhere / "gone")
        (nowhere / "gone").mkdir(exist_ok=True)
        folder.symlink_to(nowhere / "gone")
    with pytest.warns(UserWarning, match="cannot be kept .*is not what it was"):
        assert function(1) == 2
    assert not function.stats.cache_hits


def test_a_folder_of_the_process_goes_with_it(nowhere):
    folder = _of_process()
    cache._remove(folder, os.getpid() + 1)  # as in a fork
    assert folder.exists()
    cache._remove(folder, os.getpid())
    assert not folder.exists()


def test_without_any_folder_kernels_are_compiled(nowhere):
    nowhere.rmdir()
    function = kernel_of()
    assert function(1) == 2
    assert function._cache.cache_path is None


@pytest.mark.parametrize("named", [False, True])
def test_without_a_home_beside_a_package_that_is_read_only(mini, tmp_path, named):
    """As in containers and on clusters: in a real process, for a user whom permissions bind."""
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    folders = [mini.package, *(path for path in mini.package.rglob("*") if path.is_dir())]
    for folder in folders:
        folder.chmod(0o555)
    home = __file__  # no folder, so that not even the owner of everything can write there
    chosen = f"{home}/x" if named else None
    environment = mini.environment(
        TMPDIR=str(temporary), NUMBA_CACHE_DIR=chosen, HOME=home, XDG_CACHE_HOME=None
    )
    try:
        served = []
        for _ in range(2):
            done = run_unprivileged("-B", "-c", RUN, cwd=tmp_path, env=environment)
            served.append(mini.result(done))
            assert done.stderr.count("UserWarning") == 1
            assert done.stderr.startswith("<string>:2: UserWarning")  # who imports it
            assert "Set the environment variable NUMBA_CACHE_DIR" in done.stderr
            assert (
                f"NUMBA_CACHE_DIR is {chosen}, which cannot be written to." in done.stderr
            ) == named
        assert served == [(111.0, False), (111.0, True)]
    finally:
        for folder in folders:
            folder.chmod(0o755)
