# SPDX-License-Identifier: Apache-2.0
"""Planted entries of a cache; caches, plug-ins and worker files that others may write."""
import os
import shutil
import stat

from file_model import RUN
from programs import ROOT

STRANGER = 65533
IS_ROOT = os.geteuid() == 0


def plant_link(entry, other):
    shutil.copyfile(other, entry.parent.parent / "elsewhere")
    entry.unlink()
    entry.symlink_to(entry.parent.parent / "elsewhere")


def plant_hard_link(entry, other):
    entry.unlink()
    os.link(other, entry)


def plant_other(entry, other):
    shutil.copyfile(other, entry)


def plant_pipe(entry, _):
    entry.unlink()
    os.mkfifo(entry)


def plant_folder(entry, _):
    entry.unlink()
    (entry / "full").mkdir(parents=True)


def plant_huge(entry, _):
    os.truncate(entry, 1 << 40)


def plant_open(entry, other):
    shutil.copyfile(other, entry)
    entry.chmod(0o666)


def plant_strangers(entry, other):
    shutil.copyfile(other, entry)
    os.chown(entry, STRANGER, STRANGER)


def planted_cache(suite):
    """Entries that are not what they were: made again with a warning, never run."""
    suite.good("fill the cache", *RUN)
    before = set((suite.cache / "artifacts").iterdir())
    suite.good("fill it with another model", "run", "other.onnx", "--random-inputs", "1")
    entries = set((suite.cache / "artifacts").iterdir())
    suite.check("an artifact for each model", len(before) == 1 and len(entries) == 2, entries)
    (entry,), (other,) = before, entries - before
    whole = other.read_bytes()
    plants = [plant_link, plant_hard_link, plant_other, plant_pipe, plant_folder, plant_huge,
              plant_open, *([plant_strangers] if IS_ROOT else [])]
    for plant in plants:
        plant(entry, other)
        name = plant.__name__.replace("_", " ")
        for kind in ("kernels", "keys"):
            for file in (suite.cache / kind).iterdir():
                if file.is_file() and plant in (plant_pipe, plant_folder, plant_open):
                    plant(file, other)
        ran = suite.good(f"{name}: the right numbers", *RUN)
        suite.check(f"{name}: a warning", "bp: warning: " in ran.stderr, ran.stderr)
        other.unlink()
        other.write_bytes(whole)
        again = suite.good(f"{name}: from the cache again", *RUN)
        suite.check(f"{name}: it is mended", not again.stderr and stat.S_ISREG(
            entry.lstat().st_mode), again.stderr)


def foreign_folders(suite):
    """A cache, plug-ins and worker files in folders that others may write."""
    cases = [("open", lambda path: path.chmod(0o777)), ("of a group", lambda path: path.chmod(
        0o775))]
    if IS_ROOT:
        cases.append(("of a stranger", lambda path: os.chown(path, STRANGER, -1)))
    plugins = suite.folder / "plugins"
    shutil.copytree(ROOT / "build/lib/backplane/plugins", plugins)
    only = {"BACKPLANE_PLUGIN_FILES": ":".join(map(str, plugins.glob("*.bp.json")))}
    workers = suite.folder / "conf"
    workers.mkdir()
    (workers / "w.json").write_text('{"workers": {"evil": {"worker": "/bin/touch", '
                                    '"arguments": ["planted"]}}}', encoding="utf-8")
    for name, spoil in cases:
        for path in (suite.cache, suite.cache / "artifacts", plugins, workers):
            path.chmod(0o755)
            spoil(path)
        ran = suite.good(f"a cache folder that is {name}", *RUN)
        suite.check(f"{name}: a warning for the cache", ran.stderr.count("warning: cache folder")
                    == 1 and "BACKPLANE_TRUSTED_DIRS" in ran.stderr, ran.stderr)
        suite.refused(f"plug-ins that are {name}", "", *RUN,
                      environment={**only, "BACKPLANE_CACHE_DIR": "-"})
        listed = suite.good(f"devices of plug-ins that are {name}", "devices", environment=only)
        suite.check(f"{name}: why no plug-in is used", "no usable device" in listed.stdout
                    and "BACKPLANE_TRUSTED_DIRS" in listed.stdout, listed.stdout)
        suite.refused(f"a worker file that is {name}", "worker file", "devices", "--worker",
                      "evil", environment={"BACKPLANE_WORKERS": str(workers / "w.json")})
        suite.check(f"{name}: nothing was started", not (suite.folder / "planted").exists())
        vouched = suite.good(f"{name}, but vouched for", *RUN, environment={
            **only, "BACKPLANE_TRUSTED_DIRS": str(suite.folder)})
        suite.check(f"{name}: no warning then", not vouched.stderr, vouched.stderr)
        for path in (suite.cache, suite.cache / "artifacts", plugins, workers):
            os.chown(path, os.geteuid(), -1)
            path.chmod(0o755)
    os.rename(suite.cache, suite.folder / "real")
    suite.cache.symlink_to(suite.folder / "real")
    ran = suite.good("a cache folder behind a link of the user", *RUN)
    suite.check("a link of the user is taken", not ran.stderr, ran.stderr)
    if IS_ROOT:
        os.chown(suite.cache, STRANGER, -1, follow_symlinks=False)
        ran = suite.good("a cache folder behind a link of a stranger", *RUN)
        suite.check("a link of a stranger is not", "cache folder" in ran.stderr, ran.stderr)
    suite.cache.unlink()
    os.rename(suite.folder / "real", suite.cache)


ALL = planted_cache, foreign_folders
