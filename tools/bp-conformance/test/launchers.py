# SPDX-License-Identifier: Apache-2.0
"""Workers behind launchers, and what they and a terminal are told."""
from submission import (ENVIRONMENT, FEW, edit_record, expect_in, passing, read_json, records,
                        run, test)


def spy(folder, line):
    """A launcher that does this first; "$@" are the worker and its arguments."""
    script = folder / "spy"
    script.write_text(f"#!/bin/sh\n{line}\n", "utf-8")
    script.chmod(0o755)
    return script


@test
def hides_the_environment(folder):
    """Workers see no variable that is not usual or named."""
    script = spy(folder, f'env >> {folder}/seen; exec "$@"')
    few = [*FEW, "--launcher", script]
    environment = dict(ENVIRONMENT, ACME_EXACT="1", ACME_LOG="2")
    run(*few, "--env", "ACME_LOG", "--out", folder / "a", env=environment)
    seen = (folder / "seen").read_text("utf-8")
    assert "ACME_LOG=2" in seen and "ACME_EXACT" not in seen, seen
    facts = read_json(folder / "a" / "run.json")
    assert facts["variables"]["ACME_LOG"] == "2", facts["variables"]
    expect_in("names a variable",
              run(*few, "--env", "ACME_LOG=3", "--out", folder / "b", code=2))


@test
def starts_workers_through_a_launcher(folder):
    few = [*FEW, "--out", folder / "a", "--launcher"]
    run(*few, "env 'SOME=a b'")
    expect_in("/absent/launcher", run(*few, "/absent/launcher x", code=2))
    expect_in("exit code 1", run(*few, "false", code=2))
    expect_in("open quote", run(*few, "a 'b", code=2))


@test
def tells_workers_no_names(folder):
    """Neither ids nor data sets reach a worker, for units of all layers."""
    script = spy(folder, f'tee {folder}/sent.$$ | "$@"')
    choice = ["L3/softmax/f32/*", "L3/conv/f16/*", "L3/gather/i8/*", "L4/*chain5*"]
    for glob in choice:
        run("--device", "ref", "--launcher", script, "--filter", glob, "--out", folder / "a")
        sent = b"".join(path.read_bytes() for path in folder.glob("sent.*"))
        assert b"BPWK" in sent
        for record in records(folder / "a"):
            for name in (record["id"], record["unit"], record["data"],
                         "L" + str(record["layer"]) + "/"):
                assert name.encode() not in sent, name


@test
def steers_no_terminal(folder):
    """Whatever a device has given as its reason."""
    run(*FEW, "--out", folder / "a")
    edit_record(folder / "a", passing, status="Fail", reason="\x1b[2Jall good")
    output = run("merge", folder / "a", "--out", folder / "b", code=1)
    expect_in("?[2Jall good", output)
    assert "\x1b" not in output
