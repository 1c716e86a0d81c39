"""The rules of the house, read off the source: who may import whom; what no file may contain."""

from __future__ import annotations

import ast
import re
from collections import Counter
from functools import cache
from importlib import import_module
from pathlib import Path

import house
import pytest
from public_estimators import public_classes
from survey import never, source, style
from survey import rooms as houses

import sklearn_struct
from sklearn_struct.compiled.cache import KERNEL_ROOMS

PACKAGE = Path(sklearn_struct.__file__).parent

# A room imports only rooms of lines above its own, and `exceptions`, which belongs to all.
FLOORS = [
    ["_warning", "_uncollected"],
    ["compiled"],
    ["containers"],
    ["inference"],
    ["losses"],
    ["linear"],
    ["solvers"],
    ["hidden_markov"],
    ["grammars"],
    ["objectives"],
    ["_doc_link", "_whole_fits"],
    ["encoding"],
    ["metrics", "potentials", "datasets", "callbacks", "model_selection", "labeled_features"],
    ["estimators"],
    ["inspection", "persistence", "distributed"],
    ["compat", "dask"],  # the former writes files of CRFsuite's
    ["__init__"],
]
# files of models and work of a cluster have the version; the former name public classes
KNOW_THE_PACKAGE = {"persistence/files.py", "persistence/known_classes.py", "dask/cluster.py"}
FLOOR = {room: i for i, rooms in enumerate(FLOORS) for room in rooms}

FILE_LINES = 400
KERNEL_LINES = 60
FUNCTION_LINES = 50
LOOSE_MODULES = 8
# with K * K or a branch on a chain's order; the page and the survey say what counts
FILES_OF_ORDER = 11
ANY_PERCENT = 8

# What figures of the survey are at most. Where none is wanted, the survey lists what there is.
MOST = {
    "file lines, maximum": FILE_LINES,
    "function lines, maximum": KERNEL_LINES,
    "loose modules": LOOSE_MODULES,
    "files with order or K * K": FILES_OF_ORDER,
    "arguments that are Any, %": ANY_PERCENT,
    "functions that take an estimator": 0,
    "functions with a variable `found`": 0,
    "tuple assignments, %": 0,
    "internal modules in dir": 0,
    "circles": 0,
}


@cache
def modules():
    """Those of the package. Tests read them, not the import of this file, which each worker does:
    millions of nodes make each garbage collection longer.
    """
    return source.read(PACKAGE)


def files():
    """(path, tree) of each."""
    return [(module.path, module.tree) for module in modules()]


@cache
def nodes(tree):
    """All nodes of a file, which many rules look at."""
    return list(ast.walk(tree))


def room(path):
    return path.split("/")[0].removesuffix(".py")


# a kernel is made when it is imported, and has nobody else to tell
SPEAKERS = {"_warning.py", "compiled/cache.py"}
ABOVE_ENCODING = [name for name, floor in FLOOR.items() if floor < FLOOR["encoding"]]


def every(*rooms):
    """A test of every file in these rooms, or in all, that names those in which the check fails."""

    def decorate(check):
        def test():
            wrong = []
            for path, tree in files():
                if not rooms or room(path) in rooms:
                    try:
                        check(path, tree)
                    except AssertionError as error:
                        wrong.append(f"{path}: {error}")
            assert not wrong, "\n".join(wrong)

        test.__doc__ = check.__doc__
        return test

    return decorate


