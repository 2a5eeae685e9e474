# SPDX-License-Identifier: Apache-2.0
"""What the suites of programs have in common: they count checks."""
import platform

# For the host driver: this architecture's backend, two of its targets, the wider
# first, and what /proc/cpuinfo says where that one runs; a target of another.
if platform.machine() == "aarch64":
    OWN_BACKEND, OWN_TARGETS, FOREIGN_TARGET = "arm", ("aarch64+sve", "aarch64"), "x86-64-v3"
    WIDE_FEATURE = "sve"
else:
    OWN_BACKEND, OWN_TARGETS, FOREIGN_TARGET = "x86", ("x86-64-v4", "x86-64-v3"), "aarch64"
    WIDE_FEATURE = "avx512bw"
OWN_TARGET = OWN_TARGETS[-1]


class Checks:
    def __init__(self):
        self.passed = self.failed = self.skipped = 0

    def check(self, name, condition, evidence=""):
        """Whether the condition holds."""
        if condition:
            self.passed += 1
        else:
            self.failed += 1
            print(f"FAILED {name}: {str(evidence)[-1500:]!r}")
        return bool(condition)
