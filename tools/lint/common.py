# SPDX-License-Identifier: Apache-2.0
"""What the checks share: the tracked files."""
import pathlib
import subprocess

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
CODE = (".c", ".cpp", ".h")


def tracked(*suffixes):
    """Tracked files with one of these suffixes, or all."""
    names = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, text=True,
                           capture_output=True, check=True).stdout.split("\0")
    return [ROOT / name for name in names
            if name and (not suffixes or name.endswith(suffixes))
            and (ROOT / name).is_file()]


def report(problems, what):
    """Prints the problems; the exit code."""
    for problem in problems:
        print(problem)
    print(f"{what}: {len(problems)} problems")
    return 1 if problems else 0
