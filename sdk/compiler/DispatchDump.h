// SPDX-License-Identifier: Apache-2.0
//
// DispatchDump.h: what `compile` and `partition` of a plug-in were called with,
// in files, and the same call again. Free of MLIR.
//
// A call is a folder: `graph.bpg`, the wire graph; `call.txt`, a word and its
// value a line; `weight-N.bin`, the values of input N, dense. docs/howto/
// debug-a-compiler.md has the words.
#ifndef BACKPLANE_COMPILER_DISPATCHDUMP_H
#define BACKPLANE_COMPILER_DISPATCHDUMP_H

#include "hal/core/CompilerPlugin.h"
#include "sdk/compiler/WeightInputs.h"
#include "sdk/support/Bytes.h"

namespace backplane {

/// A call of a plug-in's compiler.
struct DispatchCall {
  bool isPartition = false; ///< else `compile`
  std::string target, entry;
  Bytes graph;
  std::vector<uint8_t> refused; ///< of `partition`: a byte for each op
};

/// Writes calls to folders under one, numbered in the order of this process.
class DispatchDump {
public:
  explicit DispatchDump(std::string folder) : folder_(std::move(folder)) {}
  /// Under the folder of BACKPLANE_DUMP_DISPATCHES; without it none is written.
  static DispatchDump fromEnvironment();
  bool isOn() const { return !folder_.empty(); }
  /// Writes a call that is about to be made, so that it is there when the
  /// plug-in crashes; `weights` are the inputs of a dispatch. Gives its folder,
  /// empty when nothing is written.
  Result<std::string> write(const DispatchCall &call,
                            const WeightInputs &weights) const;
  /// Adds what the call gave.
  static void note(const std::string &folder, const Status &outcome);

private:
  std::string folder_;
};

/// A call from its folder. `pool` gets the weights.
Result<DispatchCall> readDispatch(const std::string &folder, WeightPool &pool,
                                  WeightInputs &weights);

/// Calls the plug-in with that again. Gives what came of it, in lines.
std::string replayDispatch(const CompilerPlugin &plugin,
                           const bp_graph_table_t *table,
                           const DispatchCall &call,
                           const WeightInputs &weights);

} // namespace backplane

#endif // BACKPLANE_COMPILER_DISPATCHDUMP_H
