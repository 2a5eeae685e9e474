#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Plug-ins that break one rule of `bp lint` each, which names that rule and no
other; plug-ins of the tree, which break none; and what the tool prints."""
import argparse
import json
import os
import pathlib
import platform
import re
import shutil
import struct
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[2]
sys.path.insert(0, str(ROOT / "tools/bp/test"))
import checks  # noqa: E402

MANIFEST = {"format": 1, "name": "acme", "version": "1.0.0", "vendor": "Acme",
            "abi": {"major": 0, "minor_low": 1}, "compiler": "libacme.so"}
MINOR = int(re.search(r"BP_ABI_MINOR (\d+)",
                      (ROOT / "sdk/include/backplane/abi.h").read_text(encoding="utf-8"))[1])
OTHER = "x86_64" if platform.machine() == "aarch64" else "aarch64"
# Machine code is a word that is a pointer: it has to be relocated.
IN_CODE = ('__asm__(".text\\nlint_word: .quad lint_data\\n.data\\nlint_data: .quad 0\\n.text");'
           "extern char lint_word[] __attribute__((visibility(\"hidden\")));")
UNIQUE = ('__asm__(".globl lint_unique\\n.type lint_unique, %gnu_unique_object\\n.data\\n'
          'lint_unique: .quad 0\\n.text");')

# The rule, how it is broken: macros, members of the manifest, flags of the
# compiler, arguments of bp lint.
BROKEN = [
    ("BPL002", {}, {"vendr": "Acme"}, [], []),
    ("BPL003", {}, {"compiler": "libgone.so"}, [], []),
    ("BPL005", {}, {"sha256": {"compiler": "0" * 64}}, [], []),
    ("BPL006", {}, {"arch": OTHER}, [], []),
    ("BPL007", {"IN_INFO": 'info.name = text("other");'}, {}, [], []),
    ("BPL008", {"IN_INFO": 'info.version = text("2.0.0");'}, {}, [], []),
    ("BPL009", {"IN_INFO": 'info.vendor = text("Other");'}, {}, [], []),
    ("BPL010", {}, {"abi": {"major": 0, "minor_low": 2}}, [], []),
    ("BPL011", {}, {"driver": "libacme.so"}, [], []),
    ("BPL012", {"IN_INFO": "info.kernels = &kernels_table;"}, {}, [], []),
    ("BPL013", {}, {"cpu_features": ["nosuchfeature"]}, [], []),
    ("BPL013", {}, {"abi": {"major": 7, "minor_low": 0}}, [], []),
    ("BPL102", {}, {}, [f"-Wl,--version-script={HERE}/hidden.map"], []),
    ("BPL103", {"BESIDE": '__attribute__((visibility("default"))) int helper = 1;'}, {}, [], []),
    ("BPL104", {"BESIDE": UNIQUE}, {}, [], []),
    ("BPL105", {"BESIDE": "void bp_log(void);", "AT_INITIALIZE": "if (!host) bp_log();"}, {}, [],
     []),
    ("BPL107", {"BESIDE": "void missing(void);", "AT_INITIALIZE": "if (!host) missing();"}, {},
     [], []),
    ("BPL107", {"BESIDE": "extern int missing;", "AT_INITIALIZE": "if (!host) return missing;"},
     {}, [], []),
    ("BPL108", {"BESIDE": "char *secure_getenv(const char *);",
                "AT_INITIALIZE": 'if (!host) secure_getenv("X");'}, {}, [], ["--glibc", "2.10"]),
    ("BPL109", {}, {}, ["-Wl,-rpath,/opt/acme/lib"], []),
    ("BPL109", {}, {}, ["-Wl,-rpath,$ORIGIN:lib"], []),
    ("BPL110", {}, {}, ["-Wl,-z,execstack"], []),
    ("BPL111", {"BESIDE": IN_CODE}, {}, ["-Wl,-z,notext"], []),
    ("BPL113", {"BESIDE": "static _Thread_local volatile int slot;", "AT_TARGETS": "slot = 1;"},
     {}, ["-ftls-model=initial-exec"], []),
    ("BPL114", {"BESIDE": "__attribute__((constructor)) static void early(void) { volatile int once = 1; (void)once; }"}, {}, [], []),
    ("BPL202", {"BESIDE": "static int calls;", "AT_QUERY": "CRASH"}, {}, [], []),
    ("BPL202", {"AT_QUERY": "exit(0);"}, {}, [], []),
    ("BPL202", {"AT_QUERY": "abort();"}, {}, [], []),
    ("BPL202", {"AT_QUERY": "HANG"}, {}, [], ["--timeout", "700"]),
    ("BPL203", {"IN_INFO": "compiler_table.header.size = 24;"}, {}, [], []),
    ("BPL203", {"IN_INFO": "compiler_table.header.type = 3;"}, {}, [], []),
    ("BPL203", {"IN_INFO": "info.built_minor = 1;"}, {}, [], []),
    ("BPL203", {"AT_TARGETS": "target.header.size -= 8;"}, {}, [], []),
    ("BPL203", {"AT_TARGETS": "target.header.type = 3;"}, {}, [], []),
    ("BPL204", {"IN_INFO": "info.built_minor = 99;"}, {}, [], []),
    ("BPL205", {"IN_INFO": "info.required_minor = BP_ABI_MINOR;"},
     {"abi": {"major": 0, "minor_low": MINOR}}, [], []),
    ("BPL206", {"AT_TARGETS": "*(volatile char *)error = 0;"}, {}, [], []),
    ("BPL206", {"AT_INITIALIZE": "if (options->count && !error) CRASH"}, {}, [], []),
    ("BPL207", {"AT_TARGETS": "sink->put(sink->context, &target);"}, {}, [], []),
    ("BPL207", {"AT_TARGETS": "target.name.size = 0;"}, {}, [], []),
    ("BPL207", {"AT_QUERY": "if (host->minor_high < 1000) return BP_STATUS_INTERNAL;"}, {}, [],
     []),
    ("BPL208", {"IN_INFO": "info.kernels = &kernels_table;",
                "AT_DESCRIBE": 'kernel.text = text("kernel neg version 1 { %x = inptu }");'},
     {"kernels": "libacme.so"}, [], []),
    ("BPL208", {"IN_INFO": "info.kernels = &kernels_table;",
                "AT_DESCRIBE": 'kernel.cost = text("n * rows");'},
     {"kernels": "libacme.so"}, [], []),
    ("BPL208", {"IN_INFO": "info.kernels = &kernels_table;",
                "AT_DESCRIBE": "kernel.body = (const bp_compiled_t *)&kernel;"},
     {"kernels": "libacme.so"}, [], []),
    ("BPL301", {"WRITTEN(bytes)": "(out->header.size < 100 ? sizeof(info) : (bytes))"}, {}, [], []),
    ("BPL302", {"AT_QUERY": "if (host->minor_high > 999) return BP_STATUS_INTERNAL;"}, {}, [],
     ["--depth", "standard"]),
    ("BPL303", {"BESIDE": "static int calls;",
                "AT_QUERY": "if (calls++ > 50) return BP_STATUS_INTERNAL;"}, {}, [], []),
]

# What drivers of conformance/plugin/test/Faulty.cpp break: number, rule.
FAULTY = [
    (1, "BPL411"), (2, "BPL410"), (3, "BPL406"), (4, "BPL415"), (5, "BPL413"), (6, "BPL410"),
    (7, "BPL603"), (8, "BPL601"), (9, "BPL301"), (10, "BPL308"), (11, "BPL306"), (13, "BPL310"),
    (14, "BPL414"), (15, "BPL405"), (18, "BPL312"), (21, "BPL403"), (22, "BPL206"),
    (28, "BPL401"), (34, "BPL307"),
]


class Suite(checks.Checks):
    def __init__(self, folder, build):
        super().__init__()
        self.folder, self.build = folder, build
        self.environment = dict(os.environ, BACKPLANE_CACHE_DIR="-")
        self.seen = set()

    def compile(self, macros=None, flags=()):
        target = self.folder / "libacme.so"
        target.unlink(missing_ok=True)
        subprocess.run(
            ["cc", "-shared", "-fPIC", "-w", "-O1", "-fvisibility=hidden", "-o", target,
             "-I", ROOT / "sdk/include",
             *(f"-D{name}={text}" for name, text in (macros or {}).items()), *flags,
             HERE / "Linted.c"], check=True)
        target.chmod(0o700)

    def manifest(self, text=None, **members):
        path = self.folder / "acme.bp.json"
        path.write_text(text or json.dumps({**MANIFEST, **members}), "utf-8")
        path.chmod(0o600)

    def lint(self, plugin, *arguments):
        return subprocess.run([self.build / "bin/bp-lint", plugin, *arguments], check=False,
                              env=self.environment, capture_output=True, text=True, timeout=200)

    def found(self, plugin, *arguments):
        """The numbers that are found, what was skipped, and all that was said."""
        result = self.lint(plugin, "--json", *arguments)
        try:
            report = json.loads(result.stdout)
        except ValueError:
            return None, [], result
        bad = report["errors"] > 0
        self.check(f"exit code of {plugin}", result.returncode == int(bad), result)
        numbers = {finding["rule"] for finding in report["findings"]}
        self.seen |= numbers
        return numbers, report["skipped"], result

    def exactly(self, rule, *arguments, label=""):
        numbers, _, result = self.found(self.folder / "acme.bp.json", *arguments)
        self.check(f"{rule} {label}", numbers == {rule}, (result.stdout, result.stderr))

    def broken(self):
        for rule, macros, members, flags, arguments in BROKEN:
            self.compile(macros, flags)
            self.manifest(**members)
            self.exactly(rule, *arguments, label=str(macros or members or flags))

    def damaged_files(self):
        self.compile()
        self.manifest('{"format": 1,\n "name": }')
        self.exactly("BPL001")
        self.manifest()
        library = self.folder / "libacme.so"
        whole = library.read_bytes()
        for rule, data in (
                ("BPL101", whole[:len(whole) // 2]), ("BPL101", b"no library\n"),
                ("BPL101", whole[:18] + b"\xf3\0" + whole[20:]),
                ("BPL112", with_writable_code(whole)),
                ("BPL115", whole[:40] + bytes(8) + whole[48:60] + bytes(4) + whole[64:])):
            library.write_bytes(data)
            self.exactly(rule, label=str(len(data)))
        library.write_bytes(whole)
        library.chmod(0o722)
        self.exactly("BPL004")
        library.chmod(0o700)

    def other_libraries(self):
        """A library that is needed and has a forbidden name, or is gone."""
        for soname, rule in (("libLLVM.so.99", "BPL106"), ("libgone.so", "BPL201")):
            other = self.folder / soname
            subprocess.run(["cc", "-shared", "-fPIC", "-o", other, f"-Wl,-soname,{soname}", "-x",
                            "c", "/dev/null"], check=True)
            other.chmod(0o700)
            self.compile({}, ["-Wl,--no-as-needed", other, "-Wl,-rpath,$ORIGIN"])
            self.manifest()
            if rule == "BPL201":
                other.unlink()
            self.exactly(rule, label=soname)

    def tables_of_a_driver(self):
        """Rules that only a driver can break."""
        for number, rule in [(0, None), *FAULTY]:
            source = self.build / f"conformance/plugin/test/plugins/libfaulty{number}.so"
            library = self.folder / "libfaulty.so"
            library.unlink(missing_ok=True)
            shutil.copy(source, library)
            library.chmod(0o700)
            text = json.dumps({**MANIFEST, "name": "faulty", "driver": "libfaulty.so",
                               "compiler": "libfaulty.so", "vendor": "test"})
            path = self.folder / "faulty.bp.json"
            path.write_text(text, "utf-8")
            path.chmod(0o600)
            if rule:
                numbers, _, result = self.found(path, "--depth", "standard", "--rule", rule,
                                                "--timeout", "3000")
                self.check(f"{rule} by fault {number}", numbers == {rule}, result.stdout)
            else: # It has a constructor, for the fault of loading.
                numbers, _, result = self.found(path)
                self.check("a driver that keeps the rules", numbers - {"BPL114"} == set(),
                           result.stdout)

    def clean(self):
        self.compile()
        self.manifest()
        numbers, skipped, result = self.found(self.folder / "acme.bp.json")
        self.check("a plug-in that keeps all rules", numbers == set(), result.stdout)
        self.check("what has no device is said aloud",
                   any("driver" in one["reason"] for one in skipped), result.stdout)
        numbers, skipped, result = self.found(self.folder / "libacme.so")
        self.check("a library alone", numbers == set(), result.stdout)
        self.check("what needs a manifest is said aloud",
                   any("manifest" in one["what"] for one in skipped), result.stdout)
        for name in ("ref", "host"):
            numbers, _, result = self.found(name)
            self.check(f"{name} keeps all rules", numbers == set(), result.stdout)
        emulated = self.build / "lib/backplane/plugins/nvptx.bp.json"
        if emulated.exists(): # Without a GPU it has a device that only its full name opens.
            numbers, _, result = self.found(emulated)
            self.check("nvptx keeps all rules", numbers == set(), result.stdout)

    def classes(self):
        """A plug-in of classes (backplane/cpp/) keeps the rules that C ones keep."""
        library = self.folder / "libclasses.so"
        shutil.copy(self.build / "hal/core/test/plugins/libbp-test-classes.so", library)
        library.chmod(0o700)
        path = self.folder / "classes.bp.json"
        path.write_text(json.dumps({**MANIFEST, "name": "classes", "vendor": "test",
                                    **dict.fromkeys(("driver", "compiler", "kernels"),
                                                    "libclasses.so")}), "utf-8")
        path.chmod(0o600)
        numbers, _, result = self.found(path, "--depth", "standard")
        self.check("a plug-in of classes", numbers == set(), result.stdout)

    def said(self):
        self.compile({"BESIDE": '__attribute__((visibility("default"))) int helper;'})
        result = self.lint(self.folder / "acme.bp.json")
        line = [line for line in result.stdout.splitlines() if line.startswith("BPL103 error: ")]
        self.check("one line for a finding", len(line) == 1 and "libacme.so: exports 'helper'; "
                   "asked is that" in line[0] and "to do: hide the rest" in line[0],
                   result.stdout)
        self.compile({}, ["-Wl,-rpath,/opt/acme"])
        path = self.folder / "acme.bp.json"
        self.check("a warning", self.lint(path).returncode == 0)
        self.check("a warning with --strict", self.lint(path, "--strict").returncode == 1)
        for arguments, part in (((), "no plug-in is named"),
                                (("nosuch",), "there is no plug-in 'nosuch'"),
                                (("gone.bp.json",), "cannot read 'gone.bp.json'"),
                                (("gone.so",), "cannot read 'gone.so'"),
                                ((path, "--rule", "BPL999"), "there is no rule 'BPL999'"),
                                ((path, "--check", "*"), "has no driver")):
            result = subprocess.run([self.build / "bin/bp-lint", *arguments], check=False,
                                    env=self.environment, capture_output=True, text=True)
            self.check(f"refused {arguments}", result.returncode == 1 and part in result.stderr
                       and result.stderr.count("\n") == 1, result)
        result = self.lint("ref", "--check", "L0/query/*", "--verbose")
        self.check("checks in this process", result.returncode == 0
                   and re.search(r"^[1-9]\d* checks, 0 failed$", result.stdout, re.MULTILINE),
                   result.stdout)
        lines = self.lint("", "--list-rules").stdout.splitlines()
        self.check("--list-rules", len(lines) >= 70 and lines[0].startswith("BPL001 error"),
                   lines)
        own = {line.split()[0] for line in lines if line < "BPL3"}
        self.check("each rule of files and first contact was broken once", own <= self.seen,
                   own - self.seen)


def with_writable_code(library):
    """Adds the right to write to the segment with code."""
    offset, = struct.unpack_from("<Q", library, 32)
    size, count = struct.unpack_from("<HH", library, 54)
    changed = bytearray(library)
    for i in range(count):
        kind, flags = struct.unpack_from("<II", library, offset + i * size)
        if kind == 1 and flags & 1:
            struct.pack_into("<I", changed, offset + i * size + 4, flags | 2)
    return bytes(changed)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="bp-lint-") as folder:
        os.chmod(folder, 0o700)
        suite = Suite(pathlib.Path(folder).resolve(), options.build)
        suite.clean()
        suite.classes()
        suite.broken()
        suite.damaged_files()
        suite.other_libraries()
        suite.tables_of_a_driver()
        suite.said()
    print(f"{suite.passed} passed, {suite.failed} failed, {suite.skipped} skipped")
    return 1 if suite.failed else 0


if __name__ == "__main__":
    sys.exit(main())
