# SPDX-License-Identifier: Apache-2.0
"""Programs of the build, called in a folder of a suite."""
import os
import pathlib
import subprocess

import checks

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent.parent
BIN = ROOT / "build/bin"
MOUNTS = subprocess.run(["unshare", "-rm", "true"], check=False,
                        capture_output=True).returncode == 0


class Programs(checks.Checks):
    """Calls them with a cache of its own."""

    def __init__(self, folder):
        super().__init__()
        self.folder = pathlib.Path(folder)
        self.cache = self.folder / "cache"
        self.environment = dict(os.environ, BACKPLANE_CACHE_DIR=str(self.cache))

    def run(self, *arguments, program="bp", environment=None, **keywords):
        keywords = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "timeout": 300,
                    "cwd": self.folder, **keywords}
        result = subprocess.run([BIN / program, *map(str, arguments)], check=False,
                                encoding="utf-8", errors="replace",
                                env={**self.environment, **(environment or {})}, **keywords)
        result.stdout = result.stdout or ""
        return result

    def good(self, name, *arguments, **keywords):
        result = self.run(*arguments, **keywords)
        self.check(name, result.returncode == 0, result.stdout + result.stderr)
        return result

    def messages(self, result):
        return [line for line in result.stderr.strip().splitlines()
                if not line.startswith("bp: warning")]

    def refused(self, name, part, *arguments, **keywords):
        """One line that has `part`, exit code 1 (2 where the tool says so), no crash."""
        result = self.run(*arguments, **keywords)
        lines = self.messages(result)
        self.check(name, result.returncode in (1, 2) and len(lines) == 1
                   and lines[0].startswith("bp") and part in lines[0] and len(lines[0]) < 2500,
                   f"exit {result.returncode}: {result.stderr}")
        return result
