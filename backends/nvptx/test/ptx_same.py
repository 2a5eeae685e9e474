# SPDX-License-Identifier: Apache-2.0
"""Which changes of an instruction nothing can tell, as the text around it proves, and how to ask
whether any case uses what an instruction gives.

Each rule says why it is right. What no rule covers is a mutant."""
import functools
import re

import ptx_text

ALL = (1 << 64) - 1
DEPTH = 4  # instructions behind a result that are looked at
LOW_BITS = ("add", "sub", "mul.lo", "mad.lo", "mov")  # whose low bits come from low bits
ORDERED = {"lt", "le", "gt", "ge", "lo", "ls", "hi", "hs", "ltu", "leu", "gtu", "geu"}
ZEROS = {"0f00000000", "0f80000000", "0d0000000000000000", "0d8000000000000000"}
# Masks of the upper half of 64 bits, with and without the sign.
HIGH_HALVES = ("-4294967296", "9223372032559808512")
ARITHMETIC = ("add", "sub", "mul", "mad", "fma", "mov", "cvt", "and", "or", "xor", "not", "shl",
              "shr", "setp", "selp", "min", "max", "neg", "abs", "div", "rem", "bfe")
KINDS = {"%p": "pred", "%rs": "b16", "%r": "b32", "%rd": "b64"}  # of registers
# What has an effect besides its result, or a result that others wait for.
WITH_EFFECT = ("atom", "mbarrier", "wgmma", "shfl", "vote", "activemask", "call", "barrier", "bar")


def bits_of(op):
    """Those of the type at the end of an instruction's name."""
    found = re.search(r"\.[busf](\d+)$", op)
    return int(found[1]) if found else 64


def number_of(text):
    return int(text) if re.fullmatch(r"-?\d+", text) else None


@functools.lru_cache(maxsize=4096)
def needed(name, kernel, depth=DEPTH):
    """The bits of a register on which anything can depend; more where that is not known."""
    if depth == 0:
        return ALL
    mask = 0
    for one in kernel.readers[name]:
        mask |= needed_by(one, name, kernel, depth)
    return mask


def needed_by(one, name, kernel, depth):
    """The bits of a register that an instruction needs for what is needed of its result."""
    if not one.has_result or one.guard or len(one.written) != 1 or name not in one.args[1:]:
        return ALL
    kind, bits, last = one.parts[0], bits_of(one.op), number_of(one.args[-1])
    whole = (1 << bits) - 1
    wanted = needed(one.written[0], kernel, depth - 1)
    if kind == "and" and last is not None:
        return wanted & last & whole
    if kind in ("and", "or", "xor", "not") and "pred" not in one.parts:
        return wanted & whole
    if kind == "shl" and last is not None:
        return (wanted & whole) >> last
    if kind == "shr" and last is not None:
        sign = (wanted & whole) >> max(0, bits - last) and one.parts[1][0] == "s"
        return ((wanted << last) & whole) | (bool(sign) << (bits - 1))
    if re.fullmatch(r"cvt\.[us]\d+\.u\d+|cvt\.u(8|16|32)\.[us]64", one.op):
        return wanted & whole
    if one.op.startswith(LOW_BITS) and re.search(r"\.[bus]\d+$", one.op) and "cc" not in one.parts:
        return (1 << (wanted & whole).bit_length()) - 1
    return ALL


def differing(one, changed):
    """The bits in which the results of two forms of an instruction can differ."""
    old, new = (number_of(form.args[-1]) if form.args else None for form in (one, changed))
    if one.parts[0] in ("and", "or", "xor") and one.op == changed.op and (
            one.args[:-1] == changed.args[:-1] and None not in (old, new)):
        return (old ^ new) & ALL
    signed = re.fullmatch(r"shr\.s(\d+)", one.op)
    if signed and changed.op == f"shr.u{signed[1]}" and old is not None and 0 <= old:
        bits = int(signed[1])
        return ((1 << bits) - 1) ^ ((1 << max(0, bits - old)) - 1)
    return ALL


def nobody_reads(one, changed, kernel):
    """All bits in which the result differs are shifted out or masked by whatever reads it."""
    if one.guard or len(one.written) != 1:
        return False
    bits = differing(one, changed)
    return bits != ALL and bits & needed(one.written[0], kernel) == 0


