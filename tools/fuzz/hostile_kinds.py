# SPDX-License-Identifier: Apache-2.0
"""What hostile members are made of besides one damaged file: files that lie
beside others, caches, plug-ins, workers, submissions, and machines that lack
something. Each function gives one member, drawn from a generator, to a tool."""
import json
import subprocess

import hostile_inputs
import hostile_places
import hostile_submissions

ALL = [*hostile_inputs.ALL, *hostile_submissions.ALL, *hostile_places.ALL]
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
