// SPDX-License-Identifier: Apache-2.0
//
// Library.h: cuBLASLt as it is opened at run time. Only its headers are needed
// to build; where the library is absent the set still describes its kernels.
#ifndef BACKPLANE_CUBLASLT_LIBRARY_H
#define BACKPLANE_CUBLASLT_LIBRARY_H

#include "backplane/cpp/Result.h"

#include <cublasLt.h>

#include <string>

namespace backplane::cublaslt {

/// The functions that are called, by their names.
#define BP_CUBLASLT_FUNCTIONS(X)                                               \
  X(cublasLtCreate)                                                            \
  X(cublasLtGetStatusString)                                                   \
  X(cublasLtMatmul)                                                            \
  X(cublasLtMatmulAlgoGetHeuristic)                                            \
  X(cublasLtMatmulDescCreate)                                                  \
  X(cublasLtMatmulDescDestroy)                                                 \
  X(cublasLtMatmulDescSetAttribute)                                            \
  X(cublasLtMatmulPreferenceCreate)                                            \
  X(cublasLtMatmulPreferenceDestroy)                                           \
  X(cublasLtMatmulPreferenceSetAttribute)                                      \
  X(cublasLtMatrixLayoutCreate)                                                \
  X(cublasLtMatrixLayoutDestroy)

/// An opened library.
class Library {
public:
  /// The library of this name or path; "": the versions that the set knows,
  /// newest first. Opened once and never closed. Thread-safe.
  static Result<const Library *> open(const std::string &name);

  /// What a failed call means.
  Status check(cublasStatus_t status, const char *what) const;

#define BP_CUBLASLT_MEMBER(function) decltype(&::function) function = nullptr;
  BP_CUBLASLT_FUNCTIONS(BP_CUBLASLT_MEMBER)
#undef BP_CUBLASLT_MEMBER

private:
  static Result<const Library *> openFile(const std::string &name);
};

} // namespace backplane::cublaslt

#endif // BACKPLANE_CUBLASLT_LIBRARY_H
