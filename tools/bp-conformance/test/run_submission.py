#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What `bp conformance` does around the cases: runs that are killed, full
disks, shards, submissions, comparisons, launchers.

Uses the device `ref` and a few hundred cases. Prints the failures, then
`N passed, N failed`.
"""
import argparse
import json
import os
import pathlib
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import xml.etree.ElementTree as ElementTree

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent.parent
BP = ROOT / "build" / "bin" / "bp"
CHOICE = ["--filter", "L3/reduce/f32/*", "--filter", "L3/matmul/*"]
ENVIRONMENT = dict(os.environ, BACKPLANE_CACHE_DIR="-")
MODELS = ROOT.parent / "shared" / "data" / "models"
TESTS = []


def test(function):
    TESTS.append(function)
    return function


def command(*arguments):
    return [str(BP), "conformance", *map(str, arguments)]


def run(*arguments, code=0, **keywords):
    """Output of a command that ends with this code."""
    result = subprocess.run(command(*arguments), text=True, env=ENVIRONMENT,
                            stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                            check=False, timeout=300, **keywords)
    assert result.returncode == code, (
        f"{' '.join(map(str, arguments))}\ngave {result.returncode}, not "
        f"{code}:\n{result.stdout[-2000:]}")
    return result.stdout


def suite(out, *more, code=0, **keywords):
    return run("--device", "ref", *CHOICE, "--out", out, *more, code=code,
               **keywords)


def records(folder):
    """The records without what no two runs share: times."""
    lines = (folder / "records.jsonl").read_text("utf-8").splitlines()
    result = [json.loads(line) for line in lines]
    for record in result:
        for key in ("compile_ms", "run_ms", "cpu_ms"):
            del record[key]
    return result


def expect_in(text, output):
    assert text in output, f"'{text}' is not in:\n{output[-2000:]}"


@test
def resumes_after_a_kill(folder):
    """kill -9 at several moments, then --resume, gives the same records."""
    suite(folder / "whole")
    whole = records(folder / "whole")
    assert len(whole) > 100, len(whole)
    for share in (0.02, 0.3, 0.8):
        out = folder / f"killed{share}"
        with subprocess.Popen(command("--device", "ref", *CHOICE, "--out", out),
                              env=ENVIRONMENT, stdout=subprocess.DEVNULL,
                              stderr=subprocess.DEVNULL) as process:
            log = out / "records.jsonl"
            while process.poll() is None:
                if log.exists() and \
                        log.read_bytes().count(b"\n") > share * len(whole):
                    process.send_signal(signal.SIGKILL)
                    break
                time.sleep(0.002)
        assert process.wait() == -signal.SIGKILL, "it ended before the kill"
        assert not (out / "report.html").exists()
        suite(out, "--resume")
        assert records(out) == whole, f"killed at {share}"


@test
def refuses_to_mix_runs(folder):
    suite(folder / "a")
    expect_in("is of another run (seed", suite(folder / "a", "--resume",
                                              "--seed", "5", code=2))


@test
def says_that_the_disk_is_full(folder):
    """A file that cannot grow stands for a full disk."""
    out = folder / "full"
    limit = 40_000
    output = suite(out, code=2, restore_signals=False, preexec_fn=lambda:
                   resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit)))
    expect_in("records.jsonl: File too large", output)
    text = (out / "records.jsonl").read_text("utf-8")
    assert text.endswith("\n") and len(text) <= limit
    assert not (out / "report.html").exists()
    assert not list(out.glob("*.tmp*")), list(out.iterdir())
    suite(out, "--resume")
    suite(folder / "whole")
    assert records(out) == records(folder / "whole")


@test
def allows_one_run_per_folder(folder):
    with subprocess.Popen(command("--device", "ref", *CHOICE, "--out",
                                  folder / "a"), env=ENVIRONMENT,
                          stdout=subprocess.DEVNULL) as first:
        while not (folder / "a" / "records.jsonl").exists():
            time.sleep(0.002)
        expect_in("another run writes it",
                  suite(folder / "a", "--resume", code=2))
        assert first.wait() == 0


@test
def verifies_what_was_sealed(folder):
    run("keygen", folder / "key")
    run("keygen", folder / "other")
    suite(folder / "a", "--sign", folder / "key")
    expect_in("seal holds", run("verify", folder / "a", "--key",
                                folder / "key.pub"))
    expect_in("refused", run("verify", folder / "a", "--key",
                             folder / "other.pub", code=1))
    archive = folder / "a.tar.zst"
    run("seal", folder / "a", "--key", folder / "key", "--archive", archive)
    expect_in("seal holds", run("verify", archive))
    subprocess.run(["zstd", "-dq", archive, "-o", folder / "a.tar"], check=True)
    listed = subprocess.run(["tar", "tf", folder / "a.tar"], check=True,
                            text=True, stdout=subprocess.PIPE).stdout.split()
    assert "records.jsonl" in listed and "manifest.sig" in listed, listed
    log = folder / "a" / "records.jsonl"
    log.write_bytes(log.read_bytes().replace(b'"limit_used":0.0',
                                             b'"limit_used":0.1', 1))
    expect_in("was changed", run("verify", folder / "a", code=1))


@test
def refuses_forged_records(folder):
    """Also with a good seal over them."""
    run("keygen", folder / "key")
    suite(folder / "a")
    log = folder / "a" / "records.jsonl"
    lines = log.read_text("utf-8").splitlines(keepends=True)
    for forged, why in ((lines[1:], "no record of"),
                        (lines + lines[:1], "two records of"),
                        (["{}\n"] + lines, "not a record")):
        log.write_text("".join(forged), "utf-8")
        run("seal", folder / "a", "--key", folder / "key")
        expect_in(why, run("verify", folder / "a", code=1))


@test
def adds_shards_up(folder):
    suite(folder / "whole")
    for shard in (1, 2, 3):
        suite(folder / "parts" / str(shard), "--shard", f"{shard}/3")
    run("merge", *sorted((folder / "parts").iterdir()), "--out",
        folder / "merged")
    assert records(folder / "merged") == records(folder / "whole")
    run("verify", folder / "parts", "--unsealed")
    shutil.rmtree(folder / "parts" / "2")
    expect_in("2 of 3 shards", run("verify", folder / "parts", "--unsealed",
                                   code=1))


@test
def tells_what_is_worse(folder):
    suite(folder / "a")
    shutil.copytree(folder / "a", folder / "b")
    expect_in("no difference", run("diff", folder / "a", folder / "b"))
    log = folder / "b" / "records.jsonl"
    log.write_text(log.read_text("utf-8").replace('"Pass"', '"Crash"', 1),
                   "utf-8")
    expect_in("1 new failures", run("diff", folder / "a", folder / "b", code=1))
    expect_in("1 fixed", run("diff", folder / "b", folder / "a"))


@test
def finds_real_models_by_hash(folder):
    """Magika, from its package."""
    packages = next(ROOT.glob(".venv/lib/python3*/site-packages/magika")).parent
    case = "L5/real-models/f32/magika/uniform"
    choice = ["--list", "--filter", case]
    expect_in("matches no case", run(*choice, code=2))
    assert run(*choice, "--models", packages) == case + "\n"
    other = folder / "models" / "magika"
    other.mkdir(parents=True)
    (other / "model.onnx").write_bytes(b"another model")
    expect_in("the suite knows", run("--list", "--models", other.parent, code=2))


def verifies_real_models(folder):
    """Without their files; other hashes are refused."""
    out = folder / "a"
    run("--device", "ref", "--models", MODELS, "--depth", "standard", "--out",
        out, "--filter", "L5/real-models/*/bert/*",
        "--filter", "L5/real-models/*/silero-vad/*")
    assert len(records(out)) == 2, records(out)
    text = (out / "run.json").read_text("utf-8")
    sha256 = json.loads(text)["models"]["exported/bert_dynamic.onnx"]
    expect_in("real models, which run.json names (2 cases)",
              run("verify", out, "--unsealed"))
    for old, new in ((sha256, sha256[::-1]),
                     ('"exported/bert_dynamic.onnx"', '"mine.onnx"')):
        (out / "run.json").write_text(text.replace(old, new), "utf-8")
        expect_in("knows no model file",
                  run("verify", out, "--unsealed", code=1))


if MODELS.is_dir():
    test(verifies_real_models)


@test
def repeats_one_case(folder):
    case = run("--list", "--filter", "L3/softmax/f32/*").splitlines()[0]
    output = run("--device", "ref", "--repro", case, "--out", folder / "x")
    for text in ("worst: output 0, element", "bound", "status Pass",
                 f"--repro '{case}'", "softmax("):
        expect_in(text, output)
    names = {path.name for path in (folder / "x").iterdir()}
    assert names == {"input0.npy", "output0.npy", "expected0.npy"}, names
    expect_in("is no case", run("--device", "ref", "--repro", "L3/absent",
                                code=2))


@test
def starts_workers_through_a_launcher(folder):
    few = ["--filter", "L3/softmax/f32/*", "--out", folder / "a"]
    run("--device", "ref", *few, "--launcher", "env 'SOME=a b'")
    expect_in("/absent/launcher", run("--device", "ref", *few, "--launcher",
                                      "/absent/launcher x", code=2))
    expect_in("exit code 1", run("--device", "ref", *few, "--launcher",
                                 "false", code=2))
    expect_in("open quote", run("--device", "ref", *few, "--launcher", "a 'b",
                                code=2))


@test
def tells_workers_no_names(folder):
    """Neither ids nor data sets reach a worker, for units of all layers."""
    script = folder / "spy"
    script.write_text(f"#!/bin/sh\ntee {folder}/sent.$$ | \"$@\"\n", "utf-8")
    script.chmod(0o755)
    choice = ["L3/softmax/f32/*", "L3/conv/f16/*", "L3/gather/i8/*", "L4/*chain5*"]
    for glob in choice:
        run("--device", "ref", "--launcher", script, "--filter", glob, "--out",
            folder / "a")
        sent = b"".join(path.read_bytes() for path in folder.glob("sent.*"))
        assert b"BPWK" in sent
        for record in records(folder / "a"):
            for name in (record["id"], record["unit"], record["data"],
                         "L" + str(record["layer"]) + "/"):
                assert name.encode() not in sent, name


@test
def writes_files_for_programs(folder):
    suite(folder / "a")
    summary = json.loads((folder / "a" / "summary.json").read_text("utf-8"))
    count = len(records(folder / "a"))
    assert sum(summary["layers"]["3"].values()) == count
    assert summary["passed"] and summary["partial"]
    assert summary["badge"] == "no badge"
    cases = list(ElementTree.parse(folder / "a" / "junit.xml").iter("testcase"))
    assert len(cases) == count
    html = (folder / "a" / "report.html").read_text("utf-8")
    assert "<script" not in html and "http" not in html


@test
def refuses_bad_waivers(folder):
    path = folder / "waivers.json"
    for text in ("", "{}", '{"format": 1, "waivers": [{}]}'):
        path.write_text(text, "utf-8")
        expect_in("waivers", suite(folder / "a", "--waivers", path, code=2))
    path.write_text('{"format": 1, "waivers": []}', "utf-8")
    suite(folder / "a", "--waivers", path)
    assert (folder / "a" / "waivers.json").exists()


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--all", action="store_true", help="the same tests")
    parser.add_argument("--only", help="a part of a test's name")
    options = parser.parse_args()
    passed = failed = 0
    for function in TESTS:
        if options.only and options.only not in function.__name__:
            continue
        with tempfile.TemporaryDirectory() as folder:
            try:
                function(pathlib.Path(folder))
                passed += 1
            except (AssertionError, OSError, subprocess.SubprocessError) as error:
                failed += 1
                print(f"FAILED {function.__name__}: {error}", flush=True)
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
