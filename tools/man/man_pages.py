#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes man pages into a folder, from the reference pages that tests hold equal
to --help (docs/reference/cli.md) and to the passes (docs/reference/passes.md).

    man_pages.py VERSION FOLDER PROGRAM…      those of these programs
"""
import argparse
import pathlib
import re
import shutil
import textwrap

ROOT = pathlib.Path(__file__).resolve().parents[2]
REFERENCE = ROOT / "docs/reference"
COMMAND = re.compile(r"^## (.+?)\n\n```\n(.*?)\n```$", re.MULTILINE | re.DOTALL)
PASS = re.compile(r"^### `(.+?)`\n\n_(.+?)_$", re.MULTILINE)
ROW = re.compile(r"  (\S.*?)(?:   *(\S.*))?$")
# What another program starts under names of its own.
SAME_AS = {"bp-compile-worker": "bp-worker", "bp-application": "bp-worker"}


def escape(text):
    """Text of which roff takes nothing for a request."""
    text = text.replace("\\", "\\e").replace("-", "\\-")
    return "\\&" + text if text.startswith((".", "'")) else text


def filled(text):
    """Text in lines of at most 78 characters, which roff fills again."""
    return [escape(line) for line in textwrap.wrap(text, 72, break_on_hyphens=False)]


def header(name, summary, version):
    return [f'.TH {escape(name.upper())} 1 "" "Backplane {version}" "Backplane"',
            ".SH NAME", f"{escape(name)} \\- {escape(summary)}"]


def summary_of(command, line):
    """The first sentence of a help, without the command's own name."""
    line = line.removeprefix(command + ":").strip()
    return re.split(r"\. |\.$", line)[0]


def prose(text):
    """Paragraphs, and examples, which are indented."""
    made = []
    for block in re.split(r"\n\n+", text.strip("\n")):
        if block.startswith("  "):
            made += [".PP", ".nf"] + [escape(line) for line in block.split("\n")] + [".fi"]
        else:
            made += [".PP"] + filled(block)
    return made[1:]


def tables(lines):
    """`Title:` and rows of a name and what it is, perhaps on the next line."""
    made = []
    for line in lines:
        row = ROW.match(line)
        if line.startswith(" " * 20):
            made += filled(line.strip())
        elif row:
            made += [".TP", f".B {escape(row[1])}"] + filled(row[2] or "")
        elif line:
            made.append(f".SH {escape(line.rstrip(':').upper())}")
    return made


def command_page(command, text, version, others):
    name = command.replace(" ", "-")
    about, usage = re.split(r"^Usage: ", text, maxsplit=1, flags=re.MULTILINE)
    usage, *rows = usage.split("\n")
    page = header(name, summary_of(command, about.split("\n")[0]), version)
    page += [".SH SYNOPSIS", f".B {escape(usage)}"]
    page += [".SH DESCRIPTION"] + prose(about) + tables(rows)
    return page + see_also(name, others)


def opt_page(version, others):
    """bp-opt has the hundreds of options of LLVM; the page lists its passes."""
    page = header("bp-opt", "run passes of the compiler on textual IR", version)
    page += [".SH SYNOPSIS", ".B bp\\-opt [OPTIONS] [FILE]", ".SH DESCRIPTION",
             "Runs the passes that options name, in their order, on FILE or standard",
             "input, and prints the IR.", "Stages of a compilation are written by",
             ".BR \"bp compile \\-\\-dump\\-stages\" .",
             "The other options are those of mlir\\-opt;",
             ".B bp\\-opt \\-\\-help", "lists them all.", ".SH PASSES"]
    for name, summary in PASS.findall((REFERENCE / "passes.md").read_text(encoding="utf-8")):
        page += [".TP", f".B \\-\\-{escape(name)}", escape(summary)]
    return page + see_also("bp-opt", others)


def see_also(name, others):
    """The program's own pages, and the programs."""
    family = sorted(other for other in others if other != name and
                    (other.startswith(name + "-") or name.startswith(other + "-")))
    if not family:
        return []
    return [".SH SEE ALSO"] + [f".BR {escape(other)} (1){',' if other != family[-1] else ''}"
                               for other in family]


def pages(version, programs):
    """Text by name."""
    cli = (REFERENCE / "cli.md").read_text(encoding="utf-8")
    commands = {command: text for command, text in COMMAND.findall(cli)
                if command.split()[0] in programs}
    names = [command.replace(" ", "-") for command in commands]
    if "bp-opt" in programs:
        names.append("bp-opt")
    made = {command.replace(" ", "-"): command_page(command, text, version, names)
            for command, text in commands.items()}
    if "bp-opt" in programs:
        made["bp-opt"] = opt_page(version, names)
    return {name: "\n".join(lines) + "\n" for name, lines in made.items()}


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("version")
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("program", nargs="+")
    options = parser.parse_args()
    shutil.rmtree(options.folder, ignore_errors=True)
    options.folder.mkdir(parents=True)
    for name, text in pages(options.version, options.program).items():
        (options.folder / f"{name}.1").write_text(text, encoding="utf-8")
    for name, other in SAME_AS.items():
        if name in options.program:
            (options.folder / f"{name}.1").symlink_to(f"{other}.1")


if __name__ == "__main__":
    main()
