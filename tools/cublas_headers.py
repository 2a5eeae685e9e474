#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Puts cuBLASLt's headers beside those of CUDA in .venv.

They come from NVIDIA's wheel, of whose 440 MB, the library, nothing else is read. pip says where the
wheel is; each header has to have the hash below.
"""
import hashlib
import json
import pathlib
import subprocess
import sys
import zipfile

import remotezip

WHEEL = "nvidia-cublas==13.10.0.20"
FOLDER = "nvidia/cu13/include"
HEADERS = {
    "cublasLt.h": "95268583832b0da6daaa7a7fb2c4d6c560d15e5fe5ea77f3f4ff715125452ab4",
    "cublas_api.h": "1c98178eae8101e2e8d8d34c9a1c21aa1907d6f51de2e4de12086f34c3ad6c51",
}


def place_of_wheel():
    """Reads as little of the wheel as pip needs for its name."""
    result = subprocess.run(
        [sys.executable, "-m", "pip", "install", "--quiet", "--dry-run", "--no-deps",
         "--ignore-installed", "--disable-pip-version-check", "--use-feature=fast-deps",
         "--report", "-", WHEEL], capture_output=True, text=True, check=False)
    if result.returncode:
        raise RuntimeError(f"pip finds no {WHEEL}: {result.stderr[-300:].strip()}")
    return json.loads(result.stdout)["install"][0]["download_info"]["url"]


def opened(place):
    """An index may be a folder."""
    path = place.removeprefix("file://")
    return zipfile.ZipFile(path) if path != place else remotezip.RemoteZip(place)


def main():
    (packages,) = pathlib.Path(sys.prefix).glob("lib/python3*/site-packages")
    folder = packages / FOLDER
    with opened(place_of_wheel()) as wheel:
        for name, expected in HEADERS.items():
            data = wheel.read(f"{FOLDER}/{name}")
            found = hashlib.sha256(data).hexdigest()
            if found != expected:
                raise RuntimeError(f"{name} of {WHEEL} has the hash {found}, not {expected}")
            (folder / name).write_bytes(data)


if __name__ == "__main__":
    try:
        main()
    except (RuntimeError, OSError, KeyError, zipfile.BadZipFile, remotezip.RemoteZipError) as error:
        sys.exit(f"setup: cuBLASLt's headers are not here, so that its kernels are left out: {error}")
