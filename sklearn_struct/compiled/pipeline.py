"""The steps by which numba compiles a kernel, without those that change nothing in one.

A first fit spends its time on them. What is left out are copies of inlined kernels, and what deals
with inlined overloads and with the arithmetic of whole arrays, which no kernel has.
"""

from __future__ import annotations

from typing import Any

from numba.core import ir
from numba.core.compiler import CompilerBase, DefaultPassBuilder
from numba.core.compiler_machinery import FunctionPass, PassManager, register_pass
from numba.core.inline_closurecall import InlineWorker
from numba.core.ir_utils import build_definitions
from numba.core.typed_passes import InlineOverloads, NopythonRewrites, NopythonTypeInference
from numba.core.untyped_passes import InlineInlinables

from sklearn_struct.compiled.indexing import read, write

__all__ = ["Pipeline"]

NEEDLESS = (InlineOverloads, NopythonRewrites)


class Pipeline(CompilerBase):
    """What `numba.njit` takes as its `pipeline_class`."""

    def define_pipelines(self) -> list[PassManager]:
        """Those of numba's own compiler."""
        passes = _shortened(DefaultPassBuilder.define_nopython_pipeline(self.state))
        kinds = [kind for kind, _ in passes.passes]
        passes.passes.insert(kinds.index(NopythonTypeInference), (_Indexing, "indexing"))
        return [passes]


def _shortened(passes: PassManager) -> PassManager:
    """Without the needless ones, and with another way to inline; the others are numba's own."""
    passes.passes = [
        (_Inlining if each is InlineInlinables else each, what)
        for each, what in passes.passes
        if each not in NEEDLESS
    ]
    return passes


@register_pass(mutates_CFG=True, analysis_only=False)
class _Inlining(InlineInlinables):
    _name = "inlining_without_copies"

    def _do_work(
        self,
        state: Any,
        work_list: list[tuple[int, ir.Block]],
        block: ir.Block,
        i: int,
        expr: ir.Expr,
        inline_worker: InlineWorker,
    ) -> bool:
        """Inline what is called, if it is to be; numba's own pass asks it of each call."""
        done: bool = super()._do_work(state, work_list, block, i, expr, _Worker(state))
        return done


class _Worker(InlineWorker):
    """Puts a kernel where it is called."""

    def __init__(self, state: Any) -> None:
        context = state.typingctx, state.targetctx
        super().__init__(*context, state.locals, state.pipeline, state.flags)
        self._compiler_pipeline: Any = _untyped

    def inline_ir(
        self, caller_ir: Any, block: Any, i: int, callee_ir: Any, *args: Any, **kwargs: Any
    ) -> Any:
        """Put the callee into a block of the caller, without a copy: it is made for this alone."""
        for each in callee_ir.blocks.values():
            each.__class__ = _Fresh
        done = super().inline_ir(caller_ir, block, i, callee_ir, *args, **kwargs)
        for each in caller_ir.blocks.values():
            each.__class__ = ir.Block
        return done


def _untyped(state: Any) -> PassManager:
    return _shortened(DefaultPassBuilder.define_untyped_pipeline(state))


class _Fresh(ir.Block):
    """A block that nobody else has, which numba would copy twice before it changes it."""

    def __deepcopy__(self, memo: dict[int, Any]) -> _Fresh:
        return self


@register_pass(mutates_CFG=False, analysis_only=False)
class _Indexing(FunctionPass):
    """Lets `read` and `write` read and write arrays."""

    _name = "indexing"

    def __init__(self) -> None:
        super().__init__()

    def run_pass(self, state: Any) -> bool:
        """Put calls of these in the place of expressions with brackets."""
        made = state.func_ir
        first = made.blocks[min(made.blocks)]
        functions = {
            function: first.scope.redefine(f"${function.__name__}", first.loc)
            for function in (read, write)
        }
        for block in made.blocks.values():
            block.body = [_called(each, block, functions) for each in block.body]
        first.body[:0] = [
            ir.Assign(ir.Global(function.__name__, function, first.loc), name, first.loc)
            for function, name in functions.items()
        ]
        made._definitions = build_definitions(made.blocks)
        return True


def _called(each: ir.Stmt, block: ir.Block, functions: dict[Any, ir.Var]) -> ir.Stmt:
    """The statement, or the same as a call."""
    if isinstance(each, ir.SetItem):
        args = [each.target, each.index, each.value]
        call = ir.Expr.call(functions[write], args, (), each.loc)
        return ir.Assign(call, block.scope.redefine("$written", each.loc), each.loc)
    if not isinstance(each, ir.Assign):
        return each
    what: Any = each.value
    if isinstance(what, ir.Expr) and what.op == "getitem":
        args = [what.value, what.index]
        each.value = ir.Expr.call(functions[read], args, (), each.loc)
    return each
