// SPDX-License-Identifier: Apache-2.0
//
// Compiled.h: a compiled model on a fixture: its blobs as a driver loads them,
// and its commands over memory that a check has laid out.
#ifndef BACKPLANE_CONFORMANCE_PLUGIN_COMPILED_H
#define BACKPLANE_CONFORMANCE_PLUGIN_COMPILED_H

#include "Work.h"
#include "hal/core/Executable.h"
#include "sdk/graph/Dim.h"
#include "sdk/package/Artifact.h"

#include <map>

namespace backplane::checks {

/// What executable_load takes.
struct Blob {
  std::string format;
  Bytes bytes;
  std::vector<Entry> entries;
};

/// The variant of an artifact that the device of a fixture runs.
class Compiled {
public:
  /// Of the trial's tested; complains when no variant fits. Empty while the
  /// fixture has no device.
  explicit Compiled(Fixture &fixture);
  Compiled &operator=(Compiled &&) = default;

  struct Port {
    std::string name;
    DType dtype;
    std::vector<Dim> dims;
    uint64_t bytes(const SymbolValues &symbols) const;
  };
  const std::vector<Port> &inputs() const { return inputs_; }
  const std::vector<Port> &outputs() const { return outputs_; }
  const std::vector<std::string> &symbols() const { return symbols_; }
  const std::vector<Blob> &blobs() const { return blobs_; }
  const VariantInfo &variant() const { return *variant_; }
  std::span<const uint8_t> weight(uint32_t index) const;
  bool good() const { return variant_; }

private:
  void read(Fixture &fixture);
  void readPorts();
  void readBlobs();

  std::shared_ptr<ArtifactFile> file_;
  const VariantInfo *variant_ = nullptr;
  std::vector<Port> inputs_, outputs_;
  std::vector<std::string> symbols_;
  std::vector<Blob> blobs_;
};

/// A loaded blob.
class Executable {
public:
  Executable(Fixture &fixture, const Blob &blob);
  ~Executable();
  Executable(const Executable &) = delete;
  Executable &operator=(const Executable &) = delete;

  bp_executable_t *handle() const { return handle_; }
  /// Loads `bytes` in place of the blob's own; unloads them at once. A failure
  /// is given, not complained about.
  static Status attempt(Fixture &fixture, const Blob &blob,
                        std::span<const uint8_t> bytes);

private:
  Fixture &fixture_;
  bp_executable_t *handle_ = nullptr;
  bool exists_ = false;
};

/// Where the inputs and outputs of a call lie, and what they hold.
struct Layout {
  uint64_t before = 0;    ///< of each port, in units of binding_alignment
  uint64_t after = 0;     ///< bytes after each port
  bool oneBuffer = false; ///< all ports share one
  uint8_t fill = 0xE1;    ///< of gaps
  int64_t badIndex = -1;  ///< takes the place of one index, -1: none
};

/// Memory and commands of a compiled model for one tuple of sizes.
class Call {
public:
  Call(Fixture &fixture, const Compiled &compiled,
       const std::vector<std::unique_ptr<Executable>> &executables,
       const SymbolValues &symbols, uint64_t seed, const Layout &layout = {});

  const Commands &commands() const { return commands_; }
  /// Contents of all outputs, one after another.
  Bytes outputs();
  /// Complains when inputs or gaps changed.
  void expectRestIntact();

private:
  void placePorts(uint64_t seed);
  void place(const Compiled::Port &port, const Bytes &data, uint64_t start);
  Bytes dataOf(const Compiled::Port &port, uint64_t seed) const;
  Range rangeOf(const Slot &slot);
  Range make(uint64_t bytes);
  uint64_t number(const Dim &dim);
  void add(const Program &program, Commands &commands);
  Dispatch dispatchOf(const program::Dispatch &from, uint32_t op,
                      const std::vector<Range> &slots);
  Range bind(const SlotRange &binding, const std::vector<Range> &slots);
  void runInit();

  Fixture &fixture_;
  const Compiled &compiled_;
  const std::vector<std::unique_ptr<Executable>> &executables_;
  SymbolValues symbols_;
  Layout layout_;
  Bytes held_; ///< by the outputs before the call, one after another
  std::deque<Buffer> buffers_;
  std::vector<Range> ports_; ///< inputs, then outputs
  std::map<uint32_t, Range> constants_, weights_;
  Commands commands_;
};

/// A fixture with a loaded model; what most checks of layer 2 start with.
struct ModelFixture {
  explicit ModelFixture(Trial &trial, const HostPlan &plan = {});
  /// Nothing is started before load.
  ModelFixture(Trial &trial, Fixture::Mode mode) : fixture(trial, {}, mode) {}
  /// Loads the model and makes a queue.
  void load();
  bool good() const { return fixture.good() && compiled.good(); }
  /// Sizes for symbol values; `scale` 0, 1, 2, … makes them differ.
  SymbolValues sizes(unsigned scale = 1) const;
  /// Runs a call and returns its outputs.
  Bytes run(uint64_t seed, const Layout &layout = {}, How how = How::Execute,
            unsigned scale = 1);
  /// The same inputs elsewhere, or by another way, give the same bits.
  void expectSame(const Bytes &found, const Bytes &expected,
                  const std::string &what);

  Fixture fixture;
  Compiled compiled{fixture};
  std::vector<std::unique_ptr<Executable>> executables;
  std::unique_ptr<Queue> queue;
};

} // namespace backplane::checks

#endif // BACKPLANE_CONFORMANCE_PLUGIN_COMPILED_H