def imports(tree):
    """Dotted names of everything that a file imports, at any depth."""
    for node in nodes(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield from (f"{node.module}.{alias.name}" for alias in node.names)
        elif isinstance(node, ast.Call):
            yield from houses.called_imports(node)


def rooms_of_ours(tree):
    """The rooms that a file imports; of the package as a whole "__init__", which imports all."""
    ours = [name.split(".") for name in imports(tree) if name.split(".")[0] == PACKAGE.name]
    return {parts[1] if len(parts) > 1 else "__init__" for parts in ours}


def functions(tree):
    return [node for node in nodes(tree) if isinstance(node, ast.FunctionDef)]


def is_kernel(function):
    """Whether one of its decorators is called so, whatever stands before the name or behind it."""
    names = []
    for decorator in function.decorator_list:
        called = decorator.func if isinstance(decorator, ast.Call) else decorator
        names.append(getattr(called, "attr", getattr(called, "id", "")))
    return not {"kernel", "inlined", "uncounted"}.isdisjoint(names)


@pytest.mark.parametrize(
    "decorator",
    ["kernel", "inlined", "uncounted", "compiling.kernel", "compiled.kernel.inlined", "kernel()"],
)
def test_kernels_are_seen(decorator):
    [function] = functions(ast.parse(f"@{decorator}\ndef f(): pass"))
    assert is_kernel(function)


def arguments(function):
    a = function.args
    return {arg.arg for arg in (*a.posonlyargs, *a.args, *a.kwonlyargs)}


def n_lines(function):
    """Lines of the body without the docstring."""
    body = function.body[1:] if ast.get_docstring(function) else function.body
    return body[-1].end_lineno - body[0].lineno + 1 if body else 0


def names(tree):
    """Every identifier and attribute in use."""
    for node in nodes(tree):
        if isinstance(node, ast.Name):
            yield node.id
        elif isinstance(node, ast.Attribute):
            yield node.attr


# ---- who imports whom


@every()
def test_a_room_imports_only_rooms_above_it(path, tree):
    assert room(path) in {*FLOOR, "exceptions"}, "a new room needs its place in FLOORS"
    allowed = {name for name, floor in FLOOR.items() if floor < FLOOR.get(room(path), 0)}
    if room(path) == "__init__":
        allowed = set(FLOOR)
    if path in KNOW_THE_PACKAGE:
        allowed |= {"__init__"}
    assert rooms_of_ours(tree) <= allowed | {room(path), "exceptions"}


def test_no_circles():
    """Neither between modules nor between rooms, nor between the rooms inside of a room."""
    assert houses.circles(houses.module_graph(modules(), PACKAGE.name)) == []
    for nested in (False, True):
        arrows = houses.arrows(modules(), PACKAGE.name, nested)
        assert houses.circles(houses.graph_of(arrows)) == []


@every()
def test_no_relative_imports(path, tree):
    assert not any(node.level for node in nodes(tree) if isinstance(node, ast.ImportFrom))
    assert not any(name.startswith(".") for name in imports(tree))


@pytest.mark.parametrize(
    ("statement", "rooms"),
    [
        ("import sklearn_struct", {"__init__"}),
        ("import sklearn_struct as package", {"__init__"}),
        ("import sklearn_struct.losses.base as losses", {"losses"}),
        ("from sklearn_struct import losses", {"losses"}),
        ("from sklearn_struct import LinearChainCRF", {"LinearChainCRF"}),
        ("importlib.import_module('sklearn_struct.estimators.chains.memm')", {"estimators"}),
        ("import_module(name='sklearn_struct.losses')", {"losses"}),
        ("import_module('sklearn_struct')", {"__init__"}),
        ("__import__('sklearn_struct.losses')", {"losses"}),
        ("_import_module(f'sklearn_struct.estimators.{name}')", {"estimators"}),
        ("import_module('sklearn_struct.estimators.' + name)", {"estimators"}),
        ("import_module(name)", set()),
        ("import sklearn_structures.losses, numpy.losses", set()),
    ],
)
def test_every_import_of_a_room_is_seen(statement, rooms):
    """One that stands for no floor, as a class does, is not allowed anywhere."""
    assert rooms_of_ours(ast.parse(statement)) == rooms
    assert "LinearChainCRF" not in FLOOR


@every("solvers")
def test_solvers_import_nothing_of_ours(path, tree):
    assert rooms_of_ours(tree) <= {"solvers", "exceptions"}
    assert not any(arguments(f) & {"X", "y", "labels", "potentials"} for f in functions(tree))


@every("losses")
def test_losses_never_see_weights_or_features(path, tree):
    assert not rooms_of_ours(tree) & {"linear", "objectives", "encoding", "estimators"}
    assert not any(arguments(f) & {"w", "W", "X", "coef", "features"} for f in functions(tree))


@every("inference")
def test_inference_never_sees_evidence_or_a_loss(path, tree):
    """It can add up a labelling that it is given."""
    assert "losses" not in rooms_of_ours(tree)
    assert not any(arguments(f) & {"y", "y_true", "evidence", "loss"} for f in functions(tree))


@every(*ABOVE_ENCODING)
def test_no_room_above_encoding_speaks_or_validates(path, tree):
    """No scikit-learn, warnings, printing or input checks: those belong to the estimators and their
    encoding.
    """
    if path in SPEAKERS:
        return
    assert not {name.split(".")[0] for name in imports(tree)} & {"sklearn", "warnings", "logging"}
    assert "_warning" not in rooms_of_ours(tree)
    called = {
        node.func.id
        for node in nodes(tree)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)
    }
    assert not {
        name for name in called if name == "print" or name.startswith(("check_", "validate_"))
    }


