# SPDX-License-Identifier: Apache-2.0
"""Changes PTX text by one instruction. Each operator is a function that takes an instruction and
what is around it and yields the lines that may stand in its place ('' removes it)."""
import dataclasses
import functools
import re

import ptx_same
import ptx_text
from ptx_text import REGISTER

NEGATED = {"eq": "ne", "ne": "eq", "lt": "ge", "ge": "lt", "gt": "le", "le": "gt", "lo": "hs",
           "hs": "lo", "hi": "ls", "ls": "hi", "equ": "neu", "neu": "equ", "ltu": "geu",
           "geu": "ltu", "gtu": "leu", "leu": "gtu", "num": "nan", "nan": "num"}
AT_EDGE = {"lt": "le", "le": "lt", "gt": "ge", "ge": "gt", "lo": "ls", "ls": "lo", "hi": "hs",
           "hs": "hi", "ltu": "leu", "leu": "ltu", "gtu": "geu", "geu": "gtu"}
NARROWER = {"b64": "b32", "b32": "b16", "b16": "b8", "u64": "u32", "u32": "u16", "u16": "u8"}
NEAR = 6  # registers above that may take the place of another
BYTES = {"8": 1, "16": 2, "32": 4, "64": 8}


def instructions(text):
    """Those of all kernels of a module, each with its kernel, without what chooses among ways that
    all give the same."""
    for kernel in ptx_text.kernels(text):
        chooses = ptx_same.choices(kernel)
        for one in kernel.listed:
            if one.line not in chooses and one.op != ptx_text.UNKNOWN:
                yield one, kernel


def renamed(one, old, new):
    """The instruction with a part of its name changed."""
    parts = [new if part == old else part for part in one.parts]
    return one.text(op=".".join(part for part in parts if part))


def other_register(one):
    first = 0 if one.parts[0] in ("st", "red") else 1
    for place in range(first, len(one.args)):
        for used in REGISTER.findall(one.args[place]):
            kind = used.rstrip("0123456789")
            others = [name for name in one.known if name.startswith(kind) and name != used
                      and name[len(kind):].isdigit()]
            for other in others[-NEAR:]:
                changed = re.sub(re.escape(used) + r"\b", other, one.args[place])
                yield one.text(args=[*one.args[:place], changed, *one.args[place + 1:]])


def swapped(*pairs):
    def operator(one):
        for a, b in pairs:
            for old, new in ((a, b), (b, a)):
                if one.parts[0] == old:
                    yield renamed(one, old, new)
    return operator


def no_addend(one):
    if one.parts[0] in ("fma", "mad") and "x2" not in one.op:
        yield one.text(op=one.op.replace(one.parts[0], "mul", 1), args=one.args[:3])


def compared(table):
    def operator(one):
        if one.parts[0] in ("setp", "set") and one.parts[1] in table:
            yield renamed(one, one.parts[1], table[one.parts[1]])
    return operator


def guard_negated(one):
    if one.guard:
        yield one.text(guard=one.guard[1:] if one.guard[0] == "!" else "!" + one.guard)


def guard_dropped(one):
    if one.guard:
        yield one.text(guard="")


def removed(*starts):
    def operator(one):
        if one.op.startswith(starts):
            yield ""
    return operator


def element_bytes(one):
    width = re.search(r"\.[busf](\d+)$", one.op)
    return BYTES.get(width[1], 4) if width else 4


def offset(one):
    if one.parts[0] not in ("ld", "st", "ldmatrix") or "param" in one.parts:
        return
    for place, arg in enumerate(one.args):
        found = re.fullmatch(r"\[(.+?)(?:\+(-?\d+))?\]", arg)
        for step in (element_bytes(one), -element_bytes(one)) if found else ():
            moved = f"[{found[1]}+{int(found[2] or 0) + step}]"
            yield one.text(args=[*one.args[:place], moved, *one.args[place + 1:]])


def rounding(one):
    """Of conversions of floats to narrower ones alone: a sum that rounds otherwise is within the
    limits of every op."""
    if one.parts[0] == "cvt" and "rn" in one.parts and one.parts[-1] in ("f32", "f64"):
        yield renamed(one, "rn", "rz")


def narrower(one):
    wide = one.parts[-1]
    if one.parts[0] in ("ld", "st") and wide in NARROWER and not re.search(r"\.v\d", one.op) and (
            "param" not in one.parts):
        yield renamed(one, wide, NARROWER[wide])


def constant(one):
    if one.parts[0] in ("shfl", "bar", "mbarrier", "vote"):
        return
    for place in range(1, len(one.args)):
        if re.fullmatch(r"-?\d+", one.args[place]):
            for step in (1, -1):
                yield one.text(args=[*one.args[:place], str(int(one.args[place]) + step),
                                     *one.args[place + 1:]])


