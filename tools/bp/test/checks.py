# SPDX-License-Identifier: Apache-2.0
"""What the suites of programs have in common: they count checks."""


class Checks:
    def __init__(self):
        self.passed = self.failed = self.skipped = 0

    def check(self, name, condition, evidence=""):
        if condition:
            self.passed += 1
            return
        self.failed += 1
        print(f"FAILED {name}: {str(evidence)[-1500:]!r}")
