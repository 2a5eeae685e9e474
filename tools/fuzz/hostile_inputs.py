# SPDX-License-Identifier: Apache-2.0
"""Models, artifacts, results and frames under sums that are right, and odd files in their
place."""
import ctypes
import shutil
import struct

import onnx

import hostile
from odd_files import spoil


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


ALL = external, input_files, results, sealed_artifact, frames
