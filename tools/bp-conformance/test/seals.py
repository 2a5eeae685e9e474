# SPDX-License-Identifier: Apache-2.0
"""Seals, keys, and what is refused under a good seal."""
import io
import pathlib
import shutil
import subprocess
import tarfile

from submission import (ENVIRONMENT, FEW, edit_json, edit_record, expect_in, passing, read_json,
                        replace, run, suite, test)


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
    replace(folder / "a" / "records.jsonl", '"limit_used":0.0', '"limit_used":0.1')
    expect_in("was changed", run("verify", folder / "a", "--any-key", code=1))


@test
def says_whose_key_it_was(folder):
    """A key that nobody knows is refused, also over an untouched result."""
    run("keygen", folder / "acme")
    run("keygen", folder / "thief")
    run(*FEW, "--out", folder / "a", "--sign", folder / "acme")
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


@test
def says_what_it_refuses_in_one_line(folder):
    for name in ("x\ny", "\x1b[2J"):
        output = run("verify", folder / name, "--any-key", code=1)
        assert output.count("\n") == 1 and output.rstrip().isprintable(), output


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
    return lambda folder: replace(folder / name, old, new)


def add_file(name):
    def forge(folder):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text("x", "utf-8")
    return forge


def drop_wide_floats(folder):
    """Claims that the device does not compute with f64."""
    facts = read_json(folder / "run.json")
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
    run(*FEW, "--out", folder / "a")
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
