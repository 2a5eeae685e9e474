# SPDX-License-Identifier: Apache-2.0
"""Which sources each target is there for, and which lines need not be reached."""
import pathlib

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
FLOOR = 90

# All of the importer but the entry of its library, which calls it.
IMPORTER = sorted(f"sdk/import/{file.name}"
                  for file in (ROOT / "sdk/import").glob("*.cpp")
                  if file.name != "Library.cpp")

SOURCES = {
    "artifact": ["sdk/package/Artifact.cpp", "sdk/package/Check.cpp",
                 "sdk/package/CheckControl.cpp", "sdk/package/CheckDevices.cpp",
                 "sdk/package/CheckMemory.cpp", "sdk/package/CheckProgram.cpp",
                 "sdk/package/DecodeMetadata.cpp"],
    "bundle": ["hal/worker/Bundle.cpp", "hal/worker/Channel.cpp"],
    "cache": ["sdk/support/Cache.cpp", "hal/core/DriverCache.cpp"],
    "cubin": ["backends/nvptx/driver/Cubin.cpp"],
    "dim": ["sdk/graph/DimParse.cpp"],
    "elf": ["hal/host/Elf.cpp"],
    "frames": ["hal/worker/Frame.cpp", "hal/worker/CheckMessages.cpp",
               "hal/worker/DecodeMessages.cpp",
               "hal/worker/EncodeMessages.cpp"],
    "kernel": ["sdk/package/KernelPack.cpp"],
    "kernel_text": ["sdk/kernels/KernelParse.cpp", "sdk/kernels/KernelScan.cpp",
                    "sdk/kernels/KernelText.cpp"],
    "manifest": ["hal/core/Manifest.cpp", "hal/core/MemberReader.cpp"],
    "names": ["hal/core/DeviceUri.cpp", "hal/runtime/DevicePolicy.cpp",
              "hal/worker/Workers.cpp", "sdk/partition/TargetNames.cpp"],
    "npy": ["sdk/support/Npy.cpp", "sdk/support/NpyHeader.cpp"],
    "npz": ["conformance/models/Npz.cpp"],
    "onnx": IMPORTER,
    "ptx": ["backends/nvptx/driver/Ptx.cpp"],
    "records": ["conformance/report/Record.cpp", "conformance/report/Facts.cpp",
                "conformance/report/StrictJson.cpp",
                "conformance/runner/Mustpass.cpp"],
    "run": ["conformance/publish/Verify.cpp", "conformance/publish/Seal.cpp",
            "conformance/publish/RunFiles.cpp",
            "conformance/runner/RecordLog.cpp"],
    "spirv": ["backends/vulkan/driver/SpirV.cpp",
              "backends/vulkan/driver/MatrixModule.cpp"],
    "submission": ["conformance/publish/Archive.cpp"],
    "tensors": ["backends/nvptx/driver/TensorMaps.cpp"],
    "waivers": ["conformance/report/Waivers.cpp"],
    "wire": ["sdk/graph/WireReader.cpp", "sdk/graph/Verify.cpp",
             "sdk/graph/Control.cpp", "sdk/graph/OpTable.cpp",
             "sdk/graph/ShapeRulesAttention.cpp",
             "sdk/graph/ShapeRulesBasic.cpp",
             "sdk/graph/ShapeRulesContract.cpp",
             "sdk/graph/ShapeRulesMove.cpp"],
}

# Functions that read nothing of a stranger's, by parts of their names: they
# write, or ask this machine.
OTHERS = {
    "backends/nvptx/driver/TensorMaps.cpp": ["encode", "typeOf"],
    "conformance/publish/Archive.cpp": ["packArchive", "packFile", "writePiece",
                                        "openWriter", "filesOf",
                                        "failure(archive*", "FreeWriter",
                                        "FreeEntry", "Input::size"],
    "conformance/publish/Seal.cpp": ["createKey", "writeNew"],
    "conformance/report/Record.cpp": ["isGood", "isDeclined", "isBad", "isTaken",
                                      "folderNameOf"],
    "conformance/runner/Mustpass.cpp": ["mustpassText", "hashOfIds"],
    "conformance/runner/RecordLog.cpp": ["append", "finish", "has(", "writeAll",
                                         "systemFailure"],
    "hal/runtime/DevicePolicy.cpp": ["standing", "sortOf", "describe", "name("],
    "hal/worker/Bundle.cpp": ["BundleWriter"],
    "hal/worker/Channel.cpp": ["Channel::write", "send", "NoSigpipe"],
    "hal/worker/Frame.cpp": ["eachFrame"],
    "hal/worker/Workers.cpp": ["emulatedArm"],
    "sdk/graph/OpTable.cpp": ["completeAttributes", "parseDefault", "opTable"],
    "sdk/support/Npy.cpp": ["writeNpy", "holdsDType"],
}

# name: (floor in percent, why)
BELOW = {
    "sdk/import/NodeRegion.cpp": (85, "failures that what asks for a region "
                                      "rules out before"),
}


def of(target):
    return SOURCES[target]


def leaves_out(name, function):
    return any(part in function for part in OTHERS.get(name, []))


def unused(name, functions):
    """Parts in OTHERS that no function of the source has in its name."""
    return [part for part in OTHERS.get(name, [])
            if not any(part in function for function in functions)]


def floor(name):
    return BELOW.get(name, (FLOOR, ""))