# ---- estimators


@every("estimators")
def test_estimators_have_no_kernels(path, tree):
    assert not any(name.startswith("sklearn_struct.compiled.kernel") for name in imports(tree))
    assert not any(name.split(".")[0] == "numba" for name in imports(tree))
    assert not any(is_kernel(f) for f in functions(tree))


FLAGS = {"convex", "couples", "sampled", "token_weights", "twice_differentiable"}


@every()
def test_flags_of_losses_are_not_looked_for(path, tree):
    """Each loss has them, as the protocol has defaults."""
    looked_for = [
        call.args[1].value
        for call in nodes(tree)
        if isinstance(call, ast.Call)
        and getattr(call.func, "id", "") in ("getattr", "hasattr")
        and isinstance(call.args[1], ast.Constant)
    ]
    assert FLAGS.isdisjoint(looked_for)


def concrete_bases(modules, known):
    """(class, base) where the base is one of the known classes, and by its name not abstract."""
    return [
        (name, base)
        for module in modules
        for name, base in never.bases(module)
        if base in known and not base.startswith("Base")
        if not base.endswith(("Mixin", "Parameters"))
    ]


def test_estimators_inherit_from_abstract_classes_alone():
    estimators = [module for module in modules() if houses.top_room(module) == "estimators"]
    known = {
        node.name
        for module in estimators
        for node in module.nodes
        if isinstance(node, ast.ClassDef)
    }
    assert concrete_bases(estimators, known) == []


def heirs(classes):
    """(class, base) where both are among the classes."""
    return [(cls, base) for cls in classes for base in cls.__mro__[1:] if base in classes]


def test_no_public_estimator_inherits_from_another():
    """However its base is written."""
    assert heirs(public_classes()) == []
    made = type("Made", (sklearn_struct.MEMM,), {})
    assert heirs([made, sklearn_struct.HMM, sklearn_struct.MEMM]) == [(made, sklearn_struct.MEMM)]


@pytest.mark.parametrize(
    "text",
    [
        "from sklearn_struct.estimators.chains.memm import MEMM\nclass X(MEMM): pass",
        "from sklearn_struct.estimators.chains import memm\nclass X(memm.MEMM): pass",
        "import sklearn_struct.estimators.chains.memm\n"
        "class X(BaseChain, sklearn_struct.estimators.chains.memm.MEMM): pass",
        "from sklearn_struct.estimators.chains.memm import MEMM as BaseX\nclass X(BaseX): pass",
        "from sklearn_struct.estimators.chains import memm\nBaseX = memm.MEMM\n"
        "class X(BaseX): pass",
        "class X(MEMM[int]): pass",
        "def f():\n    class X(MEMM): pass",
    ],
)
def test_concrete_bases_are_seen(text):
    module = source.Module("m", "m.py", text, ast.parse(text))
    assert concrete_bases([module], {"MEMM", "BaseChain"}) == [("X", "MEMM")]


