# SPDX-License-Identifier: Apache-2.0
# All .mlir tests below sdk/ are one lit suite; see the file loaded here.
import os

config.test_source_root = os.path.dirname(__file__)
lit_config.load_config(
    config,
    os.path.join(
        config.test_source_root, "..", "tools", "bp-opt", "lit", "lit.cfg.py"
    ),
)
