#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Tests of the `bp` tool as a user meets it: results, messages, exit codes.

Broken inputs must give one clear line and exit code 1, in the release build and
under the sanitisers (build-asan, when it is there).
"""
import argparse
import os
import pathlib
import sys
import tempfile

import artifacts
import commands
import kernels
import models
import plugins
import sizes
import vulkan
from tool import Suite, Tool

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent.parent


def broken(suite, tool, artifact):
    """Broken models, artifacts and manifests."""
    for end, files in (("onnx", models.broken_models(tool.folder)),
                       ("bpx", models.damaged_artifacts(artifact))):
        for name, data in files.items():
            path = tool.file(f"broken.{end}", data)
            suite.refused(f"{tool.binary}: {name}",
                          tool.run("run", path, "--random-inputs", "1"))
    good = tool.file("whole.bpx", artifact)
    for name, text in models.BROKEN_MANIFESTS.items():
        path = tool.file("acme.bp.json", text.encode())
        only = {"BACKPLANE_PLUGIN_FILES": str(path)}
        suite.refused(f"{tool.binary}: {name}",
                      tool.run("run", good, "--random-inputs", "1", **only))
        listed = tool.run("devices", **only)
        suite.check(f"{tool.binary}: {name} is listed", listed.returncode == 0
                    and "acme.bp.json" in tool.run("devices", "--why", **only).stdout,
                    listed.stdout + listed.stderr)
    suite.good(f"{tool.binary}: the whole artifact runs",
               tool.run("run", good, "--random-inputs", "1"))


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--bp", default=str(ROOT / "build/bin/bp"))
    parser.add_argument("--asan-bp", default=str(ROOT / "build-asan/bin/bp"))
    parser.add_argument("--all", action="store_true", help="accepted, no effect")
    options = parser.parse_args()
    suite = Suite()
    with tempfile.TemporaryDirectory() as folder:
        tool = Tool(options.bp, folder)
        for part in (*commands.ALL, *vulkan.ALL, *plugins.ALL, kernels.check, *artifacts.ALL):
            part(suite, tool)
        sizes.check(suite, tool, ("host", "ref", "worker:local/host"))
        path = tool.folder / "good.bpx"
        artifact = path.read_bytes() if path.exists() else b""
        suite.check("an artifact to damage", bool(artifact))
        broken(suite, tool, artifact)
        if os.path.exists(options.asan_bp):
            broken(suite, Tool(options.asan_bp, folder), artifact)
        else:
            suite.skipped += 1
            print(f"skipped: no {options.asan_bp}")
    print(f"{suite.passed} passed, {suite.failed} failed, {suite.skipped} skipped")
    return 1 if suite.failed else 0


if __name__ == "__main__":
    sys.exit(main())
