"""IR becomes a module that needs memory and stack alone, and traps where a conversion has no result."""

import re

import llvmlite.binding as llvm
import pytest

from selfplay_melee.errors import WasmError
from selfplay_melee.wasm.emit import emit, optimised, target_machine
from selfplay_melee.wasm.link import number

CONVERT = """
define i32 @export.convert() {{
  %x = load {source}, ptr inttoptr (i64 1024 to ptr)
  %y = fpto{sign}i {source} %x to {target}
  store {target} %y, ptr inttoptr (i64 1032 to ptr)
  ret i32 0
}}
"""
CONVERSIONS = [(sign, source, target) for sign in "su" for source in ("double", "float") for target in ("i32", "i64")]


@pytest.mark.parametrize(("sign", "source", "target"), CONVERSIONS)
def test_conversions_trap(sign, source, target):
    text = CONVERT.format(sign=sign, source=source, target=target)
    machine = target_machine()
    assembly = machine.emit_assembly(optimised(text, ["export.convert"], machine))
    short = {"double": "f64", "float": "f32"}[source]
    assert f"{target}.trunc_{short}_{sign}" in assembly
    assert "trunc_sat" not in assembly
    assert emit(text, ["convert"], "export.", 4096)[0].startswith(b"\0asm")


def test_a_conversion_of_a_constant_out_of_range_is_not_left_to_the_compiler():
    """LLVM may put anything in place of the plain instruction."""
    text = "define i64 @export.convert() {\n  %y = fptosi double 1.0e30 to i64\n  ret i64 %y\n}\n"
    machine = target_machine()
    assert "i64.trunc_f64_s" in machine.emit_assembly(optimised(text, ["export.convert"], machine))


def test_other_conversions_are_refused():
    with pytest.raises(WasmError, match="has no defined result outside its range: fptosi double %x to i128"):
        emit(CONVERT.format(sign="s", source="double", target="i128"), ["convert"], "export.", 4096)


def test_what_no_page_supplies_is_named():
    text = "declare double @sin(double)\ndefine double @export.f(double %x) {\n"
    text += "  %y = call double @sin(double %x)\n  ret double %y\n}\n"
    with pytest.raises(WasmError, match=r"the code needs env\.sin, which no page supplies"):
        emit(text, ["f"], "export.", 4096)
    text = "@there = external global i32\ndefine i32 @export.f() {\n  %y = load i32, ptr @there\n  ret i32 %y\n}\n"
    with pytest.raises(WasmError, match="the code needs data there"):
        emit(text, ["f"], "export.", 4096)


def test_calls_through_addresses_are_refused():
    """A table of functions would need a linker."""
    text = """
define internal i32 @a() noinline {\n  ret i32 1\n}
define internal i32 @b() noinline {\n  ret i32 2\n}
@either = internal constant [2 x ptr] [ptr @a, ptr @b]
define i32 @export.f(i32 %i) {
  %at = getelementptr [2 x ptr], ptr @either, i32 0, i32 %i
  %g = load ptr, ptr %at
  %y = call i32 %g()
  ret i32 %y
}
"""
    with pytest.raises(WasmError, match="relocation of kind 2, which needs a linker"):
        emit(text, ["f"], "export.", 4096)


def test_the_end_of_constants_is_found():
    text = "@list = internal constant [1000 x i32] [" + ", ".join(f"i32 {i * i}" for i in range(1000)) + "]\n"
    text += "define i32 @export.f(i32 %i) {\n  %at = getelementptr [1000 x i32], ptr @list, i32 0, i32 %i\n"
    text += "  %y = load i32, ptr %at\n  ret i32 %y\n}\n"
    _, end = emit(text, ["f"], "export.", 4096)
    assert 4000 <= end <= 4096
    with pytest.raises(WasmError, match=f"constants reach byte {end} of the memory"):
        emit(text, ["f"], "export.", end - 1)


def test_large_memory_is_filled_without_a_library():
    text = "declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)\ndefine void @export.f() {\n"
    text += "  call void @llvm.memset.p0.i64(ptr inttoptr (i64 64 to ptr), i8 0, i64 100000, i1 false)\n  ret void\n}\n"
    emit(text, ["f"], "export.", 4096)


def test_an_llvm_without_webassembly_is_said(monkeypatch):
    class NoTarget:
        @staticmethod
        def from_triple(triple):
            raise RuntimeError(f"No available targets are compatible with triple {triple!r}")

    monkeypatch.setattr(llvm, "Target", NoTarget)
    with pytest.raises(WasmError, match=r"llvmlite [\d.]+ was built without WebAssembly: No available targets"):
        target_machine()


@pytest.mark.parametrize("value", [0, 1, 127, 128, 300, 2**20, 2**32 - 1])
def test_numbers_are_written_seven_bits_at_a_time(value):
    data = number(value)
    assert sum((byte & 127) << (7 * i) for i, byte in enumerate(data)) == value
    assert re.fullmatch(rb"[\x80-\xff]*[\x00-\x7f]", data)
