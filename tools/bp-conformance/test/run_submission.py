#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What `bp conformance` does around the cases: runs that are killed, full
disks, shards, submissions, comparisons, launchers.

Uses the device `ref` and a few hundred cases. Prints the failures, then
`N passed, N failed`.
"""
import argparse
import io
import json
import os
import pathlib
import re
import resource
import shutil
import signal
import subprocess
import sys
import tarfile
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
    keywords.setdefault("env", ENVIRONMENT)
    result = subprocess.run(command(*arguments), text=True, stdout=subprocess.PIPE,
                            stderr=subprocess.STDOUT, check=False, timeout=300,
                            **keywords)
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
        for key in ("compile_ms", "run_ms", "cpu_ms", "uptime_s", "runs"):
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
def says_what_it_refuses_in_one_line(folder):
    for name in ("x\ny", "\x1b[2J"):
        output = run("verify", folder / name, "--any-key", code=1)
        assert output.count("\n") == 1 and output.rstrip().isprintable(), output


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
    expect_in("seal holds", run("verify", archive, "--any-key"))
    subprocess.run(["zstd", "-dq", archive, "-o", folder / "a.tar"], check=True)
    listed = subprocess.run(["tar", "tf", folder / "a.tar"], check=True,
                            text=True, stdout=subprocess.PIPE).stdout.split()
    assert "records.jsonl" in listed and "manifest.sig" in listed, listed
    log = folder / "a" / "records.jsonl"
    log.write_bytes(log.read_bytes().replace(b'"limit_used":0.0',
                                             b'"limit_used":0.1', 1))
    expect_in("was changed", run("verify", folder / "a", "--any-key", code=1))


@test
def says_whose_key_it_was(folder):
    """A key that nobody knows is refused, also over an untouched result."""
    run("keygen", folder / "acme")
    run("keygen", folder / "thief")
    few = ["--filter", "L3/softmax/f32/*"]
    run("--device", "ref", *few, "--out", folder / "a", "--sign", folder / "acme")
    known = folder / "config" / "backplane" / "known_keys"
    environment = dict(ENVIRONMENT, XDG_CONFIG_HOME=str(folder / "config"))
    expect_in("does not list", run("verify", folder / "a", code=1,
                                   env=environment))
    known.parent.mkdir(parents=True)
    known.write_text("acme " + (folder / "acme.pub").read_text("utf-8"), "utf-8")
    expect_in(" of acme\n", run("verify", folder / "a", env=environment))
    run("seal", folder / "a", "--key", folder / "thief")
    expect_in("does not list", run("verify", folder / "a", code=1,
                                   env=environment))
    expect_in("does not list", run("verify", folder / "a", "--known-keys", known,
                                   code=1))
    expect_in("an unknown owner", run("verify", folder / "a", "--any-key",
                                      env=environment))


def edit_json(path, **members):
    """Changes members as a run would have written them."""
    json_text = json.loads(path.read_text("utf-8"))
    json_text.update(members)
    path.write_text(json.dumps(json_text, indent=1, ensure_ascii=False) + "\n",
                    "utf-8")


def edit_record(folder, wanted, **members):
    """Changes the first record that `wanted` takes."""
    log = folder / "records.jsonl"
    lines = log.read_text("utf-8").splitlines()
    for i, line in enumerate(lines):
        record = json.loads(line)
        if wanted(record):
            record.update(members)
            lines[i] = json.dumps(record, separators=(",", ":"),
                                  ensure_ascii=False)
            break
    else:
        raise AssertionError("no such record")
    log.write_text("\n".join(lines) + "\n", "utf-8")


def passing(record):
    return record["status"] == "Pass" and record["output_hash"] != ""


def edit_lines(change):
    """A forgery of records.jsonl by its lines."""
    def forge(folder):
        log = folder / "records.jsonl"
        lines = log.read_text("utf-8").splitlines(keepends=True)
        log.write_text("".join(change(lines)), "utf-8")
    return forge


def edit_run(**members):
    return lambda folder: edit_json(folder / "run.json", **members)


def edit_pass(**members):
    return lambda folder: edit_record(folder, passing, **members)


def replace_in(name, old, new):
    def forge(folder):
        text = (folder / name).read_text("utf-8")
        assert old in text, (name, old)
        (folder / name).write_text(text.replace(old, new, 1), "utf-8")
    return forge


def add_file(name):
    def forge(folder):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text("x", "utf-8")
    return forge


def drop_wide_floats(folder):
    """Claims that the device does not compute with f64."""
    facts = json.loads((folder / "run.json").read_text("utf-8"))
    edit_json(folder / "run.json", compute_dtypes=facts["compute_dtypes"] & ~2,
              storage_dtypes=facts["storage_dtypes"] & ~2)


# Forgeries of a result, each sealed again with a good key, and why each is
# refused.
FORGERIES = (
    (edit_lines(lambda lines: lines[1:]), "no record of"),
    (edit_lines(lambda lines: lines + lines[:1]), "two records of"),
    (edit_lines(lambda lines: ["{}\n"] + lines), "not a record"),
    (edit_lines(lambda lines: [" " + lines[0]] + lines[1:]),
     "not written as a run writes it"),
    (edit_lines(lambda lines: [lines[0].replace(
        '"status":', '"status":"Fail","status":')] + lines[1:]), "stands twice"),
    (edit_lines(lambda lines: [lines[0][:-40] + "\n"] + lines[1:]), "not a record"),
    (edit_lines(lambda lines: ["[" * 70000 + "\n"] + lines), "too long"),
    (edit_lines(lambda lines: [lines[0].replace(
        '"run_ms":', '"run_ms":1e999,"x":')] + lines[1:]), "not a record"),
    (edit_pass(limit_used=1.5), "more than its limit"),
    (edit_pass(limit_used="nan"), "more than its limit"),
    (edit_pass(status="QualityWarning", limit_used=0.1), "less than half"),
    (edit_pass(status="Waived"), "a raw record has the status Waived"),
    (edit_pass(status="NotSupported"), "was left out"),
    (edit_pass(output_hash=""), "passes without results"),
    (edit_pass(tensor_elements=1 << 40), "claims another size"),
    (edit_pass(seed=5), "does not describe the case"),
    (edit_pass(runs=0), "passes without results"),
    (edit_pass(run_ms="inf"), "a time or magnitude"),
    (edit_run(seed=5), "does not describe the case"),
    (edit_run(challenge="later"), "does not say what the records give"),
    (edit_run(filters=[]), "no record of"),
    (edit_run(depth="standard"), "other cases than this suite"),
    (edit_run(cases=7), "other cases than this suite"),
    (edit_run(suite="0.1.0"), "verify with the suite that made it"),
    (edit_run(format=1), "'format' is 1"),
    (edit_run(device="acme://0"), "does not say what the records give"),
    (edit_run(device_flags=0, device_kind=3), "does not say what the records give"),
    (edit_run(plugin_files={"libacme.so": "0" * 64}),
     "does not say what the records give"),
    (edit_run(date="2999-01-01T00:00:00Z"), "is to come"),
    (edit_run(profile="mine"), "'profile' is not one that this suite has"),
    (edit_run(extra=1), "'extra' is not known"),
    (drop_wide_floats, "the declaration excludes it"),
    (replace_in("report.html", "</h1>", " approved</h1>"),
     "report.html' does not say"),
    (replace_in("summary.json", '"badge": "no badge"', '"badge": "Full"'),
     "summary.json' does not say"),
    (replace_in("junit.xml", "<testcase", "<testcase x='1'"),
     "junit.xml' does not say"),
    (replace_in("mustpass.txt", "\n", "\n# shorter\n"),
     "mustpass.txt' does not say"),
    (add_file("letter.pdf"), "is no file of a run"),
    (add_file("waivers.json"), "is no file of a run"),
    (add_file("failures/L3_matmul_f32_nn/graph.bpg"), "no case of this name fails"),
    (add_file("failures/x"), "no case of this name fails"),
    (lambda folder: (folder / "report.html").unlink(), "cannot read"),
)


@test
def refuses_forged_results(folder):
    """Also with a good seal over them; each by one line."""
    run("keygen", folder / "key")
    run("--device", "ref", "--filter", "L3/softmax/*", "--out", folder / "a")
    for forge, why in FORGERIES:
        shutil.copytree(folder / "a", folder / "b")
        forge(folder / "b")
        run("seal", folder / "b", "--key", folder / "key")
        output = run("verify", folder / "b", "--any-key", code=1)
        expect_in(why, output)
        assert output.startswith("refused: ") and output.count("\n") == 1, output
        shutil.rmtree(folder / "b")


@test
def refuses_hostile_archives(folder):
    """Of any bytes: one line, never a crash, nothing outside the folder."""
    run("keygen", folder / "key")
    run("--device", "ref", "--filter", "L3/softmax/f32/*", "--out", folder / "a")
    run("seal", folder / "a", "--key", folder / "key", "--archive",
        folder / "good.tar")
    good = (folder / "good.tar").read_bytes()
    hostile = [b"", b"x", good[:700], good[:-1024], good + good,
               b"\x28\xb5\x2f\xfd" + good[:200], b"\xff" * 4096,
               good.replace(b"ustar", b"ustaR", 1)]
    for name, kind in (("../../evil", tarfile.REGTYPE), ("/tmp/evil", tarfile.REGTYPE),
                       ("run.json", tarfile.SYMTYPE), ("run.json", tarfile.LNKTYPE),
                       ("pipe", tarfile.FIFOTYPE), ("a//b", tarfile.REGTYPE)):
        bytes_of = io.BytesIO()
        with tarfile.open(fileobj=bytes_of, mode="w", format=tarfile.USTAR_FORMAT) as tar:
            member = tarfile.TarInfo(name)
            member.type, member.linkname = kind, "/etc/passwd"
            tar.addfile(member)
        hostile.append(bytes_of.getvalue())
    for i, data in enumerate(hostile):
        path = folder / f"{i}.tar"
        path.write_bytes(data)
        output = run("verify", path, "--any-key", code=1)
        assert output.startswith("refused: ") and output.count("\n") == 1, (i, output)
    assert not (folder / "evil").exists() and not pathlib.Path("/tmp/evil").exists()


def own_plugin(folder):
    """The reference backend as a plug-in of its own, and where it is found."""
    source = ROOT / "build/lib/backplane/plugins"
    folder.mkdir()
    shutil.copy(source / "libbp-ref.so", folder)
    text = (source / "ref.bp.json").read_text("utf-8")
    (folder / "ref.bp.json").write_text(text, "utf-8")
    return dict(ENVIRONMENT, BACKPLANE_PLUGIN_FILES=str(folder / "ref.bp.json"))


def swap(library):
    """Another file of the same name, which still loads."""
    other = library.with_suffix(".new")
    other.write_bytes(library.read_bytes() + b"swapped")
    other.replace(library)


@test
def holds_the_plug_in_to_its_files(folder):
    """A library that is swapped while a run goes on, or before it goes on."""
    environment = own_plugin(folder / "plugin")
    library = folder / "plugin" / "libbp-ref.so"
    for again in (False, True):
        with subprocess.Popen(command("--device", "ref", *CHOICE, "--jobs", "1",
                                      "--out", folder / "a"), env=environment,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              text=True) as process:
            log = folder / "a" / "records.jsonl"
            while not (log.exists() and log.stat().st_size):
                assert process.poll() is None, process.stdout.read()
                time.sleep(0.002)
            if again:
                process.kill()
            swap(library)
            output = process.communicate()[0]
        if not again:
            assert process.returncode == 2, output
            expect_in("is not the one that the run began with", output)
    output = run("--device", "ref", *CHOICE, "--out", folder / "a", "--resume",
                 code=2, env=environment)
    expect_in("is of another run (plugin_files", output)


@test
def draws_data_by_the_plug_in(folder):
    """The seed is that of the files and the challenge, in all that is said."""
    few = ["--device", "ref", "--filter", "L3/softmax/f32/*"]
    seeds = []
    for name, more in (("a", []), ("b", []), ("c", ["--challenge", "7f3a"])):
        run(*few, *more, "--out", folder / name)
        summary = json.loads((folder / name / "summary.json").read_text("utf-8"))
        seeds.append(summary["seed"])
        official = [line for line in summary["table"]
                    if line["requirement"].startswith("official data")]
        assert official[0]["met"], official
    assert seeds[0] == seeds[1] != seeds[2] and 0 not in seeds, seeds
    run("verify", folder / "c", "--unsealed", "--challenge", "7f3a")
    expect_in("took the challenge", run("verify", folder / "c", "--unsealed",
                                        "--challenge", "8", code=1))
    expect_in("- official data", run(*few, "--seed", "5", "--out", folder / "d"))


@test
def says_how_far_it_tested(folder):
    output = suite(folder / "a")
    expect_in("tested in ", output)
    summary = json.loads((folder / "a" / "summary.json").read_text("utf-8"))
    assert summary["format"] == 3 and summary["profile"] == "whole"
    assert summary["marks"] == ["host", "up to 268435456 multiply-adds a case"], \
        summary["marks"]
    most = summary["tested"]["ops"]["matmul"]
    for key in ("cases", "tensor_elements", "rank", "macs", "magnitude", "runs"):
        assert most[key] > 0, (key, most)
    html = (folder / "a" / "report.html").read_text("utf-8")
    for text in ("How far it was tested", "recognises the suite",
                 "the processor of the host"):
        expect_in(text, html)


@test
def asks_for_sizes_of_models(folder):
    """A small budget gives no Full, a large one claims no more than the depth."""
    few = ["--device", "ref", "--depth", "standard", "--filter",
           "L3/matmul/f32/models/drawn-0*"]
    small = run(*few, "--budget", "1000000", "--out", folder / "a")
    expect_in("note: the budget is 1000000 multiply-adds a case, Full asks for "
              "268435456", small)
    expect_in("- takes cases of 268435456 multiply-adds, buffers of 67108864 "
              "bytes (only 1000000 multiply-adds)", small)
    expect_in("- takes cases", run("verify", folder / "a", "--unsealed"))
    large = run(*few[:-1], "L3/relu/f32/n/*", "--budget", 2**53, "--out",
                folder / "b")
    expect_in("+ takes cases", large)
    path = folder / "b" / "run.json"
    facts = path.read_text("utf-8")
    expect_in('"budget": 0,', facts)
    path.write_text(facts.replace('"budget": 0,', f'"budget": {2**53},'), "utf-8")
    expect_in("more than the depth takes",
              run("verify", folder / "b", "--unsealed", code=1))


@test
def runs_a_part_again(folder):
    """With other data, and with the same bit for bit."""
    few = ["--device", "ref", "--filter", "L3/softmax/*", "--filter",
           "L3/matmul/f32/*"]
    run(*few, "--out", folder / "a")
    again = ["--unsealed", "--rerun", "30%", "--device", "ref"]
    output = run("verify", folder / "a", *again)
    expect_in(" 0 mismatches\n", output)
    expect_in("outputs have the same bits", output)
    # Numbers that never were.
    shutil.copytree(folder / "a", folder / "b")
    log = folder / "b" / "records.jsonl"
    log.write_text(re.sub('"output_hash":"[0-9a-f]{32}"',
                          f'"output_hash":"{"0" * 32}"', log.read_text("utf-8")),
                   "utf-8")
    run("merge", folder / "b", "--out", folder / "c")
    run("verify", folder / "c", "--unsealed")
    expect_in("gives other bits here", run("verify", folder / "c", *again, code=1))
    # Another plug-in than the submission's.
    environment = own_plugin(folder / "plugin")
    swap(folder / "plugin" / "libbp-ref.so")
    output = run("verify", folder / "a", *again, code=1, env=environment)
    expect_in("differs: plug-in file libbp-ref.so", output)
    expect_in("is another plug-in", output)
    expect_in("percentage", run("verify", folder / "a", "--unsealed", "--rerun",
                                "5", code=2))


@test
def finds_passes_that_never_were(folder):
    """Records of a right device under the name of one that drops the last k."""
    mutants = ROOT / "build/lib/backplane/mutants/mutant.bp.json"
    environment = dict(ENVIRONMENT, BACKPLANE_ADD_PLUGIN_FILES=str(mutants),
                       BACKPLANE_MUTANT="m3")
    few = ["--filter", "L3/matmul/f32/*", "--seed", "7", "--out"]
    run("--device", "mutant", *few, folder / "bad", code=1, env=environment)
    run("--device", "ref", *few, folder / "good")
    shutil.copy(folder / "good" / "records.jsonl", folder / "bad")
    run("merge", folder / "bad", "--out", folder / "forged")
    run("verify", folder / "forged", "--unsealed")
    # All of them: a part drawn at random may have none that m3 gets wrong.
    output = run("verify", folder / "forged", "--unsealed", "--rerun", "100%",
                 "--device", "mutant", code=1, env=environment)
    expect_in("submitted as Pass, is Fail here", output)


@test
def steers_no_terminal(folder):
    """Whatever a device has given as its reason."""
    run("--device", "ref", "--filter", "L3/softmax/f32/*", "--out", folder / "a")
    edit_record(folder / "a", passing, status="Fail", reason="\x1b[2Jall good")
    log = folder / "a" / "records.jsonl"
    log.write_text(log.read_text("utf-8").replace("\x1b", "\\u001b"), "utf-8")
    output = run("merge", folder / "a", "--out", folder / "b", code=1)
    expect_in("?[2Jall good", output)
    assert "\x1b" not in output


@test
def hides_the_environment(folder):
    """Workers see no variable that is not usual or named."""
    script = folder / "spy"
    script.write_text(f"#!/bin/sh\nenv >> {folder}/seen\nexec \"$@\"\n", "utf-8")
    script.chmod(0o755)
    few = ["--device", "ref", "--filter", "L3/softmax/f32/*", "--launcher", script]
    environment = dict(ENVIRONMENT, ACME_EXACT="1", ACME_LOG="2")
    run(*few, "--env", "ACME_LOG", "--out", folder / "a", env=environment)
    seen = (folder / "seen").read_text("utf-8")
    assert "ACME_LOG=2" in seen and "ACME_EXACT" not in seen, seen
    facts = json.loads((folder / "a" / "run.json").read_text("utf-8"))
    assert facts["variables"]["ACME_LOG"] == "2", facts["variables"]
    expect_in("names a variable",
              run(*few, "--env", "ACME_LOG=3", "--out", folder / "b", code=2))


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
        forged = json.loads(text.replace(old, new))
        edit_json(out / "run.json", models=dict(sorted(forged["models"].items())))
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
