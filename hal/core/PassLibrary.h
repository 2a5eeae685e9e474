// SPDX-License-Identifier: Apache-2.0
//
// PassLibrary.h: a library of C++ passes over the compiler's IR that belongs to
// a compiler plug-in. The host checks the file; only the compiler maps it.
#ifndef BACKPLANE_CORE_PASSLIBRARY_H
#define BACKPLANE_CORE_PASSLIBRARY_H

#include <string>
#include <vector>

namespace backplane {

/// A pass as the manifest declares it.
struct DeclaredPass {
  std::string name;    ///< that of the plug-in, "-", and more
  std::string stage;   ///< the one that it is for
  std::string summary; ///< one line
};

/// What the manifest says of the library.
struct PassLibrary {
  std::string path;   ///< canonical; empty: there is none
  std::string llvm;   ///< the version that it is built with, as "22.1.8"
  std::string sha256; ///< 64 hexadecimal digits, or empty
  std::vector<DeclaredPass> passes;
};

} // namespace backplane

#endif // BACKPLANE_CORE_PASSLIBRARY_H
