# SPDX-License-Identifier: Apache-2.0
"""What a machine with an NVIDIA GPU has to tell about Backplane, in at most ten minutes.

  tools/gpu-day                                    all of it, on this machine's GPU
  tools/gpu-day --device 'cuda://emu?sm=90' --quick    a trial without a GPU

The GPU is on another machine, which has no network and no compiler:

  tools/gpu-day pack day                           here: makes the folder
  python3 day/there.py                             there: needs this folder and Python alone
  tools/gpu-day judge day                          here: with day/results from there

Cases of the conformance suite run from a bundle and are judged here by the oracle; outputs of small
models are kept as goldens, which the emulator must match; kernels are timed beside cuBLAS, torch.compile
and Triton where PyTorch is installed. Everything lies in the folder, summed up in summary.json and
summary.txt. What was absent, refused or out of time is said there.
"""
import argparse
import pathlib
import subprocess
import sys

import judge
import pack

def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("step", nargs="?", choices=("all", "pack", "judge"), default="all")
    parser.add_argument("folder", nargs="?", type=pathlib.Path, default=pathlib.Path("gpu-day"))
    parser.add_argument("--device", default="cuda://0", help="of the machine with the GPU")
    parser.add_argument("--target", default="nvptx-sm90a",
                        help="for which cases are compiled (default: nvptx-sm90a); "
                        "models are compiled for all")
    parser.add_argument("--quick", action="store_true", help="few cases and small sizes")
    options = parser.parse_args()
    if options.step != "judge":
        pack.make(options.folder, options.device, options.target, options.quick)
    if options.step == "all":
        subprocess.run([sys.executable, options.folder / "there.py"], check=True)
    return 0 if options.step == "pack" else judge.judge(options.folder)


if __name__ == "__main__":
    sys.exit(main())
