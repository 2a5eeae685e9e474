// SPDX-License-Identifier: Apache-2.0
//
// Recording.h: what belongs to one run of commands on a stream: error words,
// scratch, the event at its end, marks of time; and the graph of commands that
// are held back.
#ifndef BACKPLANE_CUDA_RECORDING_H
#define BACKPLANE_CUDA_RECORDING_H

#include "Executable.h"
#include "Timing.h"

#include <list>
#include <optional>
#include <span>

namespace backplane::cuda {

using Commands = std::span<const bp_header_t *const>;

/// Used by one run at a time.
class Recording {
public:
  explicit Recording(bp_device_t &device) : device_(device), timing_(device) {}
  ~Recording();
  Recording(const Recording &) = delete;
  Recording &operator=(const Recording &) = delete;

  /// The type of the first command that the driver does not know, if any.
  static std::optional<uint32_t> unknownCommand(Commands commands);
  /// Puts the commands into the stream. After a failure some may have been.
  CUresult play(CUstream stream, Commands commands, bool timed);
  /// Makes a graph of the commands, for `launch`. `stream` runs nothing.
  /// `bound`: where the buffers are that differ from run to run.
  CUresult capture(CUstream stream, Commands commands,
                   std::span<const CUdeviceptr> bound = {});
  /// Whether the graph is one with these buffers.
  bool holds(std::span<const CUdeviceptr> bound) const;
  /// Clears the error words before the graph runs again.
  void rewind() { std::fill_n(errors_, ops_.size(), 0u); }
  CUgraphExec graph() const { return graph_; }
  /// Puts the graph into the stream. Needs no memory of the driver.
  CUresult launch(CUstream stream);
  /// Behind the last command.
  CUevent done() const { return done_; }
  /// Blocks until the device is done.
  CUresult wait() const;

  /// The first error word that was set by the run.
  struct KernelError {
    uint32_t word; ///< 0: none
    uint32_t op;   ///< of the dispatch
  };
  KernelError firstError() const;
  /// When each command ran; nothing is written for those that were not timed.
  void readTimes(bp_timestamp_t *times) const;

private:
  CUresult prepare(Commands commands);
  CUresult prepareErrors(size_t count);
  CUresult prepareScratch(uint64_t bytes);
  CUresult play(CUstream stream, const bp_header_t *command);
  void dropGraph();
  CUresult dispatch(CUstream stream, const bp_command_dispatch_t &dispatch);
  CUresult copy(CUstream stream, const bp_command_copy_t &copy) const;
  CUresult fill(CUstream stream, const bp_command_fill_t &fill) const;

  bp_device_t &device_;
  CUevent done_ = nullptr;
  CUgraphExec graph_ = nullptr;
  std::vector<CUdeviceptr> bound_; ///< what the graph was captured with
  /// Words of the host that kernels see.
  uint32_t *errors_ = nullptr;
  CUdeviceptr errorsOnDevice_ = 0;
  size_t maxErrors_ = 0;
  CUdeviceptr scratch_ = 0;
  uint64_t scratchBytes_ = 0;
  std::vector<uint32_t> ops_; ///< of the dispatches, in order
  Timing timing_;
  std::vector<uint32_t> timed_; ///< commands between pairs of marks
};

/// Recordings of one owner. Guarded by the device.
struct RecordingPool {
  using Place = std::list<Recording>::iterator;
  std::list<Recording> idle, used;

  /// One for a run; `fresh` is used up where none is idle.
  Place take(std::list<Recording> &fresh);
  /// The same, best one that holds these buffers. Two are kept, for those who
  /// run with two sets of buffers in turn.
  Place take(std::list<Recording> &fresh, std::span<const CUdeviceptr> bound);
  void putBack(Place recording) { idle.splice(idle.begin(), used, recording); }
};

} // namespace backplane::cuda

#endif // BACKPLANE_CUDA_RECORDING_H