def both_arms_agree(one, changed, kernel):
    """At the edge of a comparison of x with c, whose result only chooses between x and c: there
    they are the same number, and have the same bits, as none is a zero of floats."""
    if one.parts[0] != "setp" or one.guard or len(one.args) != 3 or changed.args != one.args:
        return False
    if not {one.parts[1], changed.parts[1]} <= ORDERED or one.parts[1][0] != changed.parts[1][0]:
        return False
    sides = set(one.args[1:])
    if one.parts[-1][0] == "f" and not any(
            re.fullmatch(r"0[fd][0-9A-F]+", side) and side not in ZEROS for side in sides):
        return False
    readers = kernel.readers[one.args[0]]
    return bool(readers) and all(
        reader.parts[0] == "selp" and set(reader.args[1:3]) == sides and not reader.guard
        and reader.args[3] == one.args[0] for reader in readers)


def zeros_of(name, kernel, depth=DEPTH):
    """The low bits of a register that are known to be zero."""
    one = kernel.maker(name) if depth else None
    amount = number_of(one.args[-1]) if one else None
    if one is None or one.guard or amount is None or one.parts[0] not in ("and", "shl"):
        return 0
    inner = zeros_of(one.args[1], kernel, depth - 1)
    if one.parts[0] == "and":
        return (ALL & ~amount) | inner
    return (inner << amount) | ((1 << amount) - 1)


def never_equal(one, changed, kernel):
    """At the edge of a comparison with a number that has a bit which the other side never has."""
    if one.parts[0] != "setp" or len(one.args) != 3 or changed.args != one.args:
        return False
    limit = number_of(one.args[2])
    return limit is not None and {one.parts[1], changed.parts[1]} <= ORDERED and (
        one.parts[1][0] == changed.parts[1][0]) and bool(
            limit & zeros_of(one.args[1], kernel) & (1 << bits_of(one.op)) - 1)


def other_choice(one, changed, kernel):
    """The two ways of a choice in each other's place: either is right."""
    if one.parts[0] != "selp" or changed.op != one.op or changed.guard != one.guard:
        return False
    test = kernel.maker(one.args[3])
    return changed.args == [one.args[0], one.args[2], one.args[1], one.args[3]] and (
        test is not None and test.line in choices(kernel))


@functools.lru_cache(maxsize=512)
def choices(kernel):
    """The lines of what chooses among ways that give the same, whatever is chosen, with all that is
    computed for nothing else."""
    lines = {one.line for one in [*division_choices(kernel), *member_choices(kernel)]}
    before = None
    while before != len(lines):
        before = len(lines)
        lines |= {one.line for one in kernel.listed if one.parts[0] in ARITHMETIC
                  and one.written and all(only_for(name, lines, kernel) for name in one.written)}
    return lines


def only_for(name, lines, kernel):
    """One instruction writes the register, and those of some lines alone read it."""
    readers = kernel.readers[name]
    return kernel.maker(name) and readers and all(one.line in lines for one in readers)


def read_by(one, kernel, *kinds):
    """What reads the result of an instruction, where nothing but some kinds does; else nothing."""
    readers = kernel.readers[one.args[0]]
    return readers if all(reader.parts[0] in kinds for reader in readers) else []


def division_choices(kernel):
    """The choice between a division of 64 bits and one of 32: either way gives the same where both
    numbers are below 2^32, and no case has sizes beyond."""
    for one in kernel.listed:
        if one.parts[0] != "and" or one.args[2] not in HIGH_HALVES:
            continue
        for test in read_by(one, kernel, "setp"):
            for branch in read_by(test, kernel, "bra"):
                yield from (one, test, branch, *jumps_behind(branch, kernel))


def jumps_behind(branch, kernel):
    """What goes to the other side, where without it the first side would follow."""
    for one in kernel.listed:
        if one.line == branch.line + 1 and one.parts[0] == "bra" and not one.guard and (
                kernel.labels.get(branch.args[0]) == one.line + 1):
            yield one


def member_choices(kernel):
    """The choice of how many invocations share a line: 1, 2 or 4, by the length of the line in f32
    or s32, and whether the code for one alone takes it. All of them compute the same, in the order
    of one, whatever is chosen (decision 0240): groups take lines in turns as long as there are
    some."""
    for second in kernel.listed:
        first = second.parts[0] == "selp" and second.args[1] == "2" and kernel.maker(second.args[2])
        if not first or first.parts[0] != "selp" or first.args[1:3] != ["1", "0"]:
            continue
        tests = [kernel.maker(one.args[3]) for one in (first, second)]
        if None in tests or tests[0].args[1] != tests[1].args[1] or not shifts_by(second, kernel):
            continue
        yield from (test for test in tests if read_by(test, kernel, "selp") in ([first], [second]))
        yield from (one for one in kernel.readers[tests[0].args[1]]
                    if one.op == "setp.gtu.f32" and read_by(one, kernel, "bra"))


