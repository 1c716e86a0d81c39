"""Numbers as on another CPU: which BLAS kernel and which instructions numpy, scipy and numba use.

    python .ci/cpu.py            print what is in force; fails if OPENBLAS_CORETYPE asks for another
    python .ci/cpu.py other      print variables with which another BLAS kernel is in force
    python .ci/cpu.py older      print variables of a CPU that has AVX2 and nothing newer
    python .ci/cpu.py newer      print variables of the newest BLAS kernel that this CPU can run

Nothing is printed where this CPU, or this BLAS, has no choice; standard error says why.
"""

from __future__ import annotations

import os
import sys

import numba
import scipy.linalg  # noqa: F401  its BLAS is another one than numpy's
from llvmlite import binding
from numpy._core._multiarray_umath import __cpu_dispatch__, __cpu_features__
from threadpoolctl import threadpool_info

NEWER = ("X86_V4", "AVX512", "AVX10")
KERNELS = ["SkylakeX", "Haswell", "Sandybridge"]


def kernels() -> list[str]:
    """Those that OpenBLAS has in force, numpy's and scipy's; without OpenBLAS none."""
    return [
        found.get("architecture", "")
        for found in threadpool_info()
        if found["internal_api"] == "openblas"
    ]


def host() -> dict[str, bool]:
    """Instructions of this CPU, by LLVM's names."""
    return dict(binding.get_host_cpu_features())


def in_force() -> int:
    """Print it."""
    asked = os.environ.get("OPENBLAS_CORETYPE")
    print("BLAS kernels:", *kernels())
    print("numpy:", *(name for name, here in __cpu_features__.items() if here))
    features = numba.config.CPU_FEATURES
    features = binding.get_host_cpu_features().flatten() if features is None else features
    newest = sorted(
        name for name in features.split(",") if name.startswith(("+avx", "+fma", "+sse4"))
    )
    print("numba:", numba.config.CPU_NAME or binding.get_host_cpu_name(), *newest, flush=True)
    if asked and {name.lower() for name in kernels()} != {asked.lower()}:
        print(f"OPENBLAS_CORETYPE={asked} is not in force", file=sys.stderr)
        return 1
    return 0


def variables(kind: str) -> dict[str, str]:
    """Of the environment in which another CPU's numbers are computed."""
    possible = KERNELS if host().get("avx512f") else KERNELS[1:]
    if not kernels() or not host().get("avx2"):
        print("left out: no OpenBLAS, or a CPU of another family", file=sys.stderr)
        return {}
    if kind == "newer":
        if possible[0] != KERNELS[0]:
            print(f"left out: this CPU has no AVX-512, which {KERNELS[0]} needs", file=sys.stderr)
            return {}
        return {"OPENBLAS_CORETYPE": KERNELS[0]}
    if kind == "other":
        own = {name.lower() for name in kernels()}
        return {"OPENBLAS_CORETYPE": next(name for name in possible if name.lower() not in own)}
    found = {"OPENBLAS_CORETYPE": "Haswell", "NUMBA_CPU_NAME": "haswell"}
    newer = [
        name for name in __cpu_dispatch__ if name.startswith(NEWER) and __cpu_features__.get(name)
    ]
    if newer:
        found["NPY_DISABLE_CPU_FEATURES"] = " ".join(newer)
    older = {
        name: here and not name.startswith(("avx512", "avx10")) for name, here in host().items()
    }
    found["NUMBA_CPU_FEATURES"] = ",".join(
        ("+" if here else "-") + name for name, here in sorted(older.items())
    )
    return found


if __name__ == "__main__":
    if len(sys.argv) == 1:
        sys.exit(in_force())
    for name, value in variables(sys.argv[1]).items():
        print(f"{name}={value}")
