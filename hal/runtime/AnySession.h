// SPDX-License-Identifier: Apache-2.0
//
// AnySession.h: what sessions have in common wherever they run: on a device of
// this process or behind a worker. The C API and so all tools use only this.
#ifndef BACKPLANE_RUNTIME_ANYSESSION_H
#define BACKPLANE_RUNTIME_ANYSESSION_H

#include "Timeline.h"
#include "ValueMemory.h"
#include "backplane/backplane.h"
#include "backplane/cpp/Result.h"
#include "hal/core/Trace.h"

#include <memory>
#include <span>
#include <string>
#include <vector>

namespace backplane::rt {

class Signature;

/// Memory of a device that a call uses in place of a tensor's data.
struct DeviceRange {
  std::shared_ptr<Buffer> buffer;
  uint64_t offset = 0;
};

/// What a call works on.
struct CallTensors {
  std::span<const bp_tensor_t> inputs, outputs;
  /// Empty, or one for each input, then each output; the data of those with a
  /// buffer are not looked at, but not null. Only for sessions with values().
  std::span<const DeviceRange> memory = {};
  /// Gets the value 1, or the failure, when the work is done; may be null.
  std::shared_ptr<Timeline> ready = nullptr;
};

/// A call in flight. Ended by finish.
class AnyCall {
public:
  virtual ~AnyCall() = default;
  AnyCall(const AnyCall &) = delete;
  AnyCall &operator=(const AnyCall &) = delete;

  /// Thread-safe.
  virtual bool done() const = 0;
  /// Waits, writes the outputs and gives the outcome. `self` is this call.
  virtual Status finish(std::unique_ptr<AnyCall> self) = 0;

protected:
  AnyCall() = default;
};

/// The functions are thread-safe; backplane.h says what they mean.
class AnySession {
public:
  virtual ~AnySession() = default;
  AnySession(const AnySession &) = delete;
  AnySession &operator=(const AnySession &) = delete;

  virtual Status reset() = 0;
  /// One line: what runs where, and why nothing else does.
  const std::string &choice() const { return choice_; }
  /// Everything that was considered, line by line.
  const std::string &explain() const { return explanation_; }
  /// Says both, before anybody asks, and what happens to values on devices.
  void tell(std::string choice, std::string explanation);
  virtual uint64_t dispatchCount() const = 0;
  virtual Result<std::vector<std::vector<int64_t>>>
  outputShapes(std::span<const bp_tensor_t> inputs) const = 0;
  virtual Result<std::vector<std::vector<int64_t>>>
  outputBounds(std::span<const bp_tensor_t> inputs) const = 0;
  /// Starts a call. A caller that is going to wait at once says so: the work
  /// may then be done on its thread.
  virtual Result<std::unique_ptr<AnyCall>> begin(const CallTensors &tensors,
                                                 bool callerWaits) = 0;
  virtual const Signature &signature() const = 0;
  /// The memory of values that calls use in place; null when they use none.
  virtual ValueMemory *values() { return nullptr; }
  /// Time that the latest finished call took on a device of another process,
  /// without what travelled; 0: the session is not remote.
  virtual double remoteMilliseconds() const { return 0; }
  /// The trace that is on; null when none is.
  virtual Trace *trace() const { return nullptr; }

protected:
  AnySession() = default;

  /// Lines of the explanation: which registered kernels run.
  std::string kernels_;

private:
  std::string choice_, explanation_;
};

} // namespace backplane::rt

#endif // BACKPLANE_RUNTIME_ANYSESSION_H
