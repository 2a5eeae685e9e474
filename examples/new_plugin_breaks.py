# SPDX-License-Identifier: Apache-2.0
"""Single lines of the project that `bp new-plugin` writes, each broken in one way,
with the command that a stranger runs next and what it has to say."""
import dataclasses
import pathlib
import re

MANIFEST = "acme.bp.json"
ABI = pathlib.Path(__file__).resolve().parents[1] / "sdk/include/backplane/abi.h"
MINOR = re.search(r"BP_ABI_MINOR (\d+)", ABI.read_text(encoding="utf-8"))[1]
TOO_NEW = f"needs ABI version 0.99, this host has 0.{MINOR}; update Backplane"


@dataclasses.dataclass
class Break:
    file: str
    line: str  # of the template
    broken: str
    says: tuple  # texts that are all in the answer
    command: str = "devices"  # a key of commands() in run_new_plugin.py


# Of the project in C++.
CPP_BREAKS = [
    Break("acme.h", 'pluginName = "acme";', 'pluginName = "other";',
          ('calls itself "other", its manifest "acme"', "build/acme.bp.json")),
    Break("acme.h", ".requiredMinor = 2,", ".requiredMinor = 99,",
          (TOO_NEW, "build/acme.bp.json")),
    Break("plugin.cpp", 'extern "C" BP_PLUGIN_EXPORT int32_t', 'extern "C" int32_t',
          ("the library does not export bp_plugin_query_v0", "build/acme.bp.json")),
    Break("driver.cpp", "info.id = toC(deviceId);", "",
          ("the device's id is empty", "build/acme.bp.json")),
    Break("driver.cpp", "return std::make_unique<Device>(host_);",
          "return std::unique_ptr<Device>();",
          ("open: the plug-in says OK but makes nothing",), "run"),
    Break("driver.cpp", "return visitCommands<Device>(",
          'throw std::string("lost");\n  return visitCommands<Device>(',
          ("the plug-in threw what is no std::exception",), "run"),
    Break("compiler.cpp", "target.format = toC(formatName);", 'target.format = toC("other");',
          ("acme has format 'other', the device takes 'acme-1'",), "run"),
    Break("kernels.cpp", "  %product = matmul(%x, %w)", "  %product = matmull(%x, %w)",
          ('acme: not used: line 7, column 14: no op has the name "matmull"',), "kernels"),
    Break("instructions.cpp", "return a + b;", "return a - b;",
          ("Fail L3/add/f32/", "elements are wrong"), "numbers"),
]