def float_constant(one):
    """One more in the exponent, or the highest bit of the fraction; of zero one. Of a zero that is
    moved an infinity: it may fill one of two factors beyond the last one, where the other is zero,
    too, and then any number would do."""
    for place in range(1, len(one.args)):
        found = re.fullmatch(r"0([fd])([0-9A-Fa-f]+)", one.args[place])
        if not found:
            continue
        value, above, fraction = int(found[2], 16), 0xff, 23
        if found[1] == "d":
            above, fraction = 0x7ff, 52
        of_zero = (above if one.parts[0] == "mov" else above >> 1) << fraction
        for changed in [value ^ 1 << fraction, value ^ 1 << fraction - 1] if value else [of_zero]:
            text = f"0{found[1]}{changed:0{len(found[2])}X}"
            yield one.text(args=[*one.args[:place], text, *one.args[place + 1:]])


def lane(one):
    """The distance or the lane of a shuffle."""
    if one.parts[0] == "shfl" and len(one.args) > 2 and one.args[2].isdigit():
        yield one.text(args=[*one.args[:2], str(int(one.args[2]) ^ 1), *one.args[3:]])


def modifier_dropped(*names):
    def operator(one):
        for name in names:
            if name in one.parts:
                yield renamed(one, name, "")
    return operator


def operands_swapped(one):
    if one.parts[0] in ("selp", "sub", "div", "rem") and one.args[1] != one.args[2]:
        yield one.text(args=[one.args[0], one.args[2], one.args[1], *one.args[3:]])


def copied(*names):
    """Of a function of one operand the operand."""
    def operator(one):
        if one.parts[0] in names:
            bits = re.search("[0-9]+$", one.op)
            yield one.text(op=f"mov.b{bits[0]}" if bits else "mov.pred")
    return operator


def unsigned(one):
    """Values as unsigned ones; not those of 64 bits, most of which are sizes."""
    found = re.fullmatch(r"cvt\.s(\d+)\.s(\d+)", one.op)
    if found and int(found[1]) > int(found[2]):
        yield one.text(op=f"cvt.u{found[1]}.u{found[2]}")
    found = re.fullmatch(r"(shr|mul\.wide|mul\.hi|div|rem|min|max|setp\.[lg][te])\.s(16|32)",
                         one.op)
    if found:
        yield one.text(op=f"{found[1]}.u{found[2]}")


OPERATORS = {
    "other-register": other_register,
    "add-sub": swapped(("add", "sub")),
    "min-max": swapped(("min", "max")),
    "and-or": swapped(("and", "or")),
    "shl-shr": lambda one: [renamed(one, "shl", "shr").replace(".b", ".u")] * (
        one.parts[0] == "shl"),
    "no-addend": no_addend,
    "comparison-negated": compared(NEGATED),
    "comparison-at-edge": compared(AT_EDGE),
    "guard-negated": guard_negated,
    "guard-dropped": guard_dropped,
    "branch-removed": removed("bra"),
    "barrier-removed": removed("bar.", "barrier."),
    "wait-removed": removed("cp.async.wait"),
    "store-removed": removed("st."),
    "offset": offset,
    "rounding": rounding,
    "narrower": narrower,
    "constant": constant,
    "float-constant": float_constant,
    "lane": lane,
    "saturation-dropped": modifier_dropped("sat", "satfinite"),
    "nan-dropped": modifier_dropped("NaN"),
    "operands-swapped": operands_swapped,
    "function-dropped": copied("neg", "abs", "not"),
    "unsigned": unsigned,
}


@dataclasses.dataclass
class Mutant:
    operator: str
    line: int
    before: str
    after: str

    def apply(self, text):
        lines = text.split("\n")
        lines[self.line] = self.after
        return "\n".join(lines)


@functools.lru_cache(maxsize=256)
def places(text):
    """Operator -> the instructions of a module that it changes, with their kernel and all
    changes."""
    sites = {}
    for one, kernel in instructions(text):
        for name, operator in OPERATORS.items():
            changes = [change for change in operator(one) if change != one.text()]
            if changes:
                sites.setdefault(name, []).append((one, kernel, changes))
    return sites


def draw(text, random, avoid=()):
    """A mutant of a module: an operator that it has places for, a place, a change; None when all
    that is drawn is in `avoid` or makes no difference."""
    sites = places(text)
    for _ in range(40 if sites else 0):
        name = random.choice(sorted(sites))
        one, kernel, changes = random.choice(sites[name])
        made = Mutant(name, one.line, one.text().strip(), random.choice(changes))
        if (made.line, made.after) not in avoid and not ptx_same.nothing_tells(
                one, made.after, kernel):
            return made
    return None


def unwritten(mutant, text):
    """What asks whether any case uses the result of a mutant's instruction, or None."""
    for one, _ in instructions(text):
        if one.line == mutant.line:
            return ptx_same.unwritten(one, mutant.after)
    return None