@every("encoding")
def test_init_of_a_transformer_only_assigns(path, tree):
    for node in nodes(tree):
        if not isinstance(node, ast.ClassDef) or not any(
            "Base" in ast.unparse(base) for base in node.bases
        ):
            continue
        for init in (
            f for f in node.body if isinstance(f, ast.FunctionDef) and f.name == "__init__"
        ):
            body = init.body[1:] if ast.get_docstring(init) else init.body
            assigned = {ast.unparse(statement) for statement in body}
            assert assigned == {f"self.{name} = {name}" for name in arguments(init) - {"self"}}


# ---- kernels and threads


@every()
def test_one_numba_decorator(path, tree):
    """No parallel kernels, no jitted classes; numba is imported where the decorator and the vectors
    are made.
    """
    if path not in (
        "compiled/cache.py",
        "compiled/kernel.py",
        "compiled/index_checks.py",
        "compiled/indexing.py",
        "compiled/llvm_exp.py",
        "compiled/llvm_types.py",
        "compiled/llvm_vectors.py",
        "compiled/llvm_wide_vectors.py",
        "compiled/pipeline.py",
        "compiled/simd.py",
    ):
        assert not any(name.split(".")[0] in ("numba", "llvmlite") for name in imports(tree))
    assert not {"prange", "jitclass", "jit"} & set(names(tree))
    keywords = [node for node in nodes(tree) if isinstance(node, ast.keyword)]
    assert not any(keyword.arg == "parallel" for keyword in keywords)


@every()
def test_what_python_calls_returns_no_named_tuple(path, tree):
    """Numba builds them by Python code, in which a pending Ctrl-C would end the process; kernels
    may pass them on.
    """
    returned = {
        f.name
        for f in functions(tree)
        for node in ast.walk(f)
        if is_kernel(f) and isinstance(node, ast.Return) and isinstance(node.value, ast.Call)
        if isinstance(node.value.func, ast.Name) and node.value.func.id.lstrip("_")[:1].isupper()
    }
    callers = [f for f in functions(tree) if not is_kernel(f)]
    called = {
        n.func.id
        for f in callers
        for n in ast.walk(f)
        if isinstance(n, ast.Call) and isinstance(n.func, ast.Name)
    }
    assert not returned & called
    assert not any(name[0] != "_" for name in returned)


@every()
def test_kernels_are_module_level(path, tree):
    kernels = [f for f in functions(tree) if is_kernel(f)]
    assert all(f in tree.body for f in kernels)
    for f in kernels:
        assert not any(
            isinstance(node, ast.FunctionDef | ast.Lambda) for node in ast.walk(f) if node is not f
        )


@every()
def test_files_of_kernels_make_stale_kernels(path, tree):
    """A change of any file with kernels, or with what they receive, makes compiled ones stale."""
    if any(is_kernel(f) for f in functions(tree)) or room(path) == "containers":
        assert {path, room(path)} & set(KERNEL_ROOMS)


@every(*ABOVE_ENCODING)
def test_only_the_pool_knows_the_number_of_jobs(path, tree):
    """So blocks and sums cannot depend on it."""
    if path != "compiled/threads.py":
        assert not {"n_jobs", "n_threads"} & {
            *names(tree),
            *(a for f in functions(tree) for a in arguments(f)),
        }


# ---- what no file contains


# They import modules by a name that they are given: public ones of the package itself, libraries
# that users may lack, and classes of a list that stands in the same file.
IMPORT_BY_NAME = {
    "__init__.py",
    "inspection/optional_imports.py",
    "persistence/known_classes.py",
    "persistence/search_choices.py",
}


