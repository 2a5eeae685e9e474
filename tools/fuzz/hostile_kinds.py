# SPDX-License-Identifier: Apache-2.0
"""What hostile members are made of besides one damaged file: files that lie
beside others, caches, plug-ins, workers, submissions, and machines that lack
something. Each function gives one member, drawn from a generator, to a tool."""
import ctypes
import io
import json
import os
import pathlib
import shutil
import socket
import stat
import struct
import subprocess
import tarfile

import onnx

import hostile

STRANGER = 65533
IS_ROOT = os.geteuid() == 0
WORDS = ["", " ", "-", "--", "0", "-1", "1", "nan", "99999999999999999999", "1e9", "true", "é",
         "a=b", "=", "x=", "n=0", "n=-1", "n=9999999999", "/", "/dev/null", "/dev/zero", "/nope/x",
         ".", "..", "x" * 5000, "%n%s", "a,b", ",", ":", "::", "host", "ref", "HOST", "ref+host",
         "host+", "worker:", "worker:local/", "worker:nope/host", "worker:local/worker:local/host",
         "host://9", "host://0?", "ref://interpreter?a", "auto", "auto:", "auto:speed", "good.onnx",
         "good.bpx", "x.npy", "x=x.npy", "x=good.onnx", "y=x.npy", "\x1b[2J", "a\nb", "*", "[", "{}"]


# ---- Odd files in the place of good ones ----

def spoil(path, rng, other):
    """Makes something else of a file or folder: its kind, owner, mode or bytes."""
    ways = ["bytes", "cut", "empty", "huge", "link", "dangling", "loop", "hard", "pipe", "socket",
            "folder", "group", "others", "none", "device", "above"]
    if IS_ROOT:
        ways += ["owner", "owner above", "link of a stranger"]
    way = rng.choice(ways)
    data = path.read_bytes() if path.is_file() and path.stat().st_size < 1 << 30 else b""
    if way in ("group", "others", "none"):
        path.chmod({"group": 0o664, "others": 0o666, "none": 0}[way])
    elif way == "above":
        path.parent.chmod(rng.choice([0o777, 0o775]))
    elif way in ("owner", "owner above"):
        os.chown(path if way == "owner" else path.parent, STRANGER, -1)
    else:
        replace(path, way, data, rng, other)
    return way


