# SPDX-License-Identifier: Apache-2.0
"""What the tests of `bp conformance` share: its calls, its records, a plug-in of their own."""
import json
import os
import pathlib
import shutil
import subprocess

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent.parent
BP = ROOT / "build" / "bin" / "bp"
CHOICE = ["--filter", "L3/reduce/f32/*", "--filter", "L3/matmul/*"]
FEW = ["--device", "ref", "--filter", "L3/softmax/f32/*"]
ENVIRONMENT = dict(os.environ, BACKPLANE_CACHE_DIR="-")
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
                            stderr=subprocess.STDOUT, check=False, timeout=300, **keywords)
    assert result.returncode == code, (
        f"{' '.join(map(str, arguments))}\ngave {result.returncode}, not "
        f"{code}:\n{result.stdout[-2000:]}")
    return result.stdout


def suite(out, *more, code=0, **keywords):
    return run("--device", "ref", *CHOICE, "--out", out, *more, code=code, **keywords)


def read_json(path):
    return json.loads(path.read_text("utf-8"))


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


def edit_json(path, **members):
    """Changes members as a run would have written them."""
    json_text = read_json(path)
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


def replace(path, old, new):
    """Replaces what stands first."""
    text = path.read_text("utf-8")
    assert old in text, (path, old)
    path.write_text(text.replace(old, new, 1), "utf-8")


def passing(record):
    return record["status"] == "Pass" and record["output_hash"] != ""


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
