# SPDX-License-Identifier: Apache-2.0
"""Changes PTX text by one instruction. Each operator is a function that takes an instruction and
what is around it and yields the lines that may stand in its place ('' removes it)."""
import dataclasses
import functools
import re

LINE = re.compile(r"^\s+(?:@(?P<guard>!?%p\d+)\s+)?(?P<op>[a-z][\w.:]*)(?:\s+(?P<args>[^;]*))?;"
                  r"\s*(?://.*)?$")
REGISTER = re.compile(r"%(?:p|rd|rs|rq|r|f|fd|h)\d+")
NEGATED = {"eq": "ne", "ne": "eq", "lt": "ge", "ge": "lt", "gt": "le", "le": "gt", "lo": "hs",
           "hs": "lo", "hi": "ls", "ls": "hi", "equ": "neu", "neu": "equ", "ltu": "geu",
           "geu": "ltu", "gtu": "leu", "leu": "gtu", "num": "nan", "nan": "num"}
AT_EDGE = {"lt": "le", "le": "lt", "gt": "ge", "ge": "gt", "lo": "ls", "ls": "lo", "hi": "hs",
           "hs": "hi", "ltu": "leu", "leu": "ltu", "gtu": "geu", "geu": "gtu"}
NARROWER = {"b64": "b32", "b32": "b16", "b16": "b8", "u64": "u32", "u32": "u16", "u16": "u8"}
HIGH_HALF = "-4294967296"
NEAR = 6  # registers above that may take the place of another
BYTES = {"8": 1, "16": 2, "32": 4, "64": 8}


@dataclasses.dataclass
class Instruction:
    """One instruction; `known` are the registers that were written above it in its kernel."""
    line: int
    guard: str
    op: str
    args: list
    known: list

    @property
    def parts(self):
        return self.op.split(".")

    def text(self, op=None, args=None, guard=None):
        guard = self.guard if guard is None else guard
        args = self.args if args is None else args
        return (f"\t{'@' + guard + ' ' if guard else ''}{op or self.op}"
                f"{' ' + ', '.join(args) if args else ''};")


def split_arguments(text):
    """At the commas that stand in no brackets."""
    parts, depth, last = [], 0, 0
    for place, char in enumerate(text):
        depth += (char in "[{(") - (char in "]})")
        if char == "," and depth == 0:
            parts.append(text[last:place].strip())
            last = place + 1
    return [part for part in [*parts, text[last:].strip()] if part]


def instructions(text):
    """Those of all kernels of a module, without the choice of a 32-bit division where both numbers
    are below 2^32: either way gives the same."""
    known, made_by = [], {}
    for number, line in enumerate(text.split("\n")):
        if line.startswith("{"):
            known, made_by = [], {}
        found = LINE.match(line)
        if not found:
            continue
        args = split_arguments(found["args"] or "")
        guard = found["guard"] or ""
        sources = [made_by.get(name, "") for name in (guard.strip("!"), *args[1:2])]
        narrow = HIGH_HALF in args or any("narrow" in source for source in sources)
        if not narrow:
            yield Instruction(number, guard, found["op"], args, list(known))
        if args and not found["op"].startswith(("st.", "bra", "bar.", "red.")):
            known += [one for one in REGISTER.findall(args[0]) if one not in known]
            chooses = HIGH_HALF in args or (narrow and found["op"].startswith("setp"))
            made_by[args[0]] = "narrow" if chooses else found["op"]


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
    """One more in the exponent, or the highest bit of the fraction; of zero one."""
    for place in range(1, len(one.args)):
        found = re.fullmatch(r"0([fd])([0-9A-Fa-f]+)", one.args[place])
        if not found:
            continue
        value, one_is = int(found[2], 16), 0x3f800000 if found[1] == "f" else 0x3ff << 52
        bits = (23, 22) if found[1] == "f" else (52, 51)
        for changed in [value ^ 1 << bit for bit in bits] if value else [one_is]:
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
    """Operator -> the instructions of a module that it changes, with all changes."""
    sites = {}
    for one in instructions(text):
        for name, operator in OPERATORS.items():
            changes = [change for change in operator(one) if change != one.text()]
            if changes:
                sites.setdefault(name, []).append((one, changes))
    return sites


def draw(text, random, avoid=()):
    """A mutant of a module: an operator that it has places for, a place, a change; None when all
    that is drawn is in `avoid`."""
    sites = places(text)
    for _ in range(20 if sites else 0):
        name = random.choice(sorted(sites))
        one, changes = random.choice(sites[name])
        made = Mutant(name, one.line, one.text().strip(), random.choice(changes))
        if (made.line, made.after) not in avoid:
            return made
    return None
