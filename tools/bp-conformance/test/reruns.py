# SPDX-License-Identifier: Apache-2.0
"""Results that are computed again, and whose plug-in and models must be the same."""
import json
import re
import shutil
import subprocess
import time

from submission import (CHOICE, ENVIRONMENT, FEW, ROOT, command, edit_json, expect_in,
                        own_plugin, read_json, records, run, swap, test)

MODELS = ROOT.parent / "shared" / "data" / "models"


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
    seeds = []
    for name, more in (("a", []), ("b", []), ("c", ["--challenge", "7f3a"])):
        run(*FEW, *more, "--out", folder / name)
        summary = read_json(folder / name / "summary.json")
        seeds.append(summary["seed"])
        official = [line for line in summary["table"]
                    if line["requirement"].startswith("official data")]
        assert official[0]["met"], official
    assert seeds[0] == seeds[1] != seeds[2] and 0 not in seeds, seeds
    run("verify", folder / "c", "--unsealed", "--challenge", "7f3a")
    expect_in("took the challenge", run("verify", folder / "c", "--unsealed",
                                        "--challenge", "8", code=1))
    expect_in("- official data", run(*FEW, "--seed", "5", "--out", folder / "d"))


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
