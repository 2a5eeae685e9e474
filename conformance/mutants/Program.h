// SPDX-License-Identifier: Apache-2.0
//
// Program.h: one loaded dispatch, as steps of one op each. A step is a graph of
// its own that the reference plug-in runs.
#ifndef BACKPLANE_CONFORMANCE_MUTANTS_PROGRAM_H
#define BACKPLANE_CONFORMANCE_MUTANTS_PROGRAM_H

#include "Inner.h"

/// A loaded dispatch.
struct bp_executable_t {
public:
  /// Reads the blob and decomposes the composites that the mutant leaves.
  static backplane::Result<bp_executable_t *>
  load(bp_device_t &device, const bp_executable_info_t &info);
  ~bp_executable_t();

  /// Runs the dispatch on host memory. `message` says what data were bad.
  /// `place`: of the dispatch in its submission.
  bp_status_t run(const bp_command_dispatch_t &command, size_t place,
                  std::string &message);

private:
  bp_executable_t(bp_device_t &device, backplane::Graph graph);
  backplane::Status loadStep(const backplane::Op &op);
  bp_status_t allocate(const bp_command_dispatch_t &command,
                       std::vector<backplane::mutants::Tensor> &values,
                       std::string &message) const;
  bp_status_t runStep(const backplane::mutants::Call &call,
                      const bp_command_dispatch_t &command,
                      std::string &message) const;

  bp_device_t &device_;
  backplane::Graph graph_;
  std::vector<bp_executable_t *>
      steps_; ///< of the reference plug-in, null: composite
};

#endif // BACKPLANE_CONFORMANCE_MUTANTS_PROGRAM_H
