# SPDX-License-Identifier: Apache-2.0
"""Speed by class of op, side by side with the peers that are installed.

A seed draws about 260 small ONNX models, in some 40 classes, from shapes of known
models. ONNX Runtime, OpenVINO, IREE and `bp bench` run each in turns, several rounds
in one run, and what counts is the ratio of the best peer's best time to Backplane's:
above 1, Backplane is faster. Only ratios of one run say something; a machine that
does something else spoils them. Results are compared with ONNX Runtime's loosely
(the conformance suite judges them); where they differ, ONNX's own evaluator says who
is wrong, and times of wrong results do not count. Peers are called from Python, which
costs a call some microseconds: the class `small` measures it too.
"""
import argparse
import importlib.util
import json
import pathlib
import shutil
import sys

import numpy
import onnx

import backplane
import peers
import report
import rows

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
EXAMPLES = """examples:
  tools/bench                                  everything, one thread, three rounds
  tools/bench --classes softmax,norm --seed 7  two classes of other rows
  tools/bench --only 'conv.*7x7' --rounds 6    rows whose name or description matches
  tools/bench --json new.json --compare old.json
  tools/bench --bp build/bin/bp --bp old/bin/bp  another build as one more column
  tools/bench --table one.json two.json        the table by class of stored runs
"""


def arguments():
    parser = argparse.ArgumentParser(prog="tools/bench", description=__doc__, epilog=EXAMPLES,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    add = parser.add_argument
    add("--bp", action="append", metavar="PATH", help="the bp tool (build/bin/bp); a second one, "
        "of an older build, is measured in the same turns")
    add("--device", default="host", help="the device that bp uses (host)")
    add("--peers", metavar="LIST", help="those to run, of " + ", ".join(peers.PEERS) +
        "; '-': none (what is installed, without iree-tiled)")
    add("--classes", metavar="LIST", help="classes, with commas; --list names them")
    add("--only", metavar="REGEX", default="", help="rows whose name or description matches")
    add("--seed", type=int, default=1, help="draws the shapes (1)")
    add("--rounds", type=int, default=3, help="turns of each system (3)")
    add("--seconds", type=float, default=.1, help="of each turn (0.1)")
    add("--threads", type=int, default=1, help="of each system (1)")
    add("--json", metavar="FILE", help="write all times")
    add("--compare", metavar="FILE", help="name what is over 5 %% slower than in this run; exit 1")
    add("--table", metavar="FILE", nargs="+", help="print the table of stored runs, run nothing")
    add("--list", action="store_true", help="print the rows, run nothing")
    add("--folder", metavar="DIR", default=ROOT / "build/bench", type=pathlib.Path,
        help="for models and what systems make of them (build/bench)")
    return parser.parse_args()


def has_modules(name):
    try:
        return all(importlib.util.find_spec(module) for module in peers.MODULES[name])
    except ModuleNotFoundError:
        return False


def systems(options):
    names = [n for n in peers.PEERS if n != "iree-tiled" and has_modules(n)]
    if options.peers:
        names = [n for n in options.peers.split(",") if n != "-"]
        for name in names:
            if name not in peers.PEERS:
                sys.exit(f"bench: no peer is called '{name}'; there are {', '.join(peers.PEERS)}")
            if not has_modules(name):
                sys.exit(f"bench: {name} is not installed; tools/bench --setup installs the peers")
    found = {name: peers.Peer(name, options.threads) for name in names}
    for number, binary in enumerate(options.bp or [ROOT / "build/bin/bp"]):
        if not shutil.which(binary):
            sys.exit(f"bench: {binary} is no program; tools/build bp plugins makes it")
        name = "bp" if number == 0 else f"bp{number + 1}"
        found[name] = backplane.Backplane(name, binary, options.threads, options.device)
    return found


def write(row, folder):
    """The model and its inputs; the names of the outputs."""
    model, inputs = row.make()
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    onnx.save(model, folder / "model.onnx")
    for i, array in enumerate(inputs.values()):
        numpy.save(folder / f"{i}.npy", array)
    (folder / "inputs.txt").write_text("\n".join(inputs), encoding="utf-8")
    return [output.name for output in model.graph.output]


def measure(row, found, options):
    folder = options.folder / f"{options.seed}" / row.name
    outputs = write(row, folder)
    times, errors = {}, {}
    for turn in range(options.rounds):
        names = list(found)
        for name in names[turn % len(names):] + names[:turn % len(names)]:
            if name in errors:
                continue
            answer = found[name].measure(folder, options.seconds,
                                         outputs=turn == 0 and name in ("bp", "onnxruntime"))
            if "error" in answer:
                errors[name] = answer["error"]
                continue
            old = times.get(name, answer)
            times[name] = {**answer, **{k: min(answer[k], old[k]) for k in ("best", "median")}}
    wrong, of_peer = backplane.judge(folder, outputs, row.group == "quantized")
    if of_peer:
        errors["onnxruntime"] = f"WRONG, does not count: {of_peer}"
        times.pop("onnxruntime", None)
    shutil.rmtree(folder)
    return {"class": row.group, "what": row.what, "times": times, "errors": errors,
            "wrong": wrong, "ratio": report.ratio(times)}


def run(options, drawn):
    found = systems(options)
    measured = {}
    try:
        for row in drawn:
            measured[row.name] = measure(row, found, options)
            print(report.row_line(row.name, measured[row.name]), flush=True)
    finally:
        for system in found.values():
            system.close()
    print()
    print("\n".join(report.class_lines(measured)))
    return measured


def finish(options, measured):
    """Writes what was asked for; the exit code."""
    if options.json:
        stored = {"seed": options.seed, "threads": options.threads, "rows": measured,
                  "classes": report.by_class(measured)}
        pathlib.Path(options.json).write_text(json.dumps(stored, indent=1), encoding="utf-8")
    failed = [name for name, row in measured.items() if row["wrong"] or "bp" in row["errors"]]
    for name in failed:
        print(f"{name} failed: {measured[name]['wrong'] or measured[name]['errors']['bp']}")
    lost = []
    if options.compare:
        old = json.loads(pathlib.Path(options.compare).read_text(encoding="utf-8"))
        lost = list(report.slower(measured, old["rows"]))
        print("\n".join(lost) if lost else f"nothing is slower than in {options.compare}")
    return 1 if failed or lost else 0


def main():
    options = arguments()
    if options.table:
        print(report.table([json.loads(pathlib.Path(name).read_text(encoding="utf-8"))
                            for name in options.table]))
        return 0
    groups = options.classes.split(",") if options.classes else None
    for group in groups or []:
        if group not in rows.CLASSES:
            sys.exit(f"bench: no class is called '{group}'; there are {', '.join(rows.CLASSES)}")
    drawn = rows.select(options.seed, groups, options.only)
    if not drawn:
        sys.exit(f"bench: no row matches '{options.only}'; --list prints them")
    if options.list:
        print("\n".join(f"{row.name:20} {row.what}" for row in drawn))
        return 0
    return finish(options, run(options, drawn))


if __name__ == "__main__":
    sys.exit(main())