def test_nothing_is_run_that_data_say():
    places = [place for module in modules() for place in never.code_from_data(module)]
    by_name = [place for place in places if "import_module(" in place]
    assert [place for place in places if place not in by_name] == []
    assert {place.split(":")[0] for place in by_name} <= IMPORT_BY_NAME


# modules of ours that are named by strings: loaded when a file or a user asks for them
BY_NAME = {
    ("compat/__init__.py", "sklearn_struct.compat.scorers"),
    ("compat/crf.py", "sklearn_struct.compat"),
    ("persistence/registry.py", "sklearn_struct.compat.crf"),
    ("persistence/search_choices.py", "sklearn_struct.metrics.scorers"),
    ("persistence/search_choices.py", "sklearn_struct.model_selection"),
}


def test_modules_named_by_strings_are_known():
    """They are arrows that imports do not show: one of them, from files to CRF, is a circle."""
    named = {
        (path, node.value)
        for path, tree in files()
        for node in nodes(tree)
        if isinstance(node, ast.Constant)
        and isinstance(node.value, str)
        and re.fullmatch(r"sklearn_struct(\.\w+)+", node.value)
    }
    assert named == BY_NAME


# How often these rooms use private names of others, at most. Files are made of all that is learned,
# pictures and tables of what predictions know; fits on partitions go through the steps of `fit` one
# by one; `compat` counts weights for its log, and says that CRFsuite ends at max_iterations.
PRIVATE = {"persistence": 120, "inspection": 25, "distributed": 73, "compat": 2}


def test_rooms_leave_private_names_to_each_other():
    places = never.private_of_others(modules(), PACKAGE.name)
    used = Counter(room(place.split(":")[0]) for place in places)
    more = {name for name, count in used.items() if count > PRIVATE.get(name, 0)}
    assert [place for place in places if room(place.split(":")[0]) in more] == []


@every()
def test_docstring_and_future_annotations(path, tree):
    assert ast.get_docstring(tree) or not tree.body
    if functions(tree):
        assert "__future__.annotations" in imports(tree)


@cache
def called_from_python():
    """Kernels that functions or classes use which are no kernels: (file, name)."""
    used = set()
    for path, tree in files():
        places = {f.name: (path, f.name) for f in functions(tree) if is_kernel(f)}
        modules = {}
        for name in imports(tree):
            if name.startswith("sklearn_struct."):
                _, *folders, last = name.split(".")
                modules[last] = "/".join([*folders, last]) + ".py"
                places[last] = "/".join(folders) + ".py", last
        for part in tree.body:
            if isinstance(part, ast.FunctionDef) and is_kernel(part):
                continue
            for node in ast.walk(part):
                if isinstance(node, ast.Name) and node.id in places:
                    used.add(places[node.id])
                elif isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
                    used.add((modules.get(node.value.id), node.attr))
    return used


MAKES_ARRAYS = {
    "arange",
    "array",
    "concatenate",
    "copy",
    "empty",
    "full",
    "ones",
    "zeros",
    "reshape",
}


def is_array(value, made=()):
    """Whether an expression seems to be an array: a name that is one, a slice, or a call that makes
    one.
    """
    if isinstance(value, ast.Subscript):
        return isinstance(value.slice, ast.Slice)
    if isinstance(value, ast.Call) and isinstance(value.func, ast.Attribute):
        return value.func.attr.removesuffix("_like") in MAKES_ARRAYS
    return isinstance(value, ast.Name) and value.id in made


def returned_arrays(kernel):
    """What a kernel returns that seems to be an array."""
    made = set()
    returned = []
    for node in ast.walk(kernel):
        if isinstance(node, ast.Assign):
            for target in node.targets:
                both = isinstance(target, ast.Tuple) and isinstance(node.value, ast.Tuple)
                for name, value in (
                    zip(target.elts, node.value.elts) if both else [(target, node.value)]
                ):
                    made |= {
                        part.id
                        for part in ast.walk(name)
                        if isinstance(part, ast.Name) and is_array(value)
                    }
        elif isinstance(node, ast.Return):
            returned += node.value.elts if isinstance(node.value, ast.Tuple) else [node.value]
    return {ast.unparse(value) for value in returned if is_array(value, made)}


