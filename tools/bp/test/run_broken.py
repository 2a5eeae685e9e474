#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Plug-ins that are broken, one way each: `bp devices` says what is wrong with
them in one line and lists the host's own devices as ever."""
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time

import checks

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent.parent
BIN = ROOT / "build/bin"
MANIFEST = {"format": 1, "name": "acme", "version": "1.0.0", "vendor": "Acme",
            "abi": {"major": 0, "minor_low": 1}, "driver": "libacme.so", "compiler": "libacme.so"}

# What is broken, by which macros, and a part of what is said.
AT_FIRST_CONTACT = [
    ("crash while it is loaded", {"AT_LOADING": "CRASH"},
     "loading: the plug-in ended its process with signal 11"),
    ("exit while it is loaded", {"AT_LOADING": "EXIT"},
     "loading: the plug-in ended its process with exit code 0"),
    ("crash in the query", {"AT_QUERY": "CRASH"}, "bp_plugin_query_v0: the plug-in ended"),
    ("crash in initialize", {"AT_INITIALIZE": "CRASH"}, "initialize: the plug-in ended"),
    ("_exit in initialize", {"AT_INITIALIZE": "_exit(0);"}, "initialize: the plug-in ended"),
    ("abort in initialize", {"AT_INITIALIZE": "abort();"}, "with signal 6 (Aborted)"),
    ("crash in enumerate", {"AT_ENUMERATE": "CRASH"}, "enumerate: the plug-in ended"),
    ("exit in enumerate", {"AT_ENUMERATE": "exit(3);"}, "with exit code 3"),
    ("crash in targets", {"AT_TARGETS": "CRASH"}, "targets: the plug-in ended"),
    ("exit in targets", {"AT_TARGETS": "EXIT"}, "targets: the plug-in ended"),
    ("a null function", {"IN_INFO": "driver_table.enumerate = NULL;"},
     "the driver table lacks the required function enumerate"),
    ("endless recursion", {"AT_INITIALIZE": "{ volatile char much[1 << 26]; much[0] = 1; "
                                            "return initialize(host, options, self, error); }"},
     "initialize: the plug-in ended its process with signal 11"),
    ("hang in enumerate", {"AT_ENUMERATE": "HANG"},
     "enumerate: the plug-in did not come back within 20 s"),
]
VALUES = [
    ("a failure of the query", {"AT_QUERY": "return BP_STATUS_INTERNAL;"},
     "bp_plugin_query_v0: failed with INTERNAL"),
    ("a failure of initialize", {"AT_INITIALIZE": "return BP_STATUS_UNAVAILABLE;"},
     "initialize: failed with UNAVAILABLE and gave no reason"),
    ("a status that there is not", {"AT_INITIALIZE": "return 4711;"}, "status 4711"),
    ("another name", {"IN_INFO": 'out->name = text("other");'}, 'calls itself "other"'),
    ("another version", {"IN_INFO": 'out->version = text("2.0.0");'},
     'says that it is version "2.0.0", its manifest "1.0.0"'),
    ("a later ABI", {"IN_INFO": "out->required_minor = out->built_minor = 99;"},
     "needs ABI version 0.99"),
    ("no driver table", {"IN_INFO": "out->driver = NULL;"}, "the driver table is missing"),
    ("no compiler table", {"IN_INFO": "out->compiler = NULL;"}, "the compiler table is missing"),
    ("a table of another type", {"IN_INFO": "queue_table.header.type = 3;"},
     "the queue table has type 3"),
    ("a short header", {"IN_INFO": "driver_table.header.size = 3;"}, "has a size of 3 bytes"),
    ("a table that ends early", {"IN_INFO": "driver_table.header.size = 24;"},
     "lacks the required function"),
    ("a device that is null", {"IN_DEVICE": "given = NULL;"}, "the device info is missing"),
    ("a device without an id", {"IN_DEVICE": 'device.id = text("");'}, "id is empty"),
    ("a device's kind", {"IN_DEVICE": "device.kind = 99;"}, "device one has kind 99"),
    ("a device's flags", {"IN_DEVICE": "device.flags = 1u << 30;"},
     "device one has flags 1073741824"),
    ("a device's constants", {"IN_DEVICE": "device.max_constants = 33;"},
     "device one has max_constants 33, the ABI has at most 32"),
    ("a device's alignment", {"IN_DEVICE": "device.binding_alignment = 3;"},
     "binding alignment of 3"),
    ("formats that are null", {"IN_DEVICE": "device.formats = NULL;"}, "lists 1 formats"),
    ("a device twice", {"IN_DEVICE": "sink->put(sink->context, given);"}, "is listed twice"),
    ("no device", {"AT_ENUMERATE": "return BP_STATUS_OK;"}, "finds no device"),
    ("a target that is null", {"IN_TARGET": "given = NULL;"}, "the target is missing"),
    ("a target without a name", {"IN_TARGET": 'target.name = text("");'},
     "a target has no name"),
    ("a target twice", {"IN_TARGET": "sink->put(sink->context, given);"},
     'the target "acme-one" is listed twice'),
    ("a target of another", {"IN_TARGET": f'target.name = text("{checks.OWN_TARGETS[0]}");'},
     f'the target "{checks.OWN_TARGETS[0]}" is that of plug-in "{checks.OWN_BACKEND}"'),
    ("a target's constants", {"IN_TARGET": "target.max_constants = 33;"},
     "33 constants, the ABI has at most 32"),
    ("a failure of targets", {"AT_TARGETS": "return BP_STATUS_INTERNAL;"},
     "targets: failed with INTERNAL"),
]


