# SPDX-License-Identifier: Apache-2.0
# All .mlir tests below sdk/ are one lit suite; see the file loaded here.
import glob
import os
import re

config.test_source_root = os.path.dirname(__file__)
lit_config.load_config(
    config,
    os.path.join(
        config.test_source_root, "..", "tools", "bp-opt", "lit", "lit.cfg.py"
    ),
)

# Tests with ptxas are unsupported where the configured build has not found it.
build = os.path.join(
    config.test_source_root, "..", lit_config.params.get("build", "build")
)
with open(os.path.join(build, "CMakeCache.txt"), encoding="utf-8") as cache:
    ptxas = re.search(r"^BP_PTXAS:FILEPATH=(/.*)$", cache.read(), re.MULTILINE)
if ptxas:
    config.available_features.add("ptxas")
    config.environment["PATH"] += os.pathsep + os.path.dirname(ptxas.group(1))

# Debian's spirv-val is older than cooperative matrices; tools/setup has one.
root = os.path.join(config.test_source_root, "..")
validators = glob.glob(
    os.path.join(root, ".venv/lib/python3*/site-packages/cmeel.prefix/bin/spirv-val")
)
if validators:
    config.available_features.add("spirv-val-matrices")
    config.substitutions.append(("%{spirv-val-matrices}", validators[0]))