@every()
def test_kernels_return_no_arrays_to_python(path, tree):
    """Numba makes tuples of arrays by Python code, where Ctrl-C is a SystemError, or ends the
    process.
    """
    for kernel in functions(tree):
        if is_kernel(kernel) and (path, kernel.name) in called_from_python():
            assert not returned_arrays(kernel), kernel.name


def test_returned_arrays_are_seen():
    """By the rule above; it knows kernels that Python calls."""
    bad = """
def f(x, n):
    a, b = np.zeros((2, n))
    c, m = np.empty_like(x), np.sum(x)
    if n == 0:
        return c, m
    if n == 1:
        return a[:n], m
    if n == 2:
        return np.empty(n)
    return b
"""
    assert returned_arrays(ast.parse(bad).body[0]) == {"c", "a[:n]", "np.empty(n)", "b"}
    assert {
        ("inference/trees/chart_outside.py", "_descend"),
        ("inference/trees/chart_inside.py", "cell"),
    } <= called_from_python()
    assert ("inference/trees/chart_outside.py", "_below") not in called_from_python()


@every()
def test_sizes(path, tree):
    n = len((PACKAGE / path).read_text("utf-8").splitlines())
    assert n <= FILE_LINES, f"{n} lines"
    for f in functions(tree):
        most = KERNEL_LINES if is_kernel(f) else FUNCTION_LINES
        assert n_lines(f) <= most, f"{f.name}: {n_lines(f)} lines"


def over(figures):
    """Those above what they are at most; a figure that the survey no longer has is an error."""
    return {name: figures[name] for name, most in MOST.items() if figures[name] > most}


def test_figures_of_the_survey():
    """`python tests/house.py` lists the places."""
    assert over(house.survey(PACKAGE)["figures"]) == {}


@pytest.mark.parametrize("name", MOST)
def test_a_figure_that_is_too_large_is_seen(name):
    assert over(MOST) == {}
    assert over({**MOST, name: MOST[name] + 0.1}) == {name: MOST[name] + 0.1}


def test_one_assignment_a_line():
    """Also beside the package; in exchange for nothing, a tuple of a tuple only hides lines."""
    folders = [PACKAGE, *(PACKAGE.parent / name for name in ("tests", "benchmarks", "examples"))]
    assert [
        place
        for folder in folders
        for file in sorted(folder.rglob("*.py"))
        for place in style.tuple_assignments(
            [source.module(file, file.relative_to(PACKAGE.parent))]
        )
    ] == []


@every()
def test_public_names_exist(path, tree):
    """`__all__` is sorted by the formatter; here: its names are defined in the file, imported or
    made on demand.
    """
    listed = [
        node
        for node in tree.body
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__"
    ]
    defined = {node.name for node in tree.body if isinstance(node, ast.FunctionDef | ast.ClassDef)}
    for node in tree.body:
        targets = (
            node.targets
            if isinstance(node, ast.Assign)
            else [node.target]
            if isinstance(node, ast.AnnAssign)
            else []
        )
        for target in targets:
            defined |= {name.id for name in ast.walk(target) if isinstance(name, ast.Name)}
    defined |= {name.split(".")[-1] for name in imports(tree)}
    names = {name for node in listed for name in ast.literal_eval(node.value)}
    if "__getattr__" in defined:
        module = import_module(
            ".".join(["sklearn_struct", *Path(path).with_suffix("").parts]).removesuffix(
                ".__init__"
            )
        )
        defined |= {name for name in names if hasattr(module, name)}
    assert names <= defined