BREAKS = [
    Break(MANIFEST, '"format": 1,', '"format": 9,',
          ('acme.bp.json: "format" is 9, this host reads 1',)),
    Break(MANIFEST, '"format": 1,', '"format": 1',
          ("acme.bp.json: not valid JSON",)),
    Break(MANIFEST, '"name": "acme",', '"name": "Acme!",',
          ('acme.bp.json: "name" is not of the form',)),
    Break(MANIFEST, '"name": "acme",', '"name": "other",',
          ('calls itself "acme", its manifest "other"', "build/acme.bp.json")),
    Break(MANIFEST, '"name": "acme",', "",
          ('acme.bp.json: "name" is missing',)),
    Break(MANIFEST, '"major": 0,', '"major": 7,',
          ("needs ABI major version 7, this host has 0", "build/acme.bp.json")),
    Break(MANIFEST, '"minor_low": 2', '"minor_low": 99',
          (TOO_NEW, "build/acme.bp.json")),
    Break(MANIFEST, '"driver": "libacme.so"', '"driver": "libnone.so"',
          ('acme.bp.json: "driver": libnone.so: No such file or directory',)),
    Break("plugin.c", "info.name = text(PLUGIN_NAME);", 'info.name = text("other");',
          ('calls itself "other", its manifest "acme"', "build/acme.bp.json")),
    Break("plugin.c", "info.required_minor = PLUGIN_REQUIRED_MINOR;", "info.required_minor = 99;",
          (TOO_NEW, "build/acme.bp.json")),
    Break("plugin.c", "info.queue = &queue_table;", "",
          ("the queue table is missing", "build/acme.bp.json")),
    Break("plugin.c", "info.plugin = &plugin_table;", "(void)plugin_table;",
          ("the plugin table is missing", "build/acme.bp.json")),
    Break("plugin.c", "info.compiler = &compiler_table;", "",
          ("no compiler plug-in has a target for driver 'acme'",), "run"),
    Break("plugin.c", "BP_PLUGIN_EXPORT int32_t", "int32_t",
          ("the library does not export bp_plugin_query_v0", "build/acme.bp.json")),
    Break("plugin.c", "  *out_self = device;",
          '  *out_self = device;\n  return fail(host, error, BP_STATUS_UNAVAILABLE, "no runtime");',
          ("initialize: no runtime", "build/acme.bp.json")),
    Break("driver.c", ".buffer_free = buffer_free,", ".buffer_free = (0 ? buffer_free : 0),",
          ("the memory table lacks the required function buffer_free", "build/acme.bp.json")),
    Break("driver.c", "info.id = text(DEVICE_ID);", "",
          ("the device's id is empty", "build/acme.bp.json")),
    Break("driver.c", "#define ALIGNMENT 64u", "#define ALIGNMENT 48u",
          ("device cpu0 has a binding alignment of 48, not a power of two", "build/acme.bp.json")),
    Break("driver.c", "info.format_count = 1;", "info.format_count = 0;",
          ("acme has format 'acme-1', the device takes none",), "run"),
    Break("driver.c", "info.max_parameters = MAX_PARAMETERS;", "",
          ("entry linear: 2 parameters, the device has at most 0",), "run"),
    Break("driver.c", "blob.inverse != ~blob.instruction", "blob.inverse == ~blob.instruction",
          ("acme cannot load a blob of 16 bytes: it is damaged or of another version; compile the model again",), "run"),
    Break("driver.c", "completion->done(completion->context, status, text(message));",
          'completion->done(completion->context, BP_STATUS_INTERNAL, text("it broke"));',
          ("it broke",), "run"),
    Break("compiler.c", "target.driver = text(PLUGIN_NAME);", 'target.driver = text("other");',
          ("no compiler plug-in has a target for driver 'acme'; there are targets for 'other'",), "run"),
    Break("compiler.c", "target.format = text(FORMAT);", 'target.format = text("other");',
          ("acme has format 'other', the device takes 'acme-1'",), "run"),
    Break("compiler.c", "entry.parameter_count = instruction->parameters;", "",
          ("acme cannot load a blob", "its entry does not fit the instruction; compile the model again"), "numbers"),
    Break("compiler.c", 'strcpy(plan->grid[i], "1");', 'strcpy(plan->grid[i], "1 +");',
          ("target acme cannot run add of f32: it needs a grid of 1 +",), "numbers"),
    Break("kernels.c", '"  %product = matmul(%x, %w)\\n"', '"  %product = matmull(%x, %w)\\n"',
          ('acme: not used: line 7, column 14: no op has the name "matmull"',), "kernels"),
    Break("kernels.c", "kernel.text = text(linear_text);", "kernel.text = text(linear_text + 9);",
          ('acme: not used: line 1, column 1: expected kernel, found "near"',), "kernels"),
    Break("kernels.c", "kernel.body = &body;", "(void)body;",
          ("acme: not used: describe: the compiled dispatch is missing",), "kernels"),
    Break("kernels.c", "launch.parameters = parameters;", "(void)parameters;",
          ("acme: not used: describe: the launch of entry 'linear' lacks its 2 parameters",), "kernels"),
    Break("instructions.c", "ELEMENTWISE(add, 2, a + b)", "ELEMENTWISE(add, 2, a - b)",
          ("Fail L3/add/f32/", "elements are wrong"), "numbers"),
    Break("instructions.c", "b[i * right[0] + j * right[1]]", "b[i * right[0]]",
          ("Fail L3/matmul/f32/nn/", "elements are wrong"), "numbers"),
]
