# SPDX-License-Identifier: Apache-2.0
"""What the suites of sets of kernels have in common: a manifest of a test's own, and bp."""
import json
import os
import pathlib
import subprocess

BP = pathlib.Path(__file__).resolve().parents[3] / "build/bin/bp"


def manifest(path, library, minor, /, **options):
    """Writes a manifest of the set that lies beside it; the environment in which bp finds it."""
    path.write_text(json.dumps({
        "format": 1, "name": library.stem.removeprefix("libbp-"), "version": "1.0.0",
        "vendor": "test", "abi": {"major": 0, "minor_low": minor}, "kernels": library.name,
        "options": options}), encoding="utf-8")
    return {"BACKPLANE_ADD_PLUGIN_FILES": str(path)}


def call(*arguments, **environment):
    """The exit code of bp, and what it said."""
    result = subprocess.run([BP, *map(str, arguments)], text=True, capture_output=True, check=False,
                            env=dict(os.environ, BACKPLANE_CACHE_DIR="-", **environment))
    return result.returncode, result.stdout + result.stderr
