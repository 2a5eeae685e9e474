# SPDX-License-Identifier: Apache-2.0
"""Runs of the suite, archives of them, keys and waivers."""
import io
import json
import shutil
import subprocess
import tarfile

import hostile
from odd_files import spoil


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
    return place.call("bp", "conformance", "verify", folder, *rng.choice(
        [["--any-key"], ["--known-keys", "known"], ["--unsealed"]]))


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


ALL = sealed_run, submission, keys, waivers
