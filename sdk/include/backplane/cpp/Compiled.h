// SPDX-License-Identifier: Apache-2.0
//
// Compiled.h: what a compiler makes of a dispatch, or a kernel's body, as
// values that own what they hold; at the edge they become a bp_compiled_t. Part
// of Compiler.h.
#ifndef BACKPLANE_CPP_COMPILED_H
#define BACKPLANE_CPP_COMPILED_H

#include "backplane/compiler.h"
#include "backplane/cpp/Result.h"

#include <array>
#include <cstddef>
#include <deque>
#include <span>
#include <string>
#include <vector>

namespace backplane::plugin {

/// What a binding of a launch is: bp_launch_binding_t.
struct LaunchBinding {
  uint32_t binding; ///< number in the dispatch, or BP_LAUNCH_
  std::string offset = {}, length = {}; ///< bytes, expressions
};

/// One launch with its entry: bp_launch_t and bp_entry_t. Sizes are expressions
/// over the dispatch's symbols.
struct Launch {
  std::string name;            ///< of the entry
  std::vector<uint8_t> access; ///< BP_ACCESS_ bits, one for each binding
  std::array<std::string, 3> grid = {"1", "1", "1"};
  uint32_t constants = 0; ///< as many as the dispatch has symbols, or none
  std::vector<std::string> parameters = {};
  std::vector<LaunchBinding> bindings = {}; ///< none: those of the dispatch
  std::string sharedBytes = {};
  std::array<uint32_t, 3> workgroup = {1, 1, 1};
  std::array<uint32_t, 3> cluster = {};
  uint32_t subgroupSize = 0;
  uint64_t workspaceBytes = 0; ///< per worker
  std::vector<std::byte> driverData = {};
};

/// A compiled dispatch: bp_compiled_t.
struct Compiled {
  std::vector<std::byte> blob = {}; ///< in the target's format
  std::vector<Launch> launches = {};
  std::string scratchBytes = {};
  std::vector<Launch> initLaunches = {}; ///< once for each session
  uint64_t persistentBytes = 0;
};

/// The bytes of an object without pointers, for a blob or driver data.
template <typename T> std::vector<std::byte> bytesOf(const T &object) {
  auto bytes = std::as_bytes(std::span(&object, 1));
  return {bytes.begin(), bytes.end()};
}

/// The structs of the C ABI that refer to a Compiled, which outlives them.
class CompiledStructs {
public:
  explicit CompiledStructs(const Compiled &from) {
    c_.header = BP_HEADER(bp_compiled_t);
    c_.blob = {from.blob.data(), from.blob.size()};
    add(from.launches, launches_);
    add(from.initLaunches, initLaunches_);
    c_.launches = launches_.data();
    c_.launch_count = launches_.size();
    c_.init_launches = initLaunches_.data();
    c_.init_launch_count = initLaunches_.size();
    c_.scratch_bytes = toC(from.scratchBytes);
    c_.persistent_bytes = from.persistentBytes;
  }
  CompiledStructs(const CompiledStructs &) = delete;
  CompiledStructs &operator=(const CompiledStructs &) = delete;

  const bp_compiled_t &c() const { return c_; }

private:
  struct Part {
    bp_entry_t entry = {};
    bp_launch_t launch = {};
    std::vector<bp_string_t> parameters;
    std::vector<bp_launch_binding_t> bindings;
  };

  static void fillEntry(const Launch &from, bp_entry_t &entry) {
    entry.header = BP_HEADER(bp_entry_t);
    entry.name = toC(from.name);
    entry.binding_access = from.access.data();
    entry.binding_count = uint32_t(from.access.size());
    entry.constant_count = from.constants;
    entry.subgroup_size = from.subgroupSize;
    entry.workspace_bytes = from.workspaceBytes;
    entry.driver_data = {from.driverData.data(), from.driverData.size()};
    entry.parameter_count = uint32_t(from.parameters.size());
    for (size_t i = 0; i < 3; ++i)
      entry.workgroup_size[i] = from.workgroup[i];
  }

  void add(const std::vector<Launch> &all,
           std::vector<const bp_launch_t *> &out) {
    for (const Launch &from : all) {
      Part &part = parts_.emplace_back();
      fillEntry(from, part.entry);
      for (const std::string &parameter : from.parameters)
        part.parameters.push_back(toC(parameter));
      for (const LaunchBinding &one : from.bindings)
        part.bindings.push_back(
            {one.binding, 0, toC(one.offset), toC(one.length)});
      part.launch.header = BP_HEADER(bp_launch_t);
      part.launch.entry = &part.entry;
      part.launch.shared_bytes = toC(from.sharedBytes);
      part.launch.parameters = part.parameters.data();
      part.launch.bindings =
          part.bindings.empty() ? nullptr : part.bindings.data();
      for (size_t i = 0; i < 3; ++i) {
        part.launch.grid[i] = toC(from.grid[i]);
        part.launch.cluster[i] = from.cluster[i];
      }
      out.push_back(&part.launch);
    }
  }

  std::deque<Part> parts_; // which stay where they are
  std::vector<const bp_launch_t *> launches_, initLaunches_;
  bp_compiled_t c_ = {};
};

} // namespace backplane::plugin

#endif // BACKPLANE_CPP_COMPILED_H
