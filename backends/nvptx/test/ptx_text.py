# SPDX-License-Identifier: Apache-2.0
"""PTX as lines: the instructions of a module, and which of them write and read a register."""
import collections
import dataclasses
import functools
import re

LINE = re.compile(r"^\s+(?:@(?P<guard>!?%p\d+)\s+)?(?P<op>[a-z][\w.:]*)(?:\s+(?P<args>[^;]*))?;"
                  r"\s*(?://.*)?$")
REGISTER = re.compile(r"%(?:p|rd|rs|rq|r|f|fd|h)\d+")
# What writes no register in its first operand.
WITHOUT_RESULT = ("st", "bra", "bar", "barrier", "red", "ret", "trap", "mbarrier", "membar",
                  "fence", "cp", "prefetch")
UNKNOWN = "unknown"  # what stands on several lines, or several of which stand on one


@dataclasses.dataclass
class Instruction:
    """One instruction; `known` are the registers that were written above it in its kernel."""
    line: int
    guard: str
    op: str
    args: list
    known: list

    @functools.cached_property
    def parts(self):
        return self.op.split(".")

    def text(self, op=None, args=None, guard=None):
        guard = self.guard if guard is None else guard
        args = self.args if args is None else args
        return (f"\t{'@' + guard + ' ' if guard else ''}{op or self.op}"
                f"{' ' + ', '.join(args) if args else ''};")

    @property
    def has_result(self):
        """Its first operand is what it writes, and no more."""
        return self.parts[0] not in (*WITHOUT_RESULT, UNKNOWN, "wgmma")

    @functools.cached_property
    def written(self):
        """The registers that it may write."""
        if self.op == UNKNOWN or self.parts[0] == "wgmma":
            return REGISTER.findall(" ".join(self.args))
        return REGISTER.findall(self.args[0]) if self.args and self.has_result else []

    @functools.cached_property
    def read(self):
        """The registers that it may read, that of its guard first."""
        from_args = self.args[1:] if self.has_result else self.args
        return REGISTER.findall(self.guard) + [
            name for arg in from_args for name in REGISTER.findall(arg)]


class Kernel:
    """The instructions of a kernel, those that write and read each register, and the line of each
    label."""

    def __init__(self, listed, labels):
        self.listed, self.labels = listed, labels
        self.writers, self.readers = (collections.defaultdict(list) for _ in range(2))
        for one in listed:
            for name in one.written:
                self.writers[name].append(one)
            for name in one.read:
                self.readers[name].append(one)

    def followers(self, one):
        """The instructions that may come next."""
        at = self.listed.index(one)
        goes_on = one.guard or one.parts[0] not in ("bra", "ret", "trap")
        found = self.listed[at + 1:at + 2] if goes_on else []
        if one.parts[0] == "bra":
            place = self.labels[one.args[0]]
            found = found + [other for other in self.listed if other.line > place][:1]
        return found

    def maker(self, name):
        """The only instruction that writes a register; None."""
        made = self.writers[name]
        return made[0] if len(made) == 1 else None


def split_arguments(text):
    """At the commas that stand in no brackets."""
    parts, depth, last = [], 0, 0
    for place, char in enumerate(text):
        depth += (char in "[{(") - (char in "]})")
        if char == "," and depth == 0:
            parts.append(text[last:place].strip())
            last = place + 1
    return [part for part in [*parts, text[last:].strip()] if part]


@functools.lru_cache(maxsize=256)
def kernels(text):
    """Those of a module."""
    found, listed, known, labels = [], [], [], {}
    for number, line in enumerate(text.split("\n")):
        if line.startswith("{"):
            listed, known, labels = [], [], {}
        elif line.startswith("}"):
            found.append(Kernel(listed, labels))
        elif line.startswith("$"):
            labels[line.split(":")[0]] = number
        elif match := LINE.match(line):
            listed.append(Instruction(number, match["guard"] or "", match["op"],
                                      split_arguments(match["args"] or ""), list(known)))
            known += [name for name in listed[-1].written if name not in known]
        elif REGISTER.search(line):
            listed.append(Instruction(number, "", UNKNOWN, [line], list(known)))
    return found
