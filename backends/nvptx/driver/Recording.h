// SPDX-License-Identifier: Apache-2.0
//
// Recording.h: commands on a stream: error words, scratch, the event at their
// end, marks of time; and the graph of commands that are held back or run
// again.
#ifndef BACKPLANE_CUDA_RECORDING_H
#define BACKPLANE_CUDA_RECORDING_H

#include "Executable.h"
#include "Timing.h"

namespace backplane::cuda {

using gpu::Commands;

class Recording final : public gpu::Recording {
public:
  explicit Recording(Device &device) : device_(device), timing_(device) {}
  ~Recording() override;

  /// Puts the commands into the stream. After a failure some may have been.
  /// `error`: where a registered kernel says why it refused.
  CUresult play(CUstream stream, Commands commands, bool timed,
                bp_error_t *error);
  /// Makes a graph of the commands, for `launch`. `stream` runs nothing.
  /// `bound`: the buffers that differ from run to run.
  CUresult capture(CUstream stream, Commands commands,
                   std::span<const uint64_t> bound, bp_error_t *error);
  /// What a registered kernel refused the last commands with, or OK.
  bp_status_t refusal() const { return refusal_; }
  /// Clears the error words before the graph runs again.
  void rewind() { std::fill_n(errors_, ops_.size(), 0u); }
  CUgraphExec graph() const { return graph_; }
  /// Puts the graph into the stream. Needs no memory of the driver.
  CUresult launch(CUstream stream);
  /// Behind the last command.
  CUevent done() const { return done_; }

  gpu::Outcome wait() override;
  void readTimes(bp_timestamp_t *times) const override;

protected:
  uint32_t errorWord(size_t dispatch) const override {
    return const_cast<const volatile uint32_t *>(errors_)[dispatch];
  }

private:
  CUresult prepare(Commands commands);
  CUresult prepareErrors(size_t count);
  CUresult prepareScratch(uint64_t bytes);
  CUresult play(CUstream stream, const bp_header_t *command);
  void dropGraph();
  CUresult dispatch(CUstream stream, const bp_command_dispatch_t &dispatch);
  CUresult encodeTensors(const bp_command_dispatch_t &dispatch,
                         std::span<const CUdeviceptr> bindings,
                         std::span<CUtensorMap> out);
  CUresult launch(CUstream stream, const bp_command_dispatch_t &dispatch,
                  std::span<CUdeviceptr> bindings);
  CUresult call(CUstream stream, const bp_command_dispatch_t &dispatch,
                std::span<const CUdeviceptr> bindings);
  CUresult copy(CUstream stream, const bp_command_copy_t &copy) const;
  CUresult fill(CUstream stream, const bp_command_fill_t &fill) const;

  Device &device_;
  CUevent done_ = nullptr;
  CUgraphExec graph_ = nullptr;
  /// Words of the host that kernels see.
  uint32_t *errors_ = nullptr;
  CUdeviceptr errorsOnDevice_ = 0;
  size_t maxErrors_ = 0;
  CUdeviceptr scratch_ = 0;
  uint64_t scratchBytes_ = 0;
  Timing timing_;
  bp_error_t *error_ = nullptr; ///< of the commands that are being recorded
  bp_status_t refusal_ = BP_STATUS_OK;
};

} // namespace backplane::cuda

#endif // BACKPLANE_CUDA_RECORDING_H