def shifts_by(chosen, kernel):
    """What is chosen, perhaps in fewer bits, is taken from the binary logarithm of 128."""
    results = [one.args[0] for one in kernel.readers[chosen.args[0]] if one.parts[0] == "cvt"]
    return any(one.parts[0] == "xor" and one.args[2] == "7"
               for name in [chosen.args[0], *results] for one in kernel.readers[name])


def first_barrier(one, kernel):
    """A barrier before which every thread has only computed in registers: it orders nothing."""
    if one.parts[0] not in ("bar", "barrier"):
        return False
    return min(kernel.labels.values(), default=one.line) >= one.line and all(
        other.parts[0] in ARITHMETIC or other.op.startswith("ld.param")
        for other in kernel.listed if other.line < one.line)


def ordered_again(one, kernel):
    """A barrier behind which each way comes to the end or to another barrier before anything is
    read or written: that one orders the same, as all threads of a group take the same barriers."""
    seen, ways = set(), [one] if one.op == "bar.sync" else []
    while ways:
        for other in kernel.followers(ways.pop()):
            goes_on = other.parts[0] in (*ARITHMETIC, "bra") or other.op.startswith("ld.param")
            if not goes_on and other.op != "bar.sync" and other.parts[0] != "ret":
                return False
            if goes_on and other.line not in seen:
                seen.add(other.line)
                ways.append(other)
    return one.op == "bar.sync"


def reported_again(one, kernel):
    """The branch around the report of an error that has been reported: what would be stored is
    what is there, where the kernel stores nothing else in the word."""
    at = kernel.listed.index(one)
    store = kernel.listed[at + 1] if at + 1 < len(kernel.listed) else one
    test = kernel.maker(one.guard) if one.parts[0] == "bra" else None
    word = kernel.maker(test.args[1]) if test and test.op.startswith("setp.ne") and (
        test.args[2] == "0") else None
    if not word or store.op != "st.global.b32" or word.op != "ld.global.b32" or (
            word.args[1] != store.args[0] or kernel.labels.get(one.args[0]) != store.line + 1):
        return False
    codes = {other.args[1] for other in kernel.listed
             if other.parts[0] == "st" and other.args[0] == store.args[0]}
    return codes == {store.args[1]} and bool(number_of(store.args[1]))


def same_quotient(one, changed):
    """A division by a number d as a product with 2^(64+s)/d, rounded up, of which the upper half
    is taken: with one more it gives the same for all numbers below 2^32, and no case has sizes
    beyond. The fraction of n * 2^s / d is at most 1 - 1/d, and what is added below 2^-32."""
    old, new = (number_of(form.args[-1]) if form.args else None for form in (one, changed))
    if one.op != "mul.hi.u64" or changed.op != one.op or None in (old, new) or new != old + 1:
        return False
    factor = old % (ALL + 1)
    divisors = (rounded_up(1 << power, factor) for power in range(64, 96))
    return any(1 < divisor < 1 << 30 and factor == rounded_up(1 << power, divisor)
               for power, divisor in enumerate(divisors, 64))


def rounded_up(number, divisor):
    return -(-number // divisor)


def nothing_tells(one, change, kernel):
    """Whether a rule proves that the change makes no difference."""
    if not change:
        return any(rule(one, kernel) for rule in (first_barrier, ordered_again, reported_again))
    match = ptx_text.LINE.match(change)
    if not match:
        return False
    changed = ptx_text.Instruction(one.line, match["guard"] or "", match["op"],
                                   ptx_text.split_arguments(match["args"] or ""), [])
    rules = (nobody_reads, both_arms_agree, never_equal, other_choice)
    return same_quotient(one, changed) or any(rule(one, changed, kernel) for rule in rules)


def unwritten(one, change):
    """A line in place of an instruction, with which its result is never written, so that the
    emulator tells where it is used; None where there is more to the instruction than its result.

    What is stored in shared memory is replaced in the same way, unless the change is one of the
    place."""
    if one.parts[0] == "st" and "shared" in one.parts and "{" not in one.args[1]:
        changed = ptx_text.LINE.match(change)
        place = ptx_text.split_arguments(changed["args"])[0] if changed else one.args[0]
        guard = f"@{one.guard} " if one.guard else ""
        return None if place != one.args[0] else (
            f"\t{{ .reg .b{max(16, bits_of(one.op))} %unwritten; "
            f"{guard}{one.op} {one.args[0]}, %unwritten; }}")
    kinds = [KINDS.get(name.rstrip("0123456789")) for name in one.written]
    if not kinds or None in kinds or one.parts[0] in WITH_EFFECT or one.op == ptx_text.UNKNOWN:
        return None
    return "\t" + " ".join(f"{{ .reg .{kind} %unwritten; mov.{kind} {name}, %unwritten; }}"
                           for kind, name in zip(kinds, one.written))
