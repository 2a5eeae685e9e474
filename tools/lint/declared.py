#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Finds members and constants of the C headers that nobody reads.

A plug-in or an application that fills in a member expects something of it. So
each member of the structs that the host receives is read somewhere in hal/, sdk/
or tools/, outside of tests, and each constant is named there. What is read is
told by name: `x.member` or `x->member` that is not assigned to. UNREAD lists
those that have no reader, and why; it may only get shorter. Each status code of
abi.h has a row in docs/reference/status-codes.md.
"""
import json
import re

from common import CODE, ROOT, report, tracked

# Filled in by plug-ins and applications, read by the host.
RECEIVED = (
    "bp_candidate_t bp_chooser_t bp_claim_t bp_command_buffer_table_t bp_compile_options_t "
    "bp_compiled_t bp_compiler_table_t bp_context_options_t bp_device_info_t bp_dim_range_t "
    "bp_driver_table_t bp_entry_t bp_executable_table_t bp_kernel_t bp_kernels_table_t bp_log_sink_t "
    "bp_memory2_table_t bp_memory_table_t bp_numerics_t bp_option_t bp_plugin_info_t "
    "bp_plugin_table_t bp_queue_table_t bp_semaphore_table_t bp_session_options_t bp_target_t "
    "bp_tensor_t bp_timestamp_t bp_timestamps_table_t").split()

UNREAD = {
    "BP_LOG_ERROR": "for plug-ins and applications",
    "BP_ROUNDING_ZERO": "for the conformance suite, which derives limits from it",
}


def sources():
    """The text of the host, without tests and without the headers themselves."""
    return "\n".join(
        path.read_text(encoding="utf-8") for path in tracked(*CODE)
        if path.relative_to(ROOT).parts[0] in ("hal", "sdk", "tools")
        and "test" not in path.parts and path.parent.name != "backplane")


def declared():
    """(name, pattern of a reader) of all members and constants."""
    layouts = sorted((ROOT / "hal/core/test/headers/layout").glob("*.json"),
                     key=lambda path: [int(part) for part in path.stem.split(".")])
    layout = json.loads(layouts[-1].read_text(encoding="utf-8"))
    for struct in RECEIVED:
        for member, *_ in layout["structs"][struct]["members"]:
            if member not in ("header", "next") and not member.startswith("retired_"):
                yield f"{struct}.{member}", rf"(\.|->){member}\b(?!\s*=[^=])"
    for name in layout["constants"]:
        if not name.endswith("_TYPE") and not name.startswith(("BP_STATUS_", "BP_DTYPE_")):
            yield name, rf"\b{name}\b"


def status_codes():
    """Status codes without a row in the page that explains them."""
    page = (ROOT / "docs/reference/status-codes.md").read_text(encoding="utf-8")
    header = (ROOT / "sdk/include/backplane/abi.h").read_text(encoding="utf-8")
    codes = re.findall(r"#define (BP_STATUS_\w+) (\d+)", header)
    return [f"docs/reference/status-codes.md: no row for {name}, {number}"
            for name, number in codes if f"| {number} | `{name}` |" not in page]


def main():
    text = sources()
    words = set(re.findall(r"\w+", text))
    problems = status_codes()
    for name, pattern in declared():
        is_read = name.split(".")[-1] in words and re.search(pattern, text) is not None
        if is_read and name in UNREAD:
            problems.append(f"{name} has a reader: take it out of UNREAD in tools/lint/declared.py")
        if not is_read and name not in UNREAD:
            problems.append(f"{name} is declared and nobody reads it")
    return report(problems, "declared")


if __name__ == "__main__":
    raise SystemExit(main())
