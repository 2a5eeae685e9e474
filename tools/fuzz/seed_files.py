# SPDX-License-Identifier: Apache-2.0
"""Seeds of the fuzz targets that are files of other tools: libraries, shaders,
texts of PTX, archives."""
import pathlib
import struct
import subprocess
import tarfile
import zipfile

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent


def run(command):
    return subprocess.run(command, cwd=ROOT, capture_output=True, check=False)


def write_images(folder):
    """Kernels of the host driver's tests, linked in several ways."""
    for name, flags in (("plain", []), ("sysv", ["-Wl,--hash-style=sysv"]),
                        ("lld", ["-fuse-ld=lld", "-Wl,-z,max-page-size=4096"]),
                        ("both", ["-fuse-ld=lld", "-Wl,--hash-style=both"])):
        run(["clang-22", "-O1", "-fvisibility=hidden", "-Wl,--strip-all", "-shared", "-nostdlib", "-fPIC", *flags,
             "-I", "sdk/include", "-o", folder / name,
             "hal/host/test/Kernels.c"])


def write_shaders(folder):
    """Shaders of the Vulkan driver's tests, as modules and as blobs."""
    for source in sorted((ROOT / "backends/vulkan/driver/test/shaders").glob("*.comp")):
        out = folder / source.stem
        if run(["glslangValidator", "--quiet", "-V", "--target-env",
                "vulkan1.2", "-o", out, source]).returncode:
            continue
        words = out.read_bytes()
        head = b"".join(n.to_bytes(4, "little") for n in (
            0x56505342, 1, 1, 5, len(words) // 4))
        (folder / f"{source.stem}.blob").write_bytes(head + words)


def write_ptx(folder):
    """A text of PTX with all that its reader tells apart."""
    (folder / "kernels").write_text("""// by hand
.version 7.8
.target sm_80
.address_size 64
.visible .entry add(
  .param .u64 .ptr .global .align 16 add_0, /* so */ .param .b64 add_1,
  .param .f32 add_2, .param .align 8 .b8 add_3[24])
.reqntid 128
{ .pragma "nounroll"; ret; }
.entry none { ret; }
""", "utf-8")


def write_cubin(folder):
    """A cubin without code: sections of names and of a kernel's two parameters,
    and a segment."""
    head, row, machine, sections = 64, 64, 190, 3
    at = head + sections * row + 56
    names = b"\0.nv.info.f\0"
    info = b"".join(struct.pack("<BBHIHHI", 4, kind, 12, 0, place, 8 * place, size)
                    for kind, place, size in ((0x45, 1, 8), (0x17, 0, 8 << 18)))
    table = [(0, 1, at, 0), (0, 3, at, len(names)), (1, 0x70000000, at + len(names), len(info))]
    (folder / "cubin").write_bytes(
        struct.pack("<16sHHIQQQI6H", b"\x7fELF\2\1\1", 2, machine, 1, 0,
                    head + sections * row, head, 0, head, 56, 1, row, sections, 1)
        + b"".join(struct.pack("<IIQQQQIIQQ", name, kind, 0, 0, place, size, 0, 0, 1, 0)
                   for name, kind, place, size in table)
        + struct.pack("<IIQQQQQQ", 1, 4, at, 0, 0, 8, 8, 1) + names + info)


def write_submissions(folder):
    """Archives with one entry that no submission has, behind one that each has."""
    for number, (name, kind) in enumerate((
            ("../x", tarfile.REGTYPE), ("/x", tarfile.REGTYPE), ("run.json", tarfile.REGTYPE),
            ("./x", tarfile.REGTYPE), ("d", tarfile.DIRTYPE), (".", tarfile.DIRTYPE),
            ("x", tarfile.SYMTYPE), ("x", tarfile.LNKTYPE), ("x", tarfile.CHRTYPE))):
        with tarfile.open(folder / f"odd{number}.tar", "w", tarfile.USTAR_FORMAT) as archive:
            archive.addfile(tarfile.TarInfo("run.json"))
            info = tarfile.TarInfo(name)
            info.type, info.linkname = kind, "run.json"
            archive.addfile(info)


def write_archives(folder):
    """Arrays of the target npy in a .npz file."""
    with zipfile.ZipFile(folder / "arrays.npz", "w") as archive:
        for array in sorted((folder.parent / "npy").glob("*.npy")):
            archive.write(array, array.name)


def write(seeds):
    """Each into the folder of its target."""
    for target, write_into in (
            ("elf", write_images), ("spirv", write_shaders), ("ptx", write_ptx),
            ("cubin", write_cubin), ("npz", write_archives),
            ("submission", write_submissions)):
        folder = seeds / target
        folder.mkdir(parents=True, exist_ok=True)
        write_into(folder)
