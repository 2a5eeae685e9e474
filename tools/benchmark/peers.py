# SPDX-License-Identifier: Apache-2.0
"""Other systems that run a row: each in a process of its own, which reads a request
a line, {folder, seconds}, and answers a line, {times} in seconds or {error}. A folder
has model.onnx and the inputs, in their order, as 0.npy and so on. The first request
for a folder with `outputs` also writes the results there."""
import argparse
import json
import os
import pathlib
import subprocess
import sys
import time

import numpy

# The modules that each needs; "iree-tiled" lays out the data of products anew.
MODULES = {"onnxruntime": ["onnxruntime"], "openvino": ["openvino"],
           "iree": ["iree.compiler", "iree.runtime"],
           "iree-tiled": ["iree.compiler", "iree.runtime"]}
COMPILE_SECONDS = 120


def inputs_of(folder):
    return [numpy.load(folder / f"{i}.npy") for i in range(len(list(folder.glob("[0-9]*.npy"))))]


def onnxruntime(folder, threads):
    import onnxruntime as runtime
    runtime.set_default_logger_severity(4)
    options = runtime.SessionOptions()
    options.intra_op_num_threads, options.inter_op_num_threads = threads, 1
    session = runtime.InferenceSession(str(folder / "model.onnx"), options,
                                       providers=["CPUExecutionProvider"])
    binding = session.io_binding()
    values = [runtime.OrtValue.ortvalue_from_numpy(a) for a in inputs_of(folder)]
    for given, value in zip(session.get_inputs(), values):
        binding.bind_ortvalue_input(given.name, value)
    for output in session.get_outputs():
        binding.bind_output(output.name)

    def call(keep=values):
        session.run_with_iobinding(binding)
    return call, binding.copy_outputs_to_cpu


def openvino(folder, threads):
    import openvino
    core = openvino.Core()
    compiled = core.compile_model(core.read_model(folder / "model.onnx"), "CPU", {
        "PERFORMANCE_HINT": "LATENCY", "INFERENCE_NUM_THREADS": threads,
        "INFERENCE_PRECISION_HINT": "f32", "ENABLE_CPU_PINNING": False,
        "DYNAMIC_QUANTIZATION_GROUP_SIZE": 0})
    request = compiled.create_infer_request()
    arrays = inputs_of(folder)
    tensors = [openvino.Tensor(array, shared_memory=True) for array in arrays]
    for i, tensor in enumerate(tensors):
        request.set_input_tensor(i, tensor)
    return (lambda keep=(tensors, arrays): request.infer()), None


def compile_iree(folder, stem, flags):
    tools = pathlib.Path(sys.prefix) / "bin"
    # A thread of its own: the others on the machine are not to be disturbed.
    quiet = {"check": True, "stderr": subprocess.DEVNULL, "timeout": COMPILE_SECONDS}
    subprocess.run([tools / "iree-import-onnx", folder / "model.onnx", "-o", f"{stem}.mlir"], **quiet)
    subprocess.run([tools / "iree-compile", f"{stem}.mlir", "-o", f"{stem}.vmfb",
                    "--iree-hal-target-device=local",
                    "--iree-hal-local-target-device-backends=llvm-cpu",
                    "--iree-llvmcpu-target-cpu=host", "--iree-opt-level=O3",
                    "--iree-llvmcpu-stack-allocation-limit=1048576", *flags], **quiet)


def iree(folder, threads, flags=()):
    import iree.runtime as runtime
    import iree.runtime.flags
    stem = folder / ("iree-tiled" if flags else "iree")
    if not stem.with_suffix(".vmfb").exists():
        compile_iree(folder, stem, flags)
    if threads > 1:
        iree.runtime.flags.parse_flags(f"--task_topology_group_count={threads}")
    config = runtime.Config("local-sync" if threads == 1 else "local-task")
    context = runtime.SystemContext(config=config)
    module = runtime.VmModule.mmap(context.instance, f"{stem}.vmfb")
    context.add_vm_module(module)
    name = [f for f in module.function_names
            if not f.startswith("__") and not f.endswith("$async")][0]
    function = module.lookup_function(name)
    views = [runtime.asdevicearray(config.device, a)._buffer_view for a in inputs_of(folder)]
    arguments = runtime.VmVariantList(len(views))
    for view in views:
        arguments.push_ref(view)

    def call(keep=(module, views)):
        context.vm_context.invoke(function, arguments, runtime.VmVariantList(1))
    return call, None


PEERS = {"onnxruntime": onnxruntime, "openvino": openvino, "iree": iree,
         "iree-tiled": lambda f, t: iree(f, t, ("--iree-opt-data-tiling",))}


def timed(call, seconds):
    call()
    times, end = [], time.perf_counter() + seconds
    while len(times) < 3 or (time.perf_counter() < end and len(times) < 100000):
        start = time.perf_counter()
        call()
        times.append(time.perf_counter() - start)
    return {"best": min(times), "median": sorted(times)[len(times) // 2]}


def write_outputs(folder, outputs):
    folder.mkdir(exist_ok=True)
    for i, array in enumerate(outputs()):
        numpy.save(folder / f"{i}.npy", array)


def serve(peer, threads):
    out = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what a peer prints is no answer
    loaded, call, outputs = None, None, None
    for line in sys.stdin:
        request = json.loads(line)
        folder = pathlib.Path(request["folder"])
        try:
            if loaded != folder:
                loaded, (call, outputs) = folder, PEERS[peer](folder, threads)
            answer = timed(call, request["seconds"])
            if request.get("outputs") and outputs:
                write_outputs(folder / "expected", outputs)
        except Exception as error:  # a row that a peer cannot run must not stop the others
            loaded = None
            answer = {"error": f"{type(error).__name__}: {str(error)[:200]}"}
        print(json.dumps(answer), file=out, flush=True)


class Peer:
    """The process of a peer."""

    def __init__(self, name, threads):
        # Peers that allocate results anew would else spend their time on page faults.
        environment = dict(os.environ, OMP_NUM_THREADS=str(threads),
                           GLIBC_TUNABLES="glibc.malloc.mmap_max=0:glibc.malloc.hugetlb=1:"
                           "glibc.malloc.trim_threshold=8589934592")
        self.command = [sys.executable, __file__, name, "--threads", str(threads)]
        self.environment, self.process = environment, None

    def measure(self, folder, seconds, outputs=False):
        if self.process is None or self.process.poll() is not None:
            self.process = subprocess.Popen(
                self.command, text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL, env=self.environment)
        request = {"folder": str(folder), "seconds": seconds, "outputs": outputs}
        try:
            print(json.dumps(request), file=self.process.stdin, flush=True)
            line = self.process.stdout.readline()
        except BrokenPipeError:
            line = ""
        return json.loads(line) if line else {"error": "its process died"}

    def close(self):
        if self.process:
            self.process.stdin.close()
            self.process.wait()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("peer", choices=PEERS)
    parser.add_argument("--threads", type=int, default=1)
    options = parser.parse_args()
    serve(options.peer, options.threads)