class Suite(checks.Checks):
    def __init__(self, folder):
        super().__init__()
        self.folder = folder
        self.environment = dict(
            os.environ, BACKPLANE_CACHE_DIR=str(folder / "cache"),
            BACKPLANE_ADD_PLUGIN_FILES=str(folder / "acme.bp.json"))
        self.library()
        self.write_manifest()

    def library(self, macros=None):
        target = self.folder / "libacme.so"
        target.unlink(missing_ok=True)
        subprocess.run(
            ["cc", "-shared", "-fPIC", "-w", "-o", target, "-I", ROOT / "sdk/include",
             *(f"-D{name}={text}" for name, text in (macros or {}).items()),
             pathlib.Path(__file__).parent / "Broken.c"], check=True)
        target.chmod(0o700)

    def write_manifest(self, text=None, **members):
        path = self.folder / "acme.bp.json"
        path.write_text(text or json.dumps({**MANIFEST, **members}), "utf-8")
        path.chmod(0o600)

    def bp(self, *arguments):
        return subprocess.run([BIN / "bp", *arguments], check=False, env=self.environment,
                              capture_output=True, text=True, timeout=120)

    def said(self, name, part, plugin="acme"):
        """One line about the plug-in has `part`; the devices of others are there."""
        result = self.bp("devices")
        lines = [line for line in result.stdout.splitlines()
                 if line.startswith("  ") and part in line]
        self.check(name, result.returncode == 0 and len(lines) == 1
                   and lines[0].strip().startswith(plugin), result.stdout + result.stderr)
        self.check(f"{name}: others", all(f"{uri} " in result.stdout for uri in
                                          ("host://cpu", "ref://interpreter")), result.stdout)

    def broken(self, rows):
        for name, macros, part in rows:
            self.library(macros)
            self.said(name, part)

    def good(self, name):
        result = self.bp("devices")
        _, _, refused = result.stdout.partition("refused:")
        self.check(name, "acme://one" in result.stdout and "acme" not in refused,
                   result.stdout + result.stderr)

    def trials(self):
        self.good("nothing is broken")
        self.broken(AT_FIRST_CONTACT)
        begin = time.monotonic()
        self.said("the outcome is kept", "is not loaded until it has changed")
        self.check("a kept outcome needs no trial", time.monotonic() - begin < 10)
        result = self.bp("run", "none.onnx", "--device", "acme")
        self.check("what is run names the file", result.returncode == 1, result.stderr)
        self.library()
        self.good("a changed file is tried again")
        self.library({"AT_INITIALIZE": "CRASH"})
        said = self.bp("devices").stdout
        kept = said[said.index(str(self.folder / "cache")):].split(" is removed")[0]
        self.check("the message names a file", pathlib.Path(kept).is_file(), said)

    def names(self):
        self.library({"IN_INFO": 'out->name = text("host");'})
        self.write_manifest(name="host", version="99.0.0")
        self.said("the name of another", 'the name "host" is that of', plugin="host")
        self.write_manifest(name="host", version="99.0.0", vendor="Backplane")
        self.said("a later version that does not fit", "says that it is version", plugin="host")
        self.library({"AT_QUERY": "CRASH"})
        self.said("a later version that crashes", "the plug-in ended", plugin="host")
        self.library()
        self.write_manifest()

    def files(self):
        path = self.folder / "libacme.so"
        whole = path.read_bytes()
        for name, data, part in (
                ("cut in the middle", whole[:len(whole) // 2], "the file is cut short"),
                ("cut at the end", whole[:-1], "the file is cut short"),
                ("empty", b"", "the file is empty"),
                ("a text", b"no library\n", "the file is no ELF library"),
                ("another machine", whole[:18] + b"\xf3\0" + whole[20:],
                 "it is built for riscv"),
                ("32 bits", whole[:4] + b"\1" + whole[5:], "of 32 bits")):
            path.write_bytes(data)
            self.said(f"library: {name}", part)
        path.unlink()
        self.said("library: not there", "libacme.so: No such file", plugin="")
        path.write_bytes(whole)
        path.chmod(0o700)
        bad = str(self.folder / "acme.bp.json")
        for name, text, part in (
                ("bad JSON", '{"format": 1,\n "name": }', "line 2, column 10"),
                ("not whole", '{"format": 1,\n', "line 2"),
                ("empty", " ", "not valid JSON, line 1")):
            self.write_manifest(text)
            self.said(f"manifest: {name}", part, plugin="manifest " + bad)
        self.write_manifest(vendr="Acme")
        self.said("manifest: unknown member", '"vendr" is not a member that a manifest has, did '
                  'you mean "vendor"?', plugin="manifest " + bad)
        self.write_manifest(format=2)
        self.said("manifest: later format", '"format" is 2', plugin="manifest " + bad)
        self.write_manifest(abi={"major": 7, "minor_low": 0})
        self.said("manifest: another ABI", "needs ABI major version 7")
        self.write_manifest()
        self.good("nothing is broken any more")


def main():
    with tempfile.TemporaryDirectory(prefix="bp-broken-") as folder:
        os.chmod(folder, 0o700)
        suite = Suite(pathlib.Path(folder).resolve())
        suite.trials()
        suite.broken(VALUES)
        suite.library()
        suite.names()
        suite.files()
    print(f"{suite.passed} passed, {suite.failed} failed, {suite.skipped} skipped")
    return 1 if suite.failed else 0


if __name__ == "__main__":
    sys.exit(main())
