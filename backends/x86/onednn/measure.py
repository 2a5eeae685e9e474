#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What part of the time of generated code the kernels of oneDNN take: the costs of Kernels.cpp.

Models of one layer with bias and ReLU are compiled with the kernel and without kernels; `bp bench`
runs both in turns, on one thread, and the best call of each counts. `--net` does so with ResNet-50,
as the compiler chooses, and names the dispatches that the set takes.
"""
import argparse
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

import onnx

ROOT = pathlib.Path(__file__).resolve().parents[3]
SET = ROOT / "build/backends/x86/onednn/onednn.bp.json"
sys.path.append(str(ROOT / "tools/benchmark"))
from model import Model  # pylint: disable=wrong-import-position

# Channels, outputs, size, window, stride.
CONVOLUTIONS = [
    (3, 64, 224, 7, 2), (64, 64, 56, 1, 1), (64, 64, 56, 3, 1), (64, 256, 56, 1, 1),
    (256, 64, 56, 1, 1), (256, 128, 56, 1, 1), (128, 128, 56, 3, 2), (128, 512, 28, 1, 1),
    (512, 128, 28, 1, 1), (128, 128, 28, 3, 1), (256, 512, 56, 1, 2), (256, 256, 14, 3, 1),
    (256, 256, 28, 3, 2), (1024, 256, 14, 1, 1), (256, 1024, 14, 1, 1), (512, 1024, 28, 1, 2),
    (512, 512, 7, 3, 1), (512, 512, 14, 3, 2), (2048, 512, 7, 1, 1), (512, 2048, 7, 1, 1),
    (1024, 2048, 14, 1, 2), (64, 64, 56, 5, 1), (96, 96, 28, 5, 1), (128, 256, 14, 5, 1)]
# Rows, terms, columns.
PRODUCTS = [(128, 3072, 768), (64, 512, 512), (128, 768, 3072), (256, 1024, 1024), (128, 768, 768),
            (384, 384, 1536), (64, 128, 128), (128, 256, 256), (32, 768, 768), (100, 96, 96),
            (1, 2048, 1000)]


def bp(*arguments, plugins=()):
    environment = dict(os.environ, BACKPLANE_CACHE_DIR="-",
                       BACKPLANE_ADD_PLUGIN_FILES=":".join(map(str, plugins)))
    result = subprocess.run([ROOT / "build/bin/bp", *map(str, arguments)], text=True,
                            capture_output=True, check=False, env=environment)
    if result.returncode:
        raise RuntimeError(result.stdout + result.stderr)
    return result.stdout


def conv(m, x, c, o, window, stride, relu=True, residual=None):
    y = m.op("Conv", x, m.weight(o, c, window, window), m.weight(o), strides=[stride] * 2,
             pads=[window // 2] * 4, kernel_shape=[window] * 2)
    if residual:
        y = m.op("Add", y, residual)
    return m.op("Relu", y) if relu else y


def resnet50(m):
    x = conv(m, m.input(1, 3, 224, 224), 3, 64, 7, 2)
    x = m.op("MaxPool", x, kernel_shape=[3, 3], strides=[2, 2], pads=[1] * 4)
    channels = 64
    for stage, (width, blocks) in enumerate(((64, 3), (128, 4), (256, 6), (512, 3))):
        for block in range(blocks):
            stride = 2 if stage and not block else 1
            short = x if block else conv(m, x, channels, 4 * width, 1, stride, relu=False)
            y = conv(m, x, channels, width, 1, 1)
            y = conv(m, y, width, width, 3, stride)
            x = conv(m, y, width, 4 * width, 1, 1, residual=short)
            channels = 4 * width
    x = m.op("Flatten", m.op("GlobalAveragePool", x))
    return m.op("Add", m.op("MatMul", x, m.weight(2048, 1000)), m.weight(1000))


def compare(folder, kernel, rounds, seconds):
    """Best ms of the set and of generated code, in turns."""
    onnx_file, best = folder / "model.onnx", {}
    both = {"set": kernel, "generated": "-"}
    for name, asked in both.items():
        bp("compile", onnx_file, "-o", folder / f"{name}.bpx", "--for-driver", "host",
           *(("--kernel", asked) if asked else ()), plugins=[SET])
    for _ in range(rounds):
        for name in both:
            report = json.loads(bp("bench", folder / f"{name}.bpx", "--json", "--threads", 1,
                                   "--seconds", seconds, plugins=[SET]))
            best[name] = min(best.get(name, 1e9), report["min_ms"])
    return best


def line(what, best):
    print(f"{what}: set {best['set']:.3f} ms, generated {best['generated']:.3f} ms, "
          f"{100 * best['set'] / best['generated']:.0f} %", flush=True)


def layers(folder, options):
    for c, o, size, window, stride in CONVOLUTIONS:
        what = f"{window}x{window} / {stride}, {c} to {o}, {size}²"
        if not re.search(options.only, what):
            continue
        m = Model(1)
        onnx.save(m.finish(conv(m, m.input(1, c, size, size), c, o, window, stride)),
                  folder / "model.onnx")
        pad = window // 2
        line(what, compare(
            folder, f"onednn.conv_s{stride}_d1_p{pad}_{pad}_relu", options.rounds, options.seconds))
    for rows, terms, columns in PRODUCTS:
        what = f"product {rows}, {terms}, {columns}"
        if not re.search(options.only, what):
            continue
        m = Model(1)
        y = m.op("Add", m.op("MatMul", m.input(rows, terms), m.weight(terms, columns)),
                 m.weight(columns))
        onnx.save(m.finish(m.op("Relu", y)), folder / "model.onnx")
        line(what, compare(folder, "onednn.linear_relu", options.rounds, options.seconds))


def net(folder, options):
    m = Model(1)
    onnx.save(m.finish(resnet50(m)), folder / "model.onnx")
    for said in bp("explain", folder / "model.onnx", plugins=[SET]).splitlines():
        if " computes " in said and "onednn." in said:
            print(said.strip())
    line("ResNet-50", compare(folder, "", options.rounds, options.seconds))


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--net", action="store_true", help="ResNet-50")
    parser.add_argument("--only", metavar="REGEX", default="", help="layers whose name matches")
    parser.add_argument("--rounds", type=int, default=4, help="turns of each (4)")
    parser.add_argument("--seconds", type=float, default=.3, help="of a turn (0.3)")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        (net if options.net else layers)(pathlib.Path(name), options)


if __name__ == "__main__":
    main()
