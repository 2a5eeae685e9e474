# SPDX-License-Identifier: Apache-2.0
"""Caches, plug-ins and worker files that others may write, options and variables that are
nonsense, and machines that lack something."""
import json
import os
import shutil

from odd_files import IS_ROOT, STRANGER, spoil

WORDS = ["", " ", "-", "--", "0", "-1", "1", "nan", "99999999999999999999", "1e9", "true", "é",
         "a=b", "=", "x=", "n=0", "n=-1", "n=9999999999", "/", "/dev/null", "/dev/zero", "/nope/x",
         ".", "..", "x" * 5000, "%n%s", "a,b", ",", ":", "::", "host", "ref", "HOST", "ref+host",
         "host+", "worker:", "worker:local/", "worker:nope/host", "worker:local/worker:local/host",
         "host://9", "host://0?", "ref://interpreter?a", "auto", "auto:", "auto:speed", "good.onnx",
         "good.bpx", "x.npy", "x=x.npy", "x=good.onnx", "y=x.npy", "\x1b[2J", "a\nb", "*", "[", "{}"]


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
    if name in ("../libp.so", "link.so"):
        shutil.copyfile(folder / "libp.so", place.given / "libp.so")
    if name == "link.so":
        (folder / "link.so").symlink_to("../libp.so")
    manifest = folder / "p.bp.json"
    manifest.write_text(json.dumps({
        "format": 1, "name": "p", "version": "1.0.0", "abi": {"major": 0, "minor_low": 1},
        "driver": name, **rng.choice([{}, {"sha256": {"driver": "0" * 64}}])}), "utf-8")
    target = rng.choice([manifest, folder / "libp.so", folder])
    way = rng.choice(["group", "others"] + (["owner"] if IS_ROOT else []))
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


ALL = cache, planted, worker_files, flags, environment, machine
