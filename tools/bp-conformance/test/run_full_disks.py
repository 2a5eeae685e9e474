#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Commands of the suite that write to a disk with a few free pages. Each ends well or
with one line; files that were there before are as they were or whole and new, nothing
half-written is left, and with room the same command ends well.

Needs file systems of its own: mounts of tmpfs in a user namespace.
"""
import argparse
import dataclasses
import hashlib
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT / "tools/bp/test"))
import checks  # pylint: disable=wrong-import-position

PAGE = 4096
ROOM = 16 << 20
INSIDE = "BP_FULL_DISKS_INSIDE"  # set in the namespace
CASES = ["--filter", "L3/softmax/*", "--filter", "L3/exp/f*/n/*"]
CASE = "L3/softmax/f32/rows/uniform-c=33,r=17"
RUN = ["conformance", "--device", "ref", *CASES]


@dataclasses.dataclass
class Command:
    """`given`: folder whose files lie on the disk before. `arguments` of the tool, in the
    folder of the disk, which is that of temporary files, too; `again`: what they get
    besides with room. `made`: files that it makes; all others stay as they were, those
    of `replaced` may be new. `tells`: of a folder, what must be equal each time."""
    name: str
    given: str
    arguments: list
    made: tuple = ()
    replaced: tuple = ()
    again: tuple = ()
    tells: callable = lambda folder: None
    tool: str = "bp"


def hashes(folder):
    return {str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest()
            for path in folder.rglob("*") if path.is_file() and path.name != "filler"}


def statuses(folder):
    """Of the cases of a run."""
    lines = (folder / "out/records.jsonl").read_text(encoding="utf-8").splitlines()
    return sorted((record["id"], record["status"]) for record in map(json.loads, lines))


class Suite(checks.Checks):
    def __init__(self, folder):
        super().__init__()
        self.folder, self.disk = folder, folder / "disk"
        # Owners outside of a user namespace are nobody in it.
        self.environment = {**os.environ, "BACKPLANE_CACHE_DIR": "-",
                            "BACKPLANE_TRUSTED_DIRS": "/", "TMPDIR": str(self.disk)}
        self.disk.mkdir()
        (folder / "empty").mkdir()

    def call(self, arguments, cwd, tool="bp"):
        return subprocess.run([ROOT / "build/bin" / tool, *arguments], cwd=cwd, check=False,
                              env=self.environment, capture_output=True, text=True,
                              timeout=300)

    def prepare(self, name, base, *commands):
        """A folder of given files: those of another one, and what commands make there."""
        shutil.copytree(self.folder / base, self.folder / name)
        for arguments in commands:
            result = self.call(arguments, self.folder / name)
            self.check(f"prepare {name}", result.returncode == 0, result.stderr)

    def mount(self, given):
        subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={ROOM}", "none", self.disk],
                       check=True)
        shutil.copytree(self.folder / given, self.disk, dirs_exist_ok=True)

    def fill(self, pages):
        """Leaves this many free pages."""
        free = os.statvfs(self.disk)
        (self.disk / "filler").write_bytes(bytes((free.f_bavail - pages) * PAGE))

    def whole(self, command):
        """What the command makes with room, and the pages that it takes."""
        self.mount(command.given)
        before = os.statvfs(self.disk).f_bavail
        result = self.call(command.arguments, self.disk, command.tool)
        self.check(command.name, result.returncode == 0, result.stdout + result.stderr)
        taken = before - os.statvfs(self.disk).f_bavail
        told = command.tells(self.disk)
        subprocess.run(["umount", self.disk], check=True)
        return taken, told

    def narrow(self, command, pages, told):
        """The command with some free pages, and then with room."""
        name = f"{command.name} in {pages} pages"
        self.mount(command.given)
        self.fill(pages)
        before = hashes(self.disk)
        result = self.call(command.arguments, self.disk, command.tool)
        lines = result.stderr.strip().splitlines()
        said = len(lines) == 1 and "No space left" in lines[0]
        said |= not lines and "No space left" in result.stdout  # of a case
        self.check(f"{name}: its end", result.returncode == 0 or (
            result.returncode in (1, 2) and said),
            (result.returncode, result.stdout, result.stderr))
        after = hashes(self.disk)
        changed = {file for file in before.keys() | after.keys()
                   if before.get(file) != after.get(file)}
        allowed = {*command.replaced, *command.made}
        self.check(f"{name}: other files", changed <= allowed, changed - allowed)
        lost = {file for file in before if file not in after}
        self.check(f"{name}: lost files", not lost, lost)
        (self.disk / "filler").unlink()
        if result.returncode:
            result = self.call([*command.arguments, *command.again], self.disk, command.tool)
            self.check(f"{name}: then it works", result.returncode == 0 and
                       not result.stderr, (result.returncode, result.stdout, result.stderr))
        self.check(f"{name}: the result", command.tells(self.disk) == told)
        subprocess.run(["umount", self.disk], check=True)

    def run(self, command):
        taken, told = self.whole(command)
        # Some of the steps are large; most failures come with the first pages.
        for pages in sorted({0, 1, 2, 3, 5, 9, *range(taken // 6, taken + 2, taken // 6 + 1)}):
            self.narrow(command, pages, told)


REPORTS = ("out/run.json", "out/mustpass.txt", "out/records.jsonl", "out/summary.json",
           "out/junit.xml", "out/report.html")
SEALS = ("out/manifest.json", "out/manifest.sig")


def commands():
    out = ["--out", "out"]
    return [
        Command("run", "empty", [*RUN, *out], made=REPORTS, again=("--resume",),
                tells=statuses),
        Command("go on with a run", "half", [*RUN, *out, "--resume"], made=REPORTS,
                replaced=REPORTS, tells=statuses),
        Command("seal", "done", ["conformance", "seal", "out", "--key", "key"], made=SEALS),
        Command("seal again", "sealed", ["conformance", "seal", "out", "--key", "key"],
                replaced=SEALS),
        Command("pack", "sealed", ["conformance", "seal", "out", "--key", "key", "--archive",
                                   "out.tar.zst"], made=("out.tar.zst",), replaced=SEALS),
        Command("make a key", "empty", ["conformance", "keygen", "key"],
                made=("key", "key.pub")),
        Command("merge", "shards", ["conformance", "merge", "one", "two", "--out", "out"],
                made=REPORTS),
        Command("list cases", "empty", ["conformance", "mustpass", "smoke", "--out",
                                        "list.txt"], made=("list.txt",)),
        Command("repeat a case", "empty", ["conformance", "--device", "ref", "--repro", CASE,
                                           *out],
                made=tuple(f"out/{name}0.npy" for name in ("input", "output", "expected"))),
        Command("pack cases", "empty", ["bundle", "cases", "--target", "ref", *CASES, "-o",
                                        "cases.bpb"], made=("cases.bpb",)),
        Command("run a bundle", "bundle", ["run", "cases.bpb", "-o", "cases.bpr"],
                made=("cases.bpr",), tool="bp-worker"),
        Command("verify an archive", "archive", ["conformance", "verify", "out.tar.zst",
                                                 "--any-key"]),
    ]


def prepare(suite):
    suite.prepare("done", "empty", [*RUN, "--out", "out"], ["conformance", "keygen", "key"])
    suite.prepare("sealed", "done", ["conformance", "seal", "out", "--key", "key"])
    suite.prepare("archive", "sealed", ["conformance", "seal", "out", "--key", "key",
                                        "--archive", "out.tar.zst"])
    shutil.rmtree(suite.folder / "archive/out")
    suite.prepare("bundle", "empty", ["bundle", "cases", "--target", "ref", "--device", "ref",
                                      *CASES, "-o", "cases.bpb"])
    suite.prepare("shards", "empty", [*RUN, "--shard", "1/2", "--out", "one"],
                  [*RUN, "--shard", "2/2", "--out", "two"])
    suite.prepare("half", "done")
    records = suite.folder / "half/out/records.jsonl"
    lines = records.read_text(encoding="utf-8").splitlines(keepends=True)
    records.write_text("".join(lines[:len(lines) // 2]), encoding="utf-8")


def inside(options):
    with tempfile.TemporaryDirectory() as name:
        suite = Suite(pathlib.Path(name))
        prepare(suite)
        for command in commands():
            if not options.only or command.name in options.only:
                suite.run(command)
        print(f"{suite.passed} passed, {suite.failed} failed, {suite.skipped} skipped")
        return 1 if suite.failed else 0


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", action="append", metavar="NAME", help="a command by name")
    options = parser.parse_args()
    if os.environ.get(INSIDE):
        return inside(options)
    if subprocess.run(["unshare", "-rm", "true"], check=False, capture_output=True).returncode:
        print("skipped: no mounts for this user\n0 passed, 0 failed, 1 skipped")
        return 0
    return subprocess.run(["unshare", "-rm", sys.executable, *sys.argv], check=False,
                          env={**os.environ, INSIDE: "1"}).returncode


if __name__ == "__main__":
    sys.exit(main())
