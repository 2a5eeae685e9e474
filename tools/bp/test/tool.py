# SPDX-License-Identifier: Apache-2.0
"""A build of `bp` as its suites meet it, and which plug-ins it has."""
import os
import pathlib
import subprocess

import checks


class Tool:
    """One build of bp, with a cache folder of its own."""

    def __init__(self, binary, folder):
        self.binary = binary
        self.folder = pathlib.Path(folder)
        self.environment = dict(os.environ, BACKPLANE_CACHE_DIR=str(self.folder / "cache"))

    def run(self, *arguments, **environment):
        return subprocess.run([self.binary, *map(str, arguments)], text=True,
                              capture_output=True, timeout=300, check=False,
                              cwd=self.folder, env={**self.environment, **environment})

    def file(self, name, data):
        path = self.folder / name
        path.write_bytes(data)
        return path


class Suite(checks.Checks):
    def good(self, name, result, *parts):
        """It worked, and said each of the parts."""
        self.check(name, result.returncode == 0 and all(part in result.stdout for part in parts),
                   result.stdout + result.stderr)

    def refused(self, name, result):
        """One line on standard error, exit code 1, no crash."""
        lines = result.stderr.strip().splitlines()
        self.check(name, result.returncode == 1 and len(lines) == 1
                   and lines[0].startswith("bp: ") and len(lines[0]) > 12,
                   f"exit {result.returncode}: {result.stderr}")


def has_vulkan(suite, tool):
    """Whether the backend is built; counts as skipped when not."""
    plugin = "backplane/plugins/vulkan.bp.json"
    built = (pathlib.Path(tool.binary).parent.parent / "lib" / plugin).exists()
    suite.skipped += not built
    return built


def with_plugin(suite, tool, name, without=None):
    """The environment with a plug-in for tests beside those of the build, but for one; none, and a
    test is skipped, where it is not built."""
    build = pathlib.Path(tool.binary).parent.parent / "lib/backplane"
    own = build / name / f"{name}.bp.json"
    if not own.exists():
        suite.skipped += 1
        return None
    files = [file for file in build.glob("plugins/*.bp.json") if file.name != f"{without}.bp.json"]
    return {"BACKPLANE_PLUGIN_FILES": ":".join(map(str, [*files, own]))}


def has_target(tool, name):
    """Whether a compiler plug-in of this build has the target."""
    return tool.run("compile", "good.onnx", "-o", "probe.bpx", "--target", name).returncode == 0
