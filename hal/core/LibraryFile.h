// SPDX-License-Identifier: Apache-2.0
//
// LibraryFile.h: whether a file can be a library of this machine, found without
// mapping it. The system's loader answers a foreign one with "no such file" and
// ends the process over one that was cut short.
#ifndef BACKPLANE_CORE_LIBRARYFILE_H
#define BACKPLANE_CORE_LIBRARYFILE_H

#include "backplane/cpp/Result.h"
#include "sdk/support/FileTrust.h"

namespace backplane {

/// Fails, and says what the file is, unless it is a whole ELF library for the
/// machine of this process.
Status checkLibraryFile(const TrustedFile &file);

} // namespace backplane

#endif // BACKPLANE_CORE_LIBRARYFILE_H
