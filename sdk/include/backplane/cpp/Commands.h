// SPDX-License-Identifier: Apache-2.0
//
// Commands.h: the work of a queue as C++ sees it: a list of commands with typed
// views, and the completion that is called when they are done. Part of
// Driver.h.
#ifndef BACKPLANE_CPP_COMMANDS_H
#define BACKPLANE_CPP_COMMANDS_H

#include "backplane/cpp/Result.h"
#include "backplane/kernel.h"

#include <span>
#include <string>
#include <utility>

namespace backplane::plugin {

/// Commands of one call, valid for the call only.
using Commands = std::span<const bp_header_t *const>;

/// Tells the host that work is done. Called exactly once, from any thread; a
/// copy is the same completion.
class Completion {
public:
  explicit Completion(const bp_completion_t &completion)
      : completion_(completion) {}
  void done(const Status &status = {}) const {
    completion_.done(completion_.context, status.code(), toC(status.message()));
  }

private:
  bp_completion_t completion_;
};

/// A range of a buffer. In recorded commands `buffer` may be null: it is then
/// entry `slot` of the table that the recording runs with.
template <typename Device> struct BufferRange {
  typename Device::Buffer *buffer;
  uint64_t offset, length; ///< bytes
  uint32_t slot;

  explicit BufferRange(const bp_binding_t &binding)
      : buffer(reinterpret_cast<typename Device::Buffer *>(binding.buffer)),
        offset(binding.offset), length(binding.length), slot(binding.slot) {}
};

/// What a kernel has reported in its error word (kernel.h). A driver that needs
/// no memory for it writes "op %u: %s" of these.
struct KernelFailure {
  bp_status_t code;
  uint32_t op;
  const char *what;
};

/// `op` is the dispatch's.
inline KernelFailure kernelFailure(uint32_t errorWord, uint32_t op) {
  const uint32_t named = errorWord & 0xFFFFFFu;
  op = named ? named : op;
  switch (errorWord >> 24) {
  case BP_KERNEL_ERROR_INDEX:
    return {BP_STATUS_OUT_OF_RANGE, op, "an index is out of range"};
  case BP_KERNEL_ERROR_DIVISION:
    return {BP_STATUS_OUT_OF_RANGE, op, "an integer is divided by zero"};
  case BP_KERNEL_ERROR_ITERATIONS:
    return {BP_STATUS_UNIMPLEMENTED, op,
            "the device ends loops as long as these early; make the tensors "
            "smaller or take another device"};
  default:
    return {BP_STATUS_OUT_OF_RANGE, op, "the kernel reports an unknown error"};
  }
}

/// The same as a Status.
inline Status kernelStatus(uint32_t errorWord, uint32_t op) {
  const KernelFailure failure = kernelFailure(errorWord, op);
  return Status(failure.code,
                "op " + std::to_string(failure.op) + ": " + failure.what);
}

/// A launch of an entry of an executable.
template <typename Device> class Dispatch {
public:
  explicit Dispatch(const bp_command_dispatch_t &command) : c_(command) {}

  const bp_command_dispatch_t &c() const { return c_; }
  typename Device::Executable &executable() const {
    return *reinterpret_cast<typename Device::Executable *>(c_.executable);
  }
  uint32_t entry() const { return c_.entry; }
  std::span<const uint32_t, 3> grid() const {
    return std::span<const uint32_t, 3>(c_.grid);
  }
  uint64_t groups() const {
    return uint64_t(c_.grid[0]) * c_.grid[1] * c_.grid[2];
  }
  std::span<const uint32_t> constants() const {
    return {c_.constants, c_.constant_count};
  }
  /// Empty from a host that has none.
  std::span<const int64_t> parameters() const {
    if (!BP_HAS(&c_, bp_command_dispatch_t, parameter_count))
      return {};
    return {c_.parameters, c_.parameter_count};
  }
  uint64_t bindings() const { return c_.binding_count; }
  BufferRange<Device> binding(uint64_t index) const {
    return BufferRange<Device>(c_.bindings[index]);
  }
  /// The failure of a kernel that has set the error word (kernel.h).
  Status badData(uint32_t errorWord) const {
    return kernelStatus(errorWord, c_.op);
  }

private:
  const bp_command_dispatch_t &c_;
};

/// A copy of source.length bytes.
template <typename Device> struct Copy {
  BufferRange<Device> source, target;
};

/// target.length bytes, each patternSize of them the low bytes of `pattern`.
template <typename Device> struct Fill {
  BufferRange<Device> target;
  uint32_t pattern, patternSize;
};

/// Later commands see what earlier ones wrote.
struct Barrier {};

/// Calls `take` with one command, as a Dispatch, Copy, Fill or Barrier; it
/// gives a Status for each. A type that is not known is
/// BP_STATUS_UNIMPLEMENTED.
template <typename Device, typename Take>
Status visitCommand(const bp_header_t *command, Take &&take) {
  switch (command->type) {
  case bp_command_dispatch_t_TYPE:
    return take(Dispatch<Device>(
        *reinterpret_cast<const bp_command_dispatch_t *>(command)));
  case bp_command_copy_t_TYPE: {
    const auto &copy = *reinterpret_cast<const bp_command_copy_t *>(command);
    return take(Copy<Device>{BufferRange<Device>(copy.source),
                             BufferRange<Device>(copy.target)});
  }
  case bp_command_fill_t_TYPE: {
    const auto &fill = *reinterpret_cast<const bp_command_fill_t *>(command);
    return take(Fill<Device>{BufferRange<Device>(fill.target), fill.pattern,
                             fill.pattern_size});
  }
  case bp_command_barrier_t_TYPE:
    return take(Barrier());
  default:
    return unimplemented("the driver has no command of type " +
                         std::to_string(command->type));
  }
}

/// Calls `take` with each command until one fails; gives that failure.
template <typename Device, typename Take>
Status visitCommands(Commands commands, Take &&take) {
  for (const bp_header_t *command : commands)
    if (Status status = visitCommand<Device>(command, take); !status.ok())
      return status;
  return {};
}

/// One function object of several: Overloaded{[](const Copy<D> &) {...}, ...}.
template <typename... Functions> struct Overloaded : Functions... {
  using Functions::operator()...;
};
template <typename... Functions>
Overloaded(Functions...) -> Overloaded<Functions...>;

} // namespace backplane::plugin

#endif // BACKPLANE_CPP_COMMANDS_H
