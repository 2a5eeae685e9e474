#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks that the C ABI only grows.

usage: layout.py check|write|test [--clang CLANG] [--include FOLDER]
       layout.py compile COMPILER [FLAG...]

layout/MAJOR.MINOR.json is what each minor version declares. `check` compares
them in order and the last one with the headers; `write` adds the one of a new
minor version; `compile` lets another compiler judge the newest one; `test` tries
the rules on changes that are allowed and that are not.
docs/howto/grow-the-abi.md tells the rules.
"""
import argparse
import copy
import json
import pathlib
import re
import subprocess
import sys

import abi_headers

HERE = pathlib.Path(__file__).resolve().parent
GOLDEN = HERE / "layout"
INCLUDE = HERE.parents[3] / "sdk/include"


def version(layout):
    return f"{layout['major']}.{layout['minor']}"


def goldens():
    layouts = [json.loads(path.read_text(encoding="utf-8")) for path in GOLDEN.glob("*.json")]
    return sorted(layouts, key=lambda layout: (layout["major"], layout["minor"]))


def is_reserved(member):
    return member[0].startswith("reserved")


def same(old, new):
    """A member that is as it was, or retired: it keeps its bytes for ever."""
    return old == new or new == [f"retired_{old[0]}", *old[1:]]


def member_breaks(name, old, new):
    for member in old["members"]:
        if is_reserved(member):
            continue
        if not any(same(member, other) for other in new["members"]):
            yield f"{name}.{member[0]} is not as it was: {member[1:]}"
    reserved = [(member[1], member[1] + member[2]) for member in old["members"]
                if is_reserved(member)]
    for member in new["members"]:
        if any(same(other, member) for other in old["members"]):
            continue
        begin, end = member[1], member[1] + member[2]
        if begin < old["size"] and not any(
                low <= begin and end <= high for low, high in reserved):
            yield f"{name}.{member[0]} is new and not at the end"


def struct_breaks(name, old, new):
    if new is None:
        yield f"{name} is gone"
    elif not old["growable"]:
        if new != old:
            yield f"{name} has no header and so is frozen, but has changed"
    else:
        if not new["growable"] or new["size"] < old["size"]:
            yield f"{name} has shrunk"
        yield from member_breaks(name, old, new)


def breaks(old, new):
    """What a binary built with `old` would stumble over in `new`."""
    for name, struct in old["structs"].items():
        yield from struct_breaks(name, struct, new["structs"].get(name))
    for part in ("types", "constants", "functions"):
        for name, value in old[part].items():
            if new[part].get(name) != value:
                yield f"{name} was {value}, is {new[part].get(name)}"


def shape_breaks(layout):
    """What could not grow: a growable struct inside another one."""
    growable = {name for name, struct in layout["structs"].items() if struct["growable"]}
    for name, struct in layout["structs"].items():
        for member, _, _, kind in struct["members"]:
            if kind.split("[")[0].strip() in growable:
                yield f"{name}.{member} holds a growable struct by value"


def history_breaks(layouts):
    for old, new in zip(layouts, layouts[1:]):
        for text in breaks(old, new):
            yield f"{version(old)} -> {version(new)}: {text}"


def unrecorded(newest, today):
    """What `layout.py write` has to be run for."""
    if version(today) != version(newest):
        yield f"layout/{version(today)}.json is missing: run layout.py write"
    elif today != newest:
        yield (f"the headers differ from version {version(newest)}: raise BP_ABI_MINOR and run "
               "layout.py write (docs/howto/grow-the-abi.md)")


def check(today):
    history = goldens()
    found = [*shape_breaks(today), *history_breaks([*history, today]),
             *unrecorded(history[-1], today)]
    print("\n".join(found))
    return 1 if found else 0


def to_text(layout):
    """JSON with one member on a line, so that a difference reads well."""
    text = json.dumps(layout, indent=1) + "\n"
    return re.sub(r'\[\s+("[^"]+"),\s+(\d+),\s+(\d+),\s+("[^"]*")\s+\]',
                  r"[\1, \2, \3, \4]", text)


def write(today):
    history = goldens()
    found = [*shape_breaks(today), *history_breaks([*history, today])]
    if history and today["minor"] != history[-1]["minor"] + 1:
        found.append("a minor version is written once: raise BP_ABI_MINOR by one")
    if not found:
        path = GOLDEN / f"{version(today)}.json"
        path.write_text(to_text(today), encoding="utf-8")
    print("\n".join(found))
    return 1 if found else 0


def assertions(layout):
    """C and C++ that compiles where the layout is this one."""
    yield abi_headers.INCLUDES + "#include <stddef.h>"
    yield ("#ifdef __cplusplus\n#define CHECK(condition, text) static_assert(condition, text)\n"
           "#else\n#define CHECK(condition, text) _Static_assert(condition, text)\n#endif")
    for name, struct in layout["structs"].items():
        yield f'CHECK(sizeof({name}) == {struct["size"]}, "{name}");'
        for member, offset, _, _ in struct["members"]:
            yield f'CHECK(offsetof({name}, {member}) == {offset}, "{name}.{member}");'


def changed(layout, change):
    result = copy.deepcopy(layout)
    change(result)
    return result


def append(struct, member, kind="uint64_t", size=8):
    struct["members"].append([member, struct["size"], size, kind])
    struct["size"] += size


def cases():
    """(what, change, whether it breaks)"""
    def struct(layout, name="bp_target_t"):
        return layout["structs"][name]
    yield "append a member", lambda a: append(struct(a), "fresh"), False
    yield "append to a frozen struct", lambda a: append(struct(a, "bp_binding_t"), "fresh"), True
    yield "drop the last member", lambda a: struct(a)["members"].pop(), True
    yield "swap two members", lambda a: struct(a)["members"][3].__setitem__(1, 32), True
    yield "change a type", lambda a: struct(a)["members"][2].__setitem__(3, "bp_bytes_t"), True
    yield "rename a member", lambda a: struct(a)["members"][2].__setitem__(0, "text"), True
    yield "retire a member", lambda a: struct(a)["members"][2].__setitem__(
        0, "retired_" + struct(a)["members"][2][0]), False
    yield "use a reserved member", lambda a: next(
        member for member in struct(a, "bp_target_t")["members"]
        if is_reserved(member)).__setitem__(0, "flags"), False
    yield "drop a struct", lambda a: a["structs"].pop("bp_target_t"), True
    yield "add a struct", lambda a: a["structs"].update(bp_fresh_t=struct(a)), False
    yield "change a constant", lambda a: a["constants"].update(BP_STATUS_OK=1), True
    yield "add a constant", lambda a: a["constants"].update(BP_FRESH=1), False
    yield "drop a function", lambda a: a["functions"].pop("bp_version"), True
    yield "change a type name", lambda a: a["types"].update(bp_status_t="int64_t"), True
    yield "hold a growable struct", lambda a: append(struct(a), "inner", "bp_entry_t", 72), True
    yield "hold an array of them", lambda a: append(struct(a), "inner", "bp_entry_t[2]", 144), True


def test(today):
    failures = []
    for what, change, expected in cases():
        new = changed(today, change)
        if bool([*breaks(today, new), *shape_breaks(new)]) != expected:
            failures.append(f"{what}: {'not found' if expected else 'refused'}")
        if not list(unrecorded(today, new)):
            failures.append(f"{what}: passes without a new minor version")
    print("\n".join(failures))
    return 1 if failures else 0


def compile_newest(command):
    """Whether a compiler lays the structs out as the newest version says."""
    text = "\n".join(assertions(goldens()[-1])) + "\n"
    return subprocess.run([*command, "-"], input=text, text=True, check=False).returncode


def main():
    if sys.argv[1:2] == ["compile"]:
        return compile_newest(sys.argv[2:])
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("action", choices=("check", "write", "test"))
    parser.add_argument("--clang", default="clang-22")
    parser.add_argument("--include", default=INCLUDE)
    options = parser.parse_args()
    today = abi_headers.read(options.clang, options.include)
    return {"check": check, "write": write, "test": test}[options.action](today)


if __name__ == "__main__":
    sys.exit(main())
