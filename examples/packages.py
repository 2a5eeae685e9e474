# SPDX-License-Identifier: Apache-2.0
"""What CPack makes: the .deb and the .tar.zst hold what `cmake --install` puts
anywhere, name no folder of the build, and work where they are unpacked."""
import pathlib
import subprocess

ROOT = pathlib.Path(__file__).resolve().parent.parent


def files_of(prefix):
    return {str(path.relative_to(prefix)) for path in prefix.rglob("*") if not path.is_dir()}


def unpack_deb(steps, packages, folder):
    """The fields are right; gives the prefix in an empty root."""
    deb = next(packages.glob("*.deb"))
    fields = dict(line.split(": ", 1) for line in subprocess.run(
        ["dpkg-deb", "-f", deb, "Package", "Version", "Maintainer", "Depends"], text=True,
        capture_output=True, check=True).stdout.splitlines())
    steps.check("fields of the .deb", fields["Package"] == "backplane" and
                fields["Maintainer"].endswith("@backplane.invalid>") and
                all(name in fields["Depends"] for name in ("libc6 ", "libmlir-22 ", "libsodium23 ")),
                fields)
    steps.run("unpack the .deb", ["dpkg-deb", "-x", deb, folder / "root"])
    return folder / "root/usr"


def unpack_tarball(steps, packages, folder):
    tarball = next(packages.glob("*.tar.zst"))
    (folder / "tarball").mkdir()
    steps.run("unpack the .tar.zst", ["tar", "-C", folder / "tarball", "--zstd", "-xf", tarball])
    return folder / "tarball" / tarball.name.removesuffix(".tar.zst")


def build_paths(prefix, folders):
    """The files that name one of the folders."""
    named = [bytes(folder) for folder in folders]
    return [path for path in prefix.rglob("*") if path.is_file()
            and any(name in path.read_bytes() for name in named)]


def test_sources(steps, prefix):
    """Installed samples and headers compile without a warning."""
    documents = prefix / "share/doc/backplane"
    samples = [*documents.glob("examples/*/*"), *documents.glob("backends/*/*")]
    headers = prefix / "include/backplane"
    c99 = ["gcc", "-std=c99", "-x", "c"]
    cpp20 = ["g++", "-std=c++20", "-x", "c++"]
    jobs = [(c99, path) for path in samples if path.suffix == ".c"]
    # Passes over MLIR need its headers; they are built by their own CMake file.
    jobs += [(cpp20, path) for path in samples if path.suffix == ".cpp"
             and "backplane/mlir/" not in path.read_text(encoding="utf-8")]
    jobs += [(cpp20, path) for path in headers.glob("cpp/*.h")]
    jobs += [(way, path) for path in headers.glob("*.h") for way in (c99, cpp20)]
    for compiler, path in sorted(jobs, key=str):
        steps.run(f"{compiler[0]} {path.name}", compiler + [
            "-Wall", "-Wextra", "-Werror", "-fsyntax-only", f"-I{prefix}/include", path])


def test_plugin(steps, prefix, folder, model, cache):
    """find_package, bp_add_plugin and an example's source are enough."""
    source = prefix / "share/doc/backplane/examples/data-backend"
    build = folder / f"plugin-{prefix.name}"
    steps.run("plug-in configures", ["cmake", "-S", source, "-B", build, "-G", "Ninja",
                                     f"-DCMAKE_PREFIX_PATH={prefix}"])
    steps.run("plug-in builds", ["cmake", "--build", build])
    steps.run("plug-in installs", ["cmake", "--install", build, "--prefix", prefix])
    steps.run("plug-in compiles", [prefix / "bin/bp", "compile", model, "-o", build / "m.bpx",
                                   "--target", "acme-64"], **cache)


def test(steps, build, prefix, folder, model, cache):
    """`prefix` has what `cmake --install` gives."""
    test_sources(steps, prefix)
    packages = folder / "packages"
    steps.run("cpack", ["cpack", "--config", f"{build}/CPackConfig.cmake", "-B", packages])
    installed = files_of(prefix)
    for unpack in (unpack_deb, unpack_tarball):
        root = unpack(steps, packages, folder)
        steps.check(f"files of {root}", files_of(root) == installed,
                    files_of(root) ^ installed)
        named = build_paths(root, (ROOT, pathlib.Path(build).resolve(), packages))
        steps.check("no folder of the build is named", not named, named)
        steps.run("devices", [root / "bin/bp", "devices", "--why"], str(root), **cache)
        steps.run("run", [root / "bin/bp", "run", model, "--random-inputs", "1"], "y: f32",
                  **cache)
        steps.run("bp-opt", [root / "bin/bp-opt", "--version"], "LLVM version 22")
        pages = {page.name.removesuffix(".1") for page in (root / "share/man/man1").iterdir()}
        programs = {program.name for program in (root / "bin").iterdir()}
        steps.check("man pages", programs <= pages, programs - pages)
        test_plugin(steps, root, folder, model, cache)
