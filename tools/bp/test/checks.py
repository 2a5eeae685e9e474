# SPDX-License-Identifier: Apache-2.0
"""What the suites of programs have in common: they count checks."""
import platform

# Targets of the host driver on this architecture, the widest first, and one of
# another architecture.
if platform.machine() == "aarch64":
    OWN_TARGETS, FOREIGN_TARGET = ("aarch64+sve", "aarch64"), "x86-64-v3"
else:
    OWN_TARGETS, FOREIGN_TARGET = ("x86-64-v4", "x86-64-v3"), "aarch64"


class Checks:
    def __init__(self):
        self.passed = self.failed = self.skipped = 0

    def check(self, name, condition, evidence=""):
        if condition:
            self.passed += 1
            return
        self.failed += 1
        print(f"FAILED {name}: {str(evidence)[-1500:]!r}")
