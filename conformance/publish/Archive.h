// SPDX-License-Identifier: Apache-2.0
//
// Archive.h: a submission as one file: .tar.zst, or .tar.
#ifndef BACKPLANE_CONFORMANCE_PUBLISH_ARCHIVE_H
#define BACKPLANE_CONFORMANCE_PUBLISH_ARCHIVE_H

#include "backplane/cpp/Result.h"

#include <cstdint>
#include <string>

namespace backplane::conformance {

/// Of all files of a submission together.
inline constexpr uint64_t maxArchiveBytes = uint64_t(2) << 30;

/// Packs the files below `folder` (POSIX ustar, names relative to it, sorted,
/// no times or owners, so that the same folder gives the same bytes) into
/// `path`, which appears complete or not at all. Compressed with zstd when the
/// name ends with .zst. Fails when there is something else than files and
/// folders, a link too.
Status packArchive(const std::string &folder, const std::string &path);

/// Unpacks into `folder`, which exists and is empty. Refuses anything but
/// regular files and folders with relative names below it, more than 10,000
/// files, more than 2 GiB, damage. A file that was not unpacked whole is not
/// there.
Status unpackArchive(const std::string &path, const std::string &folder);

} // namespace backplane::conformance

#endif // BACKPLANE_CONFORMANCE_PUBLISH_ARCHIVE_H
