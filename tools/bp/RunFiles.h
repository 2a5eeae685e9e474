// SPDX-License-Identifier: Apache-2.0
//
// RunFiles.h: the files that the options of a run name.
#ifndef BACKPLANE_TOOLS_BP_RUNFILES_H
#define BACKPLANE_TOOLS_BP_RUNFILES_H

#include "Common.h"

namespace backplane {

struct NamedFile {
  size_t index; ///< of the spec
  std::string path;
};

/// Splits NAME=FILE at the first '=' before which the name of an input or an
/// output stands; `what` says which of the two.
Result<NamedFile> resolve(const std::string &text,
                          const std::vector<TensorSpec> &specs,
                          const char *what);

/// A file's tensor as the spec wants it. The shape is checked by the session.
Result<Tensor> readAs(const std::string &path, const TensorSpec &spec,
                      const char *what);

/// Whether the command may write what it is asked to write.
Status checkOutputs(const RunOptions &options,
                    const std::vector<TensorSpec> &specs);

/// Writes the outputs into the folder of --output-dir.
Status writeOutputs(const RunOptions &options,
                    const std::vector<TensorSpec> &specs,
                    const std::vector<Tensor> &outputs);

} // namespace backplane

#endif // BACKPLANE_TOOLS_BP_RUNFILES_H
