#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compiles the kernels of kernels.py with Triton, without a GPU: a PTX text for each and each
architecture, and kernels.json, which says what a launch needs. Run with a Python that has triton
and numpy. With --all also those that are not stored."""
import argparse
import json
import os
import pathlib
import re

os.environ.update(TRITON_DISABLE_LINE_INFO="1", TRITON_ALWAYS_COMPILE="1",
                  TRITON_DEFAULT_FP_FUSION="1")
import triton  # noqa: E402  (reads the variable)
from triton.backends.compiler import GPUTarget  # noqa: E402
from triton.compiler import ASTSource  # noqa: E402

import kernels  # noqa: E402


def compiled(variant, capability):
    names = variant.kernel.arg_names
    arguments = [name for name in names if name not in variant.constants]
    signature = dict(zip(arguments, variant.types))
    signature.update({name: "constexpr" for name in variant.constants})
    aligned = {(names.index(name),): [["tt.divisibility", 16]]
               for name, kind in zip(arguments, variant.types) if kind[0] == "*" or name in variant.sixteens}
    source = ASTSource(variant.kernel, {name: signature[name] for name in names},
                       {(names.index(name),): value for name, value in variant.constants.items()},
                       aligned)
    return triton.compile(source, target=GPUTarget("cuda", capability, 32),
                          options={"num_warps": variant.warps, "num_stages": variant.stages})


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--all", action="store_true")
    options = parser.parse_args()
    folder = options.folder
    folder.mkdir(parents=True, exist_ok=True)
    described = {}
    for name, variant in kernels.VARIANTS.items():
        for capability in variant.capabilities:
            if not options.all and capability not in variant.stored:
                continue
            made = compiled(variant, capability)
            text = re.sub(r"\n\t*//[^\n]*", "", made.asm["ptx"])
            (folder / f"{name}-{capability}.ptx").write_text(text, encoding="utf-8")
            data = made.metadata
            described[f"{name}-{capability}"] = {
                "entry": data.name, "threads": 32 * data.num_warps, "shared": data.shared,
                "scratch": data.global_scratch_size}
            if getattr(data, "tensordesc_meta", None):
                described[f"{name}-{capability}"]["tensors"] = data.tensordesc_meta
    (folder / "kernels.json").write_text(
        json.dumps({"triton": triton.__version__, "kernels": described}, indent=1) + "\n",
        encoding="utf-8")


if __name__ == "__main__":
    main()
