// SPDX-License-Identifier: Apache-2.0
//
// Calls.h: calls of sessions with the memory of their tensors.
#ifndef BACKPLANE_WORKER_CALLS_H
#define BACKPLANE_WORKER_CALLS_H

#include "GuardedMemory.h"
#include "Messages.h"
#include "backplane/cpp/Backplane.h"

namespace backplane::worker {

/// A session, and the artifact that it runs.
struct OpenSession {
  std::shared_ptr<const Artifact> artifact;
  Session session;
};

/// A tensor in memory of its own, as the C API takes it.
struct Held {
  GuardedMemory memory;
  std::vector<int64_t> dims;
  uint32_t dtype;
  /// Of an output: the dims that the session is asked for, BP_DIM_SYMBOLIC
  /// where data decide; a run leaves what they decided in `dims`.
  std::vector<int64_t> asked = {};

  bp_tensor_t c() const {
    return {memory.data(), dims.data(), memory.size(), dtype,
            uint32_t(dims.size())};
  }
};

/// One call, which may run more than once. The session and the message must
/// outlive it.
class PreparedCall {
public:
  /// Copies the inputs and takes memory for the outputs. `guarded` memory lies
  /// between pages that nobody may touch, other memory is that of malloc.
  static Result<PreparedCall> make(const OpenSession &open,
                                   const RunMessage &message, bool guarded);

  /// Lets the outputs hold what the message says that they hold before.
  void fillOutputs() const;
  Status run();
  /// The same in two halves.
  Result<bp_call_t *> submit();
  static Status wait(bp_call_t *call);
  /// The outputs, and what the run did to memory that was not its own.
  ResultMessage result() const;
  /// Whether the outputs have the bits of that result.
  bool gives(const ResultMessage &result) const;

private:
  PreparedCall(const OpenSession &open, const RunMessage &message)
      : open_(&open), message_(&message) {}
  Status makeInputs(bool guarded);
  Status makeOutputs(bool guarded);
  std::string damage() const;
  std::vector<bp_tensor_t> askForOutputs();

  const OpenSession *open_;
  const RunMessage *message_;
  std::vector<Held> inputs_, outputs_;
};

} // namespace backplane::worker

#endif // BACKPLANE_WORKER_CALLS_H
