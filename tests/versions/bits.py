"""The commands ``bits`` and ``files``: run both sides, print what differs."""

from __future__ import annotations

import pickle
from collections import Counter
from pathlib import Path

from versions.cases import Case, named
from versions.compare import ARGUED, FIT, Argued, Difference, Outcomes, compared, read_argued
from versions.sides import TESTS, Side
from versions.worker import file_name

__all__ = ["compare_files", "compare_fits", "report"]

WORKER = TESTS / "versions" / "worker.py"
SHOWN = 6  # differing outcomes of a case that are printed


def compare_fits(sides: list[Side], scratch: Path, only: str) -> int:
    """Fit all cases on both sides, at once; 1 if anything differs without a reason."""
    folders = [_folder(scratch / side.name) for side in sides]
    jobs = [
        side.start(WORKER, "fit", str(side.folder), str(folder), only)
        for side, folder in zip(sides, folders)
    ]
    _wait(jobs)
    return report(*folders, named(only))


def compare_files(sides: list[Side], scratch: Path, only: str, models: Path) -> int:
    """Fit and save on the earlier side, load on the later one; 1 if anything differs."""
    before, after = sides
    _folder(models)
    folders = [_folder(scratch / side.name) for side in sides]
    where = str(models.resolve())
    _wait([before.start(WORKER, "fit", str(before.folder), str(folders[0]), only, where)])
    _wait([after.start(WORKER, "load", str(after.folder), str(folders[1]), only, where)])
    saved = [case for case in named(only) if (models / file_name(case)).exists()]
    for case in named(only):
        outcomes = _read(folders[0], case)
        if outcomes and "saving" in outcomes:
            print(f"no file   {case.name}: {outcomes['saving'].words[0]}")
    return report(*folders, saved)


def _folder(path: Path) -> Path:
    path.mkdir(parents=True, exist_ok=True)
    return path


def _wait(jobs: list) -> None:
    """Until all are done; an error if one has failed as a whole."""
    codes = [job.wait() for job in jobs]
    if any(codes):
        raise SystemExit(f"processes ended with {codes}")


def _read(folder: Path, case: Case) -> Outcomes | None:
    path = folder / file_name(case)
    return pickle.loads(path.read_bytes()) if path.exists() else None


def report(before: Path, after: Path, cases: list[Case]) -> int:
    """Print a line a case and what differs; 1 if there is no reason for something, or no case."""
    argued = read_argued(ARGUED.read_text("utf-8"))
    counts: Counter[str] = Counter()
    used: set[Argued] = set()
    for case in cases:
        old = _read(before, case)
        if old is None:
            counts["without data"] += 1
            continue
        new = _read(after, case)
        verdict, differences = judged(case, old, new, argued, used)
        counts[verdict] += 1
        counts["outcomes"] += len(old)
        _print_case(verdict, case, differences)
        _print_failures(case, old, counts)
    for entry in argued:
        if entry not in used:
            print(f"nothing needs the reason for `{entry.case}`: `{entry.key}`")
    print(", ".join(f"{count} {what}" for what, count in sorted(counts.items())))
    good = counts["equal"] + counts["argued"] + counts["new"]
    return int(good == 0 or bool(counts["DIFFERS"] or counts["FAILS"]))


def judged(
    case: Case, old: Outcomes, new: Outcomes | None, argued: list[Argued], used: set[Argued]
) -> tuple[str, list[Difference]]:
    """What there is to say of a case, with the differences that have no reason, or all."""
    if FIT in old:
        works_now = new is not None and FIT not in new
        failure = old[FIT].failure if works_now or new is None else new[FIT].failure
        return "new" if works_now else "FAILS", [Difference(FIT, 0.0, 0.0, failure)]
    differences = compared(old, new, ignored={"saving"})
    left = []
    for difference in differences:
        reasons = [entry for entry in argued if entry.allows(case.name, difference)]
        used.update(reasons)
        if not reasons:
            left.append(difference)
    if left:
        return "DIFFERS", left
    return ("argued", differences) if differences else ("equal", [])


def _print_case(verdict: str, case: Case, differences: list[Difference]) -> None:
    print(f"{verdict:<9} {case.name}{_summary(differences)}")
    for difference in differences[:SHOWN]:
        print(f"    {_text(difference)}")
    if len(differences) > SHOWN:
        print(f"    and {len(differences) - SHOWN} more")


def _summary(differences: list[Difference]) -> str:
    """How far arrays, the objective and predictions are apart."""
    arrays = [d.size for d in differences if not d.is_answer and d.key != FIT]
    objective = [d.size for d in differences if d.key.endswith("loss_curve_[-1]")]
    predicted = [d.equal for d in differences if d.key == "predict()"]
    parts = []
    if arrays:
        parts.append(f"arrays {max(arrays):.1e}")
    if objective:
        parts.append(f"objective {max(objective):.1e}")
    if predicted:
        parts.append(f"equal predictions {min(predicted):.2%}")
    return f"  [{', '.join(parts)}]" if parts else ""


def _text(difference: Difference) -> str:
    if difference.what:
        return f"{difference.key}: {difference.what[:200]}"
    return f"{difference.key}: {difference.size:.1e} apart, {difference.equal:.2%} equal"


def _print_failures(case: Case, outcomes: Outcomes, counts: Counter[str]) -> None:
    """Answers that are errors, also before: a case that is not as it is meant to be."""
    for key, value in outcomes.items():
        if value.failure and key != FIT:
            counts["answers that were errors before"] += 1
            print(f"    {key} was an error: {value.failure[:150]}")
