"""Rules as LLVM IR: Numba types and lowers them, and makes no machine code.

This is the only file that replaces private methods of Numba. It does so for the whole process, so it runs in one of
its own: ``python -m selfplay_melee.wasm``. See ``docs/adr/0017-wasm-from-numba.md``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from llvmlite import ir
from numba import typeof, types
from numba.core import codegen, cpu
from numba.core.compiler_lock import global_compiler_lock

from selfplay.compilation import compile as compiling

if TYPE_CHECKING:
    from selfplay_melee.wasm.memory import Entry, Program, Value

I32, I64 = ir.IntType(32), ir.IntType(64)
PREFIX = "export."  # of the exported functions' names in the IR


def only_lower() -> None:
    """From here on, Numba optimises nothing, adds nothing to its JIT, and makes no wrappers; call it before rules load.

    Passes for this machine would put its vectors and intrinsics into the IR.
    """
    libraries: Any = codegen
    contexts: Any = cpu
    libraries.CPUCodeLibrary._optimize_functions = _nothing
    libraries.CPUCodeLibrary._optimize_final_module = _nothing
    libraries.JITCodeLibrary._finalize_specific = _nothing
    libraries.JITCPUCodegen._add_module = _nothing
    contexts.CPUContext.get_executable = compiling.placeholder
    compiling.compiled = compiling.rule


def _nothing(*_arguments: object) -> None:
    pass


def lower(program: Program, addresses: dict[str, int]) -> str:
    """IR of the entries of a program and of everything that they call.

    Addresses, shapes and strides are constants in it. An entry gives what its rule does as an i32, 0 for nothing;
    an error of the rule, which Python would raise, traps.

    Args:
        program: Its rules were loaded after ``only_lower``.
        addresses: Of every value, by path.
    """
    with global_compiler_lock:
        lowered = [_compile(entry, program) for entry in program.entries]
        library = compiling.Library(lowered[0].target_context.codegen(), "entries")
        module = library.create_ir_module("entries")
        for entry, result in zip(program.entries, lowered, strict=True):
            _add_entry(module, entry, result, program, addresses)
            library.add_linking_library(result.library)
        library.add_ir_module(module)
        library._ensure_finalized()
        return str(library._final_module)


def _compile(entry: Entry, program: Program) -> Any:
    rule: Any = entry.rule
    type_of: Any = typeof
    signature = tuple(type_of(program.value(part) if isinstance(part, str) else part) for part in entry.arguments)
    rule.compile(signature)
    result = rule.overloads[signature]
    result.library._ensure_finalized()
    return result


def _add_entry(module: ir.Module, entry: Entry, result: Any, program: Program, addresses: dict[str, int]) -> None:
    context = result.target_context
    function = ir.Function(module, ir.FunctionType(I32, []), PREFIX + entry.name)
    builder = ir.IRBuilder(function.append_basic_block())
    arguments = _Arguments(context, builder, addresses)
    signature = result.signature.args
    values = [
        arguments.load(argument, program.value(argument), of)
        if isinstance(argument, str)
        else ir.Constant(context.get_value_type(of), argument)
        for argument, of in zip(entry.arguments, signature, strict=True)
    ]
    description = result.fndesc
    kind = context.call_conv.get_function_type(description.restype, signature)
    callee = _declared(module, kind, description.llvm_func_name)
    status, returned = context.call_conv.call_function(builder, callee, description.restype, signature, values)
    with builder.if_then(status.is_error, likely=False):
        builder.call(_declared(module, ir.FunctionType(ir.VoidType(), []), "llvm.trap"), [])
        builder.unreachable()
    builder.ret(_as_i32(builder, returned, description.restype))


def _declared(module: ir.Module, of: ir.FunctionType, name: str) -> ir.Function:
    known: ir.Function | None = module.globals.get(name)
    return known or ir.Function(module, of, name)


def _as_i32(builder: ir.IRBuilder, value: Any, of: types.Type) -> Any:
    if isinstance(of, types.NoneType):
        return ir.Constant(I32, 0)
    if isinstance(of, types.Boolean):
        return builder.zext(value, I32) if value.type.width < I32.width else value
    if isinstance(of, types.Integer):
        return builder.trunc(value, I32) if value.type.width > I32.width else builder.sext(value, I32)
    raise TypeError(f"an entry returns nothing, a truth value or a whole number, not {of}")


class _Arguments:
    """Makes Numba's form of values that lie at fixed addresses."""

    def __init__(self, context: Any, builder: ir.IRBuilder, addresses: dict[str, int]) -> None:
        self._context, self._builder, self._addresses = context, builder, addresses

    def load(self, path: str, value: Value, of: Any) -> Any:
        if isinstance(value, tuple):
            parts = zip(value._fields, value, of, strict=True)  # type: ignore[attr-defined] # a NamedTuple
            return self._context.make_tuple(
                self._builder, of, [self.load(f"{path}.{name}", part, its) for name, part, its in parts]
            )
        if isinstance(value, np.ndarray):
            return self._array(path, value, of)
        if isinstance(value, np.void):
            return self._pointer(path, self._context.get_value_type(of))
        return self._builder.load(self._pointer(path, self._context.get_value_type(of).as_pointer()))

    def _array(self, path: str, value: np.ndarray[Any, Any], of: Any) -> Any:
        made = self._context.make_array(of)(self._context, self._builder)
        self._context.populate_array(
            made,
            data=self._pointer(path, self._context.get_data_type(of.dtype).as_pointer()),
            shape=[ir.Constant(I64, length) for length in value.shape],
            strides=[ir.Constant(I64, stride) for stride in value.strides],
            itemsize=ir.Constant(I64, value.itemsize),
            meminfo=None,
        )
        return made._getvalue()

    def _pointer(self, path: str, to: ir.Type) -> ir.Value:
        return ir.Constant(I64, self._addresses[path]).inttoptr(to)
