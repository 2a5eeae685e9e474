# SPDX-License-Identifier: Apache-2.0
"""Odd files in the place of good ones."""
import os
import socket

import hostile

STRANGER = 65533
IS_ROOT = os.geteuid() == 0


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
