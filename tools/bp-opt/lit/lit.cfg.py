# SPDX-License-Identifier: Apache-2.0
"""The lit suite of all .mlir tests.

    /usr/lib/llvm-22/bin/lit -sv sdk/*/test
    /usr/lib/llvm-22/bin/lit -sv --param build=build-dev sdk/optimize/test

Needs bp-opt in the build folder, and FileCheck and not of LLVM 22.
"""

import os

import lit.formats

root = os.path.dirname(config.test_source_root)
build = os.path.join(root, lit_config.params.get("build", "build"))
tools = lit_config.params.get("llvm_tools", "/usr/lib/llvm-22/bin")

config.name = "backplane"
config.test_format = lit.formats.ShTest(execute_external=False)
config.suffixes = [".mlir"]
config.test_exec_root = os.path.join(build, "lit")
config.environment["PATH"] = os.pathsep.join(
    [os.path.join(build, "bin"), tools, os.environ.get("PATH", "")]
)
