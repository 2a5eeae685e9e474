#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes a plug-in with `bp new-plugin` as a stranger would, from an installed
package in an empty folder, builds it with warnings as errors, runs models on it
and its own tests; then breaks single lines of it and reads what `bp` says."""
import argparse
import os
import pathlib
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tools/bp/test"))
import models  # noqa: E402
import numpy  # noqa: E402
from onnx import helper, numpy_helper  # noqa: E402
from new_plugin_breaks import BREAKS, CPP_BREAKS  # noqa: E402


class Stranger:
    """Somebody with a shell, an installed package and an empty folder."""

    def __init__(self, build, folder):
        self.passed = self.failed = 0
        self.folder = folder
        self.prefix = folder / "prefix"
        self.run("cmake", "--install", build, "--prefix", self.prefix)
        self.bp = self.prefix / "bin/bp"
        self.home = folder / "home"
        self.home.mkdir()

    def run(self, *words, plugin=None):
        environment = {**os.environ, "BACKPLANE_CACHE_DIR": str(self.folder / "cache")}
        if plugin:
            environment["BACKPLANE_ADD_PLUGIN_FILES"] = str(plugin)
        where = getattr(self, "home", self.folder)
        result = subprocess.run([str(word) for word in words], text=True, cwd=where,
                                stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                env=environment, check=False)
        return result.returncode, result.stdout

    def expect(self, name, answer, *texts, status=0):
        """One test: the exit status, and texts that are in the output."""
        code, output = answer
        if code == status and all(text in output for text in texts):
            self.passed += 1
            return True
        self.failed += 1
        print(f"FAILED {name}: exit {code}, wanted {texts}: {output[-1500:]!r}")
        return False


def linear():
    """y[n, 2048] = x[n, 64] w + b: the registered kernel, and weights that are large
    enough not to be constants of the graph."""
    rng = numpy.random.default_rng(3)
    weights = [numpy_helper.from_array(rng.standard_normal(shape).astype("f4"), name)
               for name, shape in (("w", (64, 2048)), ("b", 2048))]
    nodes = [helper.make_node("MatMul", ["x", "w"], ["m"]),
             helper.make_node("Add", ["m", "b"], ["y"])]
    return models.model(nodes, [models.tensor_value("x", ["n", 64])],
                        [models.tensor_value("y", ["n", 2048])], weights)


def test_refusals(user):
    """Each says what to do, and leaves nothing behind."""
    def refuse(name, text, *words):
        user.expect(name, user.run(user.bp, "new-plugin", *words), text, status=1)
    before = sorted(user.home.iterdir())
    refuse("folder is there", "is there already; name another folder with --out", "acme")
    for name in ("Acme", "7up", "a_b", "a/b", "a" * 33):
        refuse(f"name {name}", "is no name of a plug-in: take a letter", name)
    refuse("reserved name", "take another one", "auto")
    for name in ("host", "arm"):
        refuse(f"{name} in use", f"there is a plug-in '{name}' already", name)
    refuse("no such language", "there is --lang c --kind cpu, --lang c --kind npu, "
           "--lang cpp --kind cpu, --lang cpp --kind gpu, --lang mlir --kind cpu",
           "other", "--lang", "rust")
    refuse("no such kind", "no template for --kind fpga; there is", "other", "--kind", "fpga")
    refuse("not in this language", "no template for --lang c --kind gpu", "other", "--lang", "c",
           "--kind", "gpu")
    refuse("no folder", "cannot make a folder beside", "other", "--out", "none/other")
    user.expect("nothing is left", (int(sorted(user.home.iterdir()) != before), ""))


def magika():
    return next((ROOT / ".venv/lib").glob(
        "python3*/site-packages/magika/models/standard_v3_3/model.onnx"))


def build(user, name):
    folder = user.home / name
    user.expect(f"{name} configures", user.run(
        "cmake", "-S", folder, "-B", folder / "build", f"-DCMAKE_PREFIX_PATH={user.prefix}"))
    user.expect(f"{name} builds", user.run("cmake", "--build", folder / "build"))
    return folder / f"build/{name}.bp.json"


def test_models(user, plugin, model):
    """The device and its kernel compute; the host helps with Magika."""
    run = [user.bp, "run", "--random-inputs", "1"]
    user.expect("device", user.run(user.bp, "devices", "--why", plugin=plugin), "acme://cpu0")
    user.expect("kernel is found", user.run(user.bp, "explain", model, "--device", "acme",
                                            plugin=plugin), "kernel acme.linear computes")
    user.expect("kernel runs", user.run(*run, model, "--device", "acme", "--no-fallback",
                                        plugin=plugin), "y: f32 [1, 2048]")
    user.expect("kernel is right", user.run(user.bp, "compare", model, "--a", "ref", "--b", "acme",
                                            plugin=plugin), "ref and acme agree")
    trained = magika()
    outputs = user.folder / "outputs"
    user.expect("Magika on ref", user.run(*run, trained, "--device", "ref", "--output-dir", outputs))
    user.expect("Magika on acme", user.run(
        *run, trained, "--device", "acme", "--expect",
        f"target_label={outputs}/target_label.npy", plugin=plugin),
        "a part of the model runs on host", "match target_label")
    user.expect("Magika is explained", user.run(user.bp, "explain", trained, "--device", "acme",
                                                plugin=plugin),
                "as acme: 'acme' does not list the op conv", "from device 0 to device 1")


def commands(user, model):
    numbers = ["conformance", "--device", "acme", "--filter", "L3/add/f32/*", "--filter",
               "L3/matmul/f32/*", "--out", user.folder / "numbers"]
    return {"devices": ["devices", "--why"], "kernels": ["kernels"], "numbers": numbers,
            "run": ["run", model, "--device", "acme", "--no-fallback",
                    "--random-inputs", "1"]}


def test_breaks(user, plugin, model, breaks):
    """A line is broken, the project built, and the answer read."""
    folder = plugin.parent.parent
    for one in breaks:
        file = folder / one.file
        text = file.read_text(encoding="utf-8")
        name = f"{one.file}: {one.broken.strip() or 'without ' + one.line.strip()}"
        file.write_text(text.replace(one.line, one.broken, 1), encoding="utf-8")
        code, output = user.run("cmake", "--build", folder / "build")
        if user.expect(name, (int(code != 0 or one.line not in text), output)):
            command = commands(user, model)[one.command]
            _, output = user.run("env", f"BACKPLANE_CACHE_DIR={user.folder}/broken",
                                 user.bp, *command, plugin=plugin)
            user.expect(name, (0, output), *one.says)
            user.run("rm", "-rf", user.folder / "broken", user.folder / "numbers")
        file.write_text(text, encoding="utf-8")


def test_cpp(user, model):
    """The same project in C++, in place of the one in C."""
    user.run("mv", "acme", "acme-c")
    user.expect("acme is made in C++", user.run(user.bp, "new-plugin", "acme", "--lang", "cpp"),
                "wrote acme;")
    plugin = build(user, "acme")
    test_models(user, plugin, model)
    user.expect("its own tests in C++", user.run("ctest", "--test-dir", user.home / "acme/build",
                                                 "--output-on-failure"), "100% tests passed")
    test_breaks(user, plugin, model, CPP_BREAKS)
    lines = {folder: sum(len(path.read_text(encoding="utf-8").splitlines())
                         for pattern in ("*.h", "*.c", "*.cpp")
                         for path in (user.home / folder).glob(pattern))
             for folder in ("acme", "acme-c")}
    user.expect("C++ is shorter", (int(lines["acme"] * 4 > lines["acme-c"] * 3), str(lines)))


def test_gpu(user, model):
    """A GPU on a bus: its queue, its recordings and its times."""
    user.expect("my-gpu is made", user.run(user.bp, "new-plugin", "my-gpu", "--kind", "gpu"),
                "wrote my-gpu;")
    plugin = build(user, "my-gpu")
    run = [user.bp, "run", "--random-inputs", "1", "--device", "my-gpu"]
    user.expect("my-gpu is right", user.run(user.bp, "compare", model, "--a", "ref", "--b", "my-gpu",
                                            plugin=plugin), "ref and my-gpu agree")
    trace = user.folder / "my-gpu.json"
    user.expect("my-gpu is traced", user.run(*run, model, "--no-fallback", "--trace", trace,
                                             plugin=plugin), "y: f32 [1, 2048]")
    user.expect("its times", (0, trace.read_text(encoding="utf-8")), "dispatch")
    user.expect("Magika on my-gpu", user.run(
        *run, magika(), "--expect", f"target_label={user.folder}/outputs/target_label.npy",
        plugin=plugin), "match target_label")
    user.expect("nobody times my-gpu", user.run(
        user.bp, "bench", model, "--device", "my-gpu", plugin=plugin), "emulat", status=1)
    user.expect("its own tests of my-gpu", user.run(
        "ctest", "--test-dir", user.home / "my-gpu/build", "--output-on-failure"),
        "100% tests passed")


def test_npu(user):
    """A project that takes partitions."""
    user.expect("my-npu is made", user.run(user.bp, "new-plugin", "my-npu", "--kind", "npu"),
                "wrote my-npu;")
    plugin = build(user, "my-npu")
    run = [user.bp, "run", magika(), "--random-inputs", "1", "--device", "my-npu+host"]
    user.expect("Magika on my-npu", user.run(
        *run, "--expect", f"target_label={user.folder}/outputs/target_label.npy", plugin=plugin),
        "match target_label")
    user.expect("Magika in partitions", user.run(
        user.bp, "explain", magika(), "--device", "my-npu+host", plugin=plugin),
        "target my-npu: partition of", "my-npu.weight_bytes=")
    user.expect("its own tests of my-npu", user.run(
        "ctest", "--test-dir", user.home / "my-npu/build", "--output-on-failure"),
        "100% tests passed")


def test_mlir(user, model):
    """A project with a C++ pass, where the compiler and the headers for it are."""
    if not (pathlib.Path("/usr/bin/clang++-22").exists()
            and pathlib.Path("/usr/lib/llvm-22/include/mlir").is_dir()):
        print("skipped: no clang-22 or no headers of MLIR")
        return
    user.expect("my-mlir is made", user.run(user.bp, "new-plugin", "my-mlir", "--lang", "mlir"),
                "wrote my-mlir;")
    plugin = build(user, "my-mlir")
    artifact = user.folder / "my-mlir.bpx"
    user.expect("my-mlir compiles", user.run(user.bp, "compile", model, "-o", artifact, "--target",
                                             "my-mlir", plugin=plugin))
    user.expect("its pass ran", user.run(user.bp, "explain", artifact, plugin=plugin),
                "stage lower: runs pass my-mlir-reciprocals of my-mlir 1.0.0")
    user.expect("its own tests of my-mlir", user.run(
        "ctest", "--test-dir", user.home / "my-mlir/build", "--output-on-failure"),
        "100% tests passed")


def test_page(user):
    """The tutorial quotes lines that are in the project."""
    page = (ROOT / "docs/tutorial/first-plugin.md").read_text(encoding="utf-8")
    for quote in re.findall(r"```(?:c|cmake|json)\n(.*?)```", page, re.DOTALL):
        found = any(quote in path.read_text(encoding="utf-8")
                    for path in sorted((user.home / "acme").iterdir()) if path.is_file())
        user.expect(f"quoted: {quote[:60]!r}", (int(not found), ""))


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--build", default=str(ROOT / "build"))
    parser.add_argument("--all", action="store_true", help="accepted, no effect")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        user = Stranger(options.build, pathlib.Path(temporary))
        model = user.folder / "model.onnx"
        model.write_bytes(linear().SerializeToString())
        user.expect("acme is made", user.run(user.bp, "new-plugin", "acme"), "wrote acme;")
        user.expect("npu-7 is made", user.run(user.bp, "new-plugin", "npu-7"), "wrote npu-7;")
        test_refusals(user)
        plugin = build(user, "acme")
        test_models(user, plugin, model)
        build(user, "npu-7")
        user.expect("its own tests", user.run("ctest", "--test-dir", user.home / "npu-7/build",
                                              "--output-on-failure"), "100% tests passed")
        test_page(user)
        test_breaks(user, plugin, model, BREAKS)
        test_gpu(user, model)
        test_npu(user)
        test_mlir(user, model)
        test_cpp(user, model)
    print(f"{user.passed} passed, {user.failed} failed")
    return 1 if user.failed else 0


if __name__ == "__main__":
    sys.exit(main())
