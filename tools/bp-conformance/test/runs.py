# SPDX-License-Identifier: Apache-2.0
"""Runs that are killed, that go on, that are of parts, and what they write."""
import resource
import shutil
import signal
import subprocess
import time
import xml.etree.ElementTree as ElementTree

from submission import (CHOICE, ENVIRONMENT, command, expect_in, read_json, records, replace,
                        run, suite, test)


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
    replace(folder / "b" / "records.jsonl", '"Pass"', '"Crash"')
    expect_in("1 new failures", run("diff", folder / "a", folder / "b", code=1))
    expect_in("1 fixed", run("diff", folder / "b", folder / "a"))


@test
def says_how_far_it_tested(folder):
    output = suite(folder / "a")
    expect_in("tested in ", output)
    summary = read_json(folder / "a" / "summary.json")
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
    replace(folder / "b" / "run.json", '"budget": 0,', f'"budget": {2**53},')
    expect_in("more than the depth takes",
              run("verify", folder / "b", "--unsealed", code=1))


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
def writes_files_for_programs(folder):
    suite(folder / "a")
    summary = read_json(folder / "a" / "summary.json")
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
