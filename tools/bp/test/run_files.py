#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Tests of what the tools do to files and take from them: planted caches and
plug-ins, outputs that must not be replaced, disks that are full, streams that
are closed, arguments that are nonsense.

Each refusal is one line on standard error and exit code 1.
"""
import sys
import tempfile

import arguments
import disks
import outputs
import trust
from file_model import prepare
from programs import Programs


def main():
    with tempfile.TemporaryDirectory() as folder:
        suite = Programs(folder)
        prepare(suite)
        for part in (*trust.ALL, *outputs.ALL, *arguments.ALL, *disks.ALL):
            part(suite)
    print(f"{suite.passed} passed, {suite.failed} failed, {suite.skipped} skipped")
    return 1 if suite.failed else 0


if __name__ == "__main__":
    sys.exit(main())