def replace(path, way, data, rng, other):
    path.unlink()
    if way in ("link", "link of a stranger"):
        path.symlink_to(other)
        if way != "link":
            os.chown(path, STRANGER, -1, follow_symlinks=False)
    elif way in ("dangling", "loop", "device"):
        path.symlink_to({"dangling": "/nope/x", "loop": path, "device": "/dev/zero"}[way])
    elif way == "hard":
        os.link(other, path)
    elif way == "pipe":
        os.mkfifo(path)
    elif way == "socket":
        with socket.socket(socket.AF_UNIX) as made:
            short = path.parent.parent / "s"  # a name of a socket is short
            made.bind(str(short))
            short.rename(path)
    elif way == "folder":
        path.mkdir()
    else:
        path.write_bytes({"bytes": hostile.damage(data, rng, data), "cut": data[:len(data) // 2],
                          "empty": b""}.get(way, data))
        if way == "huge":
            os.truncate(path, 1 << 40)


# ---- Members ----

def external(place, rng):
    """Weights in a file beside the model, whose place and kind are odd."""
    model = onnx.ModelProto.FromString((place.folder / "good.onnx").read_bytes())
    weights = place.given / "w.bin"
    weights.write_bytes(bytes(1 << 12))
    sizes = ["0", "16", "4", "-1", "18446744073709551615", "9223372036854775807", "", "x", "4096"]
    for tensor in model.graph.initializer:
        tensor.ClearField("raw_data")
        tensor.data_location = 1
        for key, usual, odd in (
                ("location", "w.bin", [*hostile.NAMES, "m.onnx", "./w.bin", "/etc/passwd",
                                       "../good.onnx", "w.bin/", "d/../w.bin"]),
                ("offset", "0", sizes), ("length", None, sizes), ("checksum", None, ["", "0"])):
            text = usual if rng.random() < 0.6 else rng.choice(odd)
            if text is not None:
                tensor.external_data.add(key=key, value=text.replace("\0", ""))
    if rng.random() < 0.5:
        spoil(weights, rng, "/etc/passwd" if rng.random() < 0.5 else place.folder / "x.npy")
    (place.given / "m.onnx").write_bytes(model.SerializeToString())
    return place.call("bp", "run", place.given / "m.onnx", "--device", "ref", "--random-inputs",
                      "1")


def input_files(place, rng):
    """Anything in the place of a file that a command reads."""
    name, arguments = rng.choice([
        ("good.onnx", ["run", "{}", "--device", "ref", "--random-inputs", "1"]),
        ("good.bpx", ["run", "{}", "--device", "ref", "--random-inputs", "1"]),
        ("good.bpx", ["inspect", "{}"]), ("good.onnx", ["explain", "{}", "--target", "ref"]),
        ("x.npy", ["run", "good.bpx", "--device", "ref", "--input", "x={}"]),
        ("good.bpb", ["bundle", "judge", "{}", "good.bpr"]),
        ("good.bpr", ["bundle", "judge", "good.bpb", "{}"])])
    path = place.given / name
    shutil.copyfile(place.folder / name, path)
    spoil(path, rng, place.folder / rng.choice(["x.npy", "good.onnx", "good.bpx"]))
    return place.call("bp", *[word.replace("{}", str(path)) for word in arguments])


def results(place, rng):
    """Damaged results of a bundle."""
    path = place.given / "m.bpr"
    data = (place.folder / "good.bpr").read_bytes()
    path.write_bytes(reseal_frames(hostile.damage(data, rng, data)) if rng.random() < 0.7
                     else hostile.damage(data, rng, data))
    return place.call("bp", "bundle", "judge", "good.bpb", path)


def reseal_frames(data):
    """Puts checksums of frames right, as far as sizes lead."""
    hash64 = ctypes.CDLL("libxxhash.so.0")
    hash64.XXH3_64bits.restype = hash64.XXH3_64bits_withSeed.restype = ctypes.c_uint64
    hash64.XXH3_64bits.argtypes = [ctypes.c_char_p, ctypes.c_size_t]
    hash64.XXH3_64bits_withSeed.argtypes = [ctypes.c_char_p, ctypes.c_size_t, ctypes.c_uint64]
    made, at = bytearray(data), 0
    while at + 32 <= len(made):
        size = struct.unpack_from("<Q", made, at + 16)[0]
        if size > len(made) - at - 32:
            break
        seed = hash64.XXH3_64bits(bytes(made[at:at + 24]), 24)
        whole = hash64.XXH3_64bits_withSeed(bytes(made[at + 32:at + 32 + size]), size, seed)
        struct.pack_into("<Q", made, at + 24, whole)
        at += 32 + size
    return bytes(made)


class Hash128(ctypes.Structure):
    _fields_ = [("low", ctypes.c_uint64), ("high", ctypes.c_uint64)]


def sealed_artifact(place, rng):
    """An artifact whose metadata say something else, under a hash that is right."""
    data = bytearray((place.folder / rng.choice(["good.bpx", "emulated.bpx"])).read_bytes())
    start, size = 64, struct.unpack_from("<Q", data, 24)[0]
    for _ in range(rng.randint(1, 3)):
        at = start + rng.randrange(size - 8)
        if rng.random() < 0.5:
            data[at] = rng.choice([data[at] ^ 1 << rng.randrange(8), rng.randrange(256)])
        else:
            struct.pack_into("<I", data, at & ~3, rng.choice(hostile.EXTREMES) & 0xFFFFFFFF)
    hash128 = ctypes.CDLL("libxxhash.so.0").XXH3_128bits
    hash128.restype, hash128.argtypes = Hash128, [ctypes.c_char_p, ctypes.c_size_t]
    whole = hash128(bytes(data[start:start + size]), size)
    struct.pack_into("<QQ", data, 48, whole.low, whole.high)
    path = place.given / "m.bpx"
    path.write_bytes(data)
    device = rng.choice(["ref", "cuda://emu"])
    return place.call("bp", *rng.choice([["inspect", path], ["run", path, "--device", device,
                                                            "--random-inputs", "1"]]),
                      BACKPLANE_PLUGINS_SELECT="host,ref,cuda")


def frames(place, rng):
    """What a tool that went mad would send to a worker."""
    data = hostile.damage(place.stream, rng, place.stream)
    data = reseal_frames(data) if rng.random() < 0.8 else data
    return place.call("bp-worker", "--device", "ref", "--threads", "1", *rng.choice(
        [[], [], ["--checks"], ["--memory-limit", "300000000"]]), input=data)


def sealed_run(place, rng):
    """A run of the suite with a changed file, sealed again or not."""
    folder = place.given / "run"
    shutil.copytree(place.folder / "run", folder)
    path = folder / rng.choice(["run.json", "records.jsonl", "summary.json", "manifest.json",
                                "manifest.sig", "junit.xml", "report.html", "mustpass.txt"])
    way = rng.random()
    if way < 0.35:
        spoil(path, rng, place.folder / "x.npy")
    elif path.suffix == ".json":
        path.write_bytes(hostile.json_text(path.read_bytes(), rng))
    elif path.name == "records.jsonl":
        lines = path.read_bytes().splitlines()
        at = rng.randrange(len(lines))
        lines[at] = hostile.json_text(lines[at], rng)
        lines += rng.choice([[], [], lines[:1], [b""], [b"x" * 100_000]])
        path.write_bytes(b"\n".join(lines) + b"\n")
    else:
        path.write_bytes(hostile.damage(path.read_bytes(), rng, b"0" * 64))
    if rng.random() < 0.6 and "manifest" not in path.name:
        for name in ("manifest.json", "manifest.sig"):
            (folder / name).unlink()
        sealed = place.call("bp", "conformance", "seal", folder, "--key", "key")
        if sealed.returncode:
            return sealed
    result = place.call("bp", "conformance", "verify", folder,
                        *rng.choice([["--any-key"], ["--known-keys", "known"], ["--unsealed"]]))
    return result


def submission(place, rng):
    """An archive with entries that no submission has."""
    path = place.given / "m.tar"
    odd = [*hostile.NAMES, "run/../../../x", "/tmp/planted", "run/run.json", "a" * 99, "a/" * 200,
           "run", "run/run.json/x", "./././x"]
    with tarfile.open(path, "w", format=rng.choice([tarfile.USTAR_FORMAT, tarfile.GNU_FORMAT,
                                                    tarfile.PAX_FORMAT])) as archive:
        for file in sorted((place.folder / "run").iterdir()):
            if rng.random() < 0.9:
                archive.add(file, file.name)
        for _ in range(rng.choice([0, 1, 1, 3, 12_000])):
            info = tarfile.TarInfo(rng.choice(odd).replace("\0", "") or "e")
            info.type = rng.choice([tarfile.REGTYPE] * 4 + [
                tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.CHRTYPE, tarfile.BLKTYPE, tarfile.FIFOTYPE,
                tarfile.DIRTYPE, tarfile.GNUTYPE_SPARSE, tarfile.CONTTYPE])
            info.linkname = rng.choice(["/etc/passwd", "..", "run.json"])
            info.mode = 0o6777
            try:
                archive.addfile(info)
            except ValueError:
                pass  # what this format cannot say
        if rng.random() < 0.2:
            info = tarfile.TarInfo("zeros")
            info.size = 1 << 22
            archive.addfile(info, io.BytesIO(bytes(info.size)))
    if rng.random() < 0.5:
        path.write_bytes(hostile.damage(path.read_bytes(), rng, path.read_bytes()[:2048]))
    if rng.random() < 0.5:
        subprocess.run(["zstd", "-q", "-1", "--rm", path, "-o", f"{path}.zst"], check=True)
        path = place.given / "m.tar.zst"
        if rng.random() < 0.5:
            path.write_bytes(hostile.damage(path.read_bytes(), rng, b""))
    return place.call("bp", "conformance", "verify", path, "--any-key")


def keys(place, rng):
    """Damaged keys and lists of keys."""
    path = place.given / "key"
    name = rng.choice(["key", "key.pub", "known"])
    shutil.copyfile(place.folder / name, path)
    if rng.random() < 0.4:
        spoil(path, rng, place.folder / "x.npy")
    else:
        path.write_bytes(hostile.damage(path.read_bytes(), rng, b"name 00\n# x\n"))
    if name == "key":
        shutil.copytree(place.folder / "run", place.given / "run")
        for part in ("manifest.json", "manifest.sig"):
            (place.given / "run" / part).unlink()
        return place.call("bp", "conformance", "seal", place.given / "run", "--key", path)
    return place.call("bp", "conformance", "verify", "run",
                      "--key" if name == "key.pub" else "--known-keys",
                      path if name == "known" else path.read_text("utf-8", "replace").replace(
                          "\0", "") if path.is_file() and path.stat().st_size < 10_000 else path)


def waivers(place, rng):
    """Damaged waivers and lists of cases."""
    path = place.given / "w.json"
    path.write_bytes(hostile.json_text(json.dumps({"format": 1, "waivers": [
        {"id": "a", "cases": ["L3/exp/*"], "devices": ["acme:*"], "suite_versions": ["0.2.*"],
         "reason": "r", "url": "https://x", "owner": "o", "expires": "2027-01-01"}]}).encode(),
        rng))
    return place.call("bp", "conformance", "--device", "ref", "--filter", "L1/copy/execute/*",
                      "--jobs", "1", "--out", place.given / "out", "--waivers", path)


def cache(place, rng):
    """Odd entries and folders in a cache that was filled: the numbers stay right."""
    folder = place.given / "cache"
    shutil.copytree(place.folder / "cache", folder)
    entries = sorted(path for path in folder.rglob("*") if path.is_file())
    for _ in range(rng.choice([1, 1, 2, 5])):
        path = rng.choice(entries)
        other = rng.choice([entry for entry in entries if entry != path])
        if not path.is_file() or path.is_symlink() or path.stat().st_mode & 0o600 != 0o600:
            continue
        if path.stat().st_nlink > 1:
            continue  # what is done to it would be done to another file
        if not other.is_file():
            other = place.folder / "x.npy"  # it was spoilt before
        if rng.random() < 0.2 and other.stat().st_size < 1 << 30:
            path.write_bytes(other.read_bytes())  # right bytes under another name
        else:
            spoil(path, rng, other)
    result = place.right("--device", "host", BACKPLANE_CACHE_DIR=str(folder))
    if result.returncode == 0:
        result = place.right("--device", "host", BACKPLANE_CACHE_DIR=str(folder))
    return result


def planted(place, rng):
    """A plug-in whose library would leave a mark when it is loaded."""
    folder = place.given / "plugins"
    folder.mkdir(parents=True)
    shutil.copyfile(place.folder / "planted.so", folder / "libp.so")
    name = rng.choice(["libp.so", "../libp.so", str(folder / "libp.so"), "link.so", "./libp.so"])
    if name == "../libp.so":
        shutil.copyfile(folder / "libp.so", place.given / "libp.so")
    if name == "link.so":
        shutil.copyfile(folder / "libp.so", place.given / "libp.so")
        (folder / "link.so").symlink_to("../libp.so")
    manifest = folder / "p.bp.json"
    manifest.write_text(json.dumps({
        "format": 1, "name": "p", "version": "1.0.0", "abi": {"major": 0, "minor_low": 1},
        "driver": name, **rng.choice([{}, {"sha256": {"driver": "0" * 64}}])}), "utf-8")
    target = rng.choice([manifest, folder / "libp.so", folder])
    ways = ["group", "others"] + (["owner"] if IS_ROOT else [])
    way = rng.choice(ways)
    if way == "owner":
        os.chown(target, STRANGER, -1)
    else:
        target.chmod((0o775 if way == "group" else 0o777) if target == folder else
                     (0o664 if way == "group" else 0o666))
    return place.call("bp", "devices", BACKPLANE_ADD_PLUGIN_FILES=str(manifest),
                      PLANTED=str(place.given / "mark"))


def worker_files(place, rng):
    """A worker file that others may have written, whose command leaves a mark."""
    path = place.given / "conf" / "w.json"
    path.parent.mkdir()
    path.write_text(json.dumps({"workers": {"evil": {
        "worker": "/bin/touch", "arguments": [str(place.given / "mark")]}}}), "utf-8")
    target = rng.choice([path, path.parent])
    if IS_ROOT and rng.random() < 0.4:
        os.chown(target, STRANGER, -1)
    else:
        target.chmod(0o777 if rng.random() < 0.5 else 0o775)
    return place.call("bp", *rng.choice([
        ["devices", "--worker", "evil"], ["run", "good.bpx", "--device", "worker:evil/host",
                                          "--random-inputs", "1"],
        ["conformance", "--device", "worker:evil/host", "--filter", "L1/copy/execute/*", "--out",
         place.given / "out"]]), BACKPLANE_WORKERS=str(path))


COMMANDS = {
    "run": ["good.bpx", "--device", "ref", "--random-inputs", "1"],
    "compile": ["good.onnx", "--target", "ref", "-o", "o.bpx"], "inspect": ["good.bpx"],
    "explain": ["good.onnx", "--target", "ref"], "devices": [],
    "compare": ["good.onnx", "--a", "ref", "--b", "ref"],
    "bundle": ["good.bpx", "--device", "ref", "--random-inputs", "1", "-o", "o.bpb"],
    "conformance": ["--device", "ref", "--filter", "L1/copy/execute/*", "--jobs", "1", "--out",
                    "out"]}
OPTIONS = ["--device", "--target", "--threads", "--dim", "--input", "--expect", "--output-dir",
           "--random-inputs", "--repeat", "-o", "--json", "--why", "--max-memory", "--max-time",
           "--seed", "--shard", "--filter", "--depth", "--jobs", "--timeout", "--memory-limit",
           "--resume", "--challenge", "--waivers", "--sign", "--launcher", "--worker-folder", "--a",
           "--b", "--trace", "--nope", "--worker", "--budget", "--repro", "--env", "-", "--"]


def flags(place, rng):
    """Options with nonsense."""
    name = rng.choice(sorted(COMMANDS))
    words = list(COMMANDS[name])
    for _ in range(rng.randint(1, 3)):
        option = rng.choice(OPTIONS)
        value = rng.choice(WORDS)
        at = rng.randrange(len(words) + 1)
        words[at:at] = rng.choice([[option], [option, value], [f"{option}={value}"], [value]])
    folder = inner(place)
    for file in ("good.onnx", "good.bpx", "x.npy"):
        shutil.copyfile(place.folder / file, folder / file)
    return place.call("bp", name, *words, cwd=folder)


def inner(place):
    """A folder for what relative names of outputs and caches lead to."""
    folder = place.given / "a" / "b"
    folder.mkdir(parents=True)
    return folder


VARIABLES = ["BACKPLANE_ADD_PLUGIN_FILES", "BACKPLANE_CACHE_DIR", "BACKPLANE_MAP_ARTIFACTS",
             "BACKPLANE_PLUGINS_DISABLE", "BACKPLANE_PLUGINS_SELECT", "BACKPLANE_PLUGIN_FILES",
             "BACKPLANE_THREADS", "BACKPLANE_TRUSTED_DIRS", "BACKPLANE_WORKERS",
             "BACKPLANE_MODELS", "HOME", "TMPDIR", "XDG_CACHE_HOME", "XDG_CONFIG_HOME", "LANG",
             "LC_ALL", "PATH", "TZ"]


def environment(place, rng):
    """Variables with nonsense: the right numbers, or one line."""
    chosen = {rng.choice(VARIABLES): rng.choice(WORDS) for _ in range(rng.randint(1, 3))}
    return place.right("--device", rng.choice(["ref", "host"]), whole=True, cwd=inner(place),
                       model=rng.choice(["good.onnx", "good.bpx"]), **chosen)


def machine(place, rng):
    """A machine that lacks something: the right numbers, or one line."""
    memory = rng.choice([60, 90, 130, 200, 300, 400, 600, 900, 1500, 4000]) << 10
    full = place.given / "full"
    full.mkdir()
    device = rng.choice(["ref", "host"])
    model = rng.choice(["good.onnx", "good.bpx"])
    variables = {"BACKPLANE_CACHE_DIR": str(place.given / "cache")}
    way = rng.choice(["memory", "memory", "memory", "files", "descriptors", "processes", "disk",
                      "readonly", "closed", "gone", "stack", "full output"])
    if way == "disk" and place.mounts:
        words = ["unshare", "-rm", "sh", "-c", f"mount -t tmpfs -o size={rng.choice([4, 64, 512])}k "
                 f'none {full} && exec "$@"', "sh"]
        variables = {"BACKPLANE_CACHE_DIR": rng.choice([str(full), "-"]), "TMPDIR": str(full),
                     "BACKPLANE_TRUSTED_DIRS": "/"}
    elif way == "readonly":
        words = []
        variables = {"BACKPLANE_CACHE_DIR": "/proc/cache", "TMPDIR": rng.choice(
            ["/proc", "/nope", "/dev/null"])}
    elif way == "closed":
        closed = rng.choice(["0<&-", ">&-", "2>&-", "0<&- >&- 2>&-"])
        said = 'echo "it could say nothing" >&2' if "2" in closed else ""
        words = ["sh", "-c", f'"$@" {closed} || {{ end=$?; {said or ":"}; exit $end; }}', "sh"]
    elif way == "full output":
        words = ["sh", "-c", 'exec "$@" >/dev/full', "sh"]
    elif way == "gone":
        words = ["sh", "-c", f"mkdir {full}/d; cd {full}/d; rmdir {full}/d; exec \"$@\"", "sh"]
    else:
        limit = {"memory": f"-v {memory}", "files": f"-f {rng.choice([0, 1, 8, 64])}",
                 "descriptors": f"-n {rng.choice([4, 6, 8, 12, 16, 24])}",
                 "stack": f"-s {rng.choice([512, 1024])}"}.get(way, "-t 100")
        words = ["sh", "-c", f'trap "" XFSZ; ulimit {limit}; exec "$@"', "sh"]
    return place.right("--device", device, model=model, wrap=words, whole=True, **variables)


ALL = [external, input_files, results, sealed_artifact, frames, sealed_run, submission, keys,
       waivers, cache, planted, worker_files, flags, environment, machine]


# ---- What they start from ----

TEE = '#!/bin/sh\ntee "{stream}" | "$@"\n'
PLANTED = """#include <stdio.h>
#include <stdlib.h>
__attribute__((constructor)) static void mark(void) {
  const char *path = getenv("PLANTED");
  if (path) fclose(fopen(path, "w"));
}
"""


def prepare(place):
    """Results, a filled cache, a sealed run, frames, a library that marks."""
    folder = place.folder
    place.must("bp-worker", "run", "good.bpb", "-o", "good.bpr")
    place.must("bp", "compile", "good.onnx", "-o", "emulated.bpx", "--target", "nvptx-sm80",
               BACKPLANE_PLUGINS_SELECT="host,ref,cuda")
    cache_folder = str(folder / "cache")
    for model in ("good.onnx", "simple.onnx"):
        place.must("bp", "run", model, "--device", "host", "--random-inputs", "1",
                   BACKPLANE_CACHE_DIR=cache_folder)
    place.must("bp", "conformance", "--device", "ref", "--filter", "L3/abs/f32/*", "--out", "run")
    place.must("bp", "conformance", "keygen", "key")
    place.must("bp", "conformance", "seal", "run", "--key", "key")
    (folder / "known").write_text("me " + (folder / "key.pub").read_text("utf-8"), "utf-8")
    tee = folder / "tee"
    tee.write_text(TEE.format(stream=folder / "stream"), "utf-8")
    tee.chmod(0o755)
    (folder / "t.json").write_text(json.dumps({"workers": {"t": {
        "launcher": [str(tee)], "worker": str(place.tools / "bp-worker")}}}), "utf-8")
    place.must("bp", "run", "good.bpx", "--device", "worker:t/ref", "--random-inputs", "1",
               BACKPLANE_WORKERS=str(folder / "t.json"))
    place.stream = (folder / "stream").read_bytes()
    (folder / "planted.c").write_text(PLANTED, "utf-8")
    subprocess.run(["clang-22", "-shared", "-fPIC", "-o", "planted.so", "planted.c"], cwd=folder,
                   check=True)
