// SPDX-License-Identifier: Apache-2.0
//
// Mutant.h: backends that are broken on purpose, to show that the suite finds
// each of them, and variants that are right, to show that it raises no alarm.
//
// A mutant is the reference backend with one thing changed. Dispatches run op
// by op, each with concrete operands and results: what a mutant does not change
// itself, the reference backend computes.
#ifndef BACKPLANE_CONFORMANCE_MUTANTS_MUTANT_H
#define BACKPLANE_CONFORMANCE_MUTANTS_MUTANT_H

#include "backplane/compiler.h"
#include "backplane/hal.h"
#include "conformance/compare/SelfCheck.h"
#include "conformance/oracle/Value.h"

#include <deque>

namespace backplane::mutants {

using conformance::Real;
using conformance::Sizes;
using conformance::Tensor;

/// What a device keeps between dispatches, for mutants that remember too much.
struct Memory {
  uint64_t dispatches = 0;  ///< that the process has run so far
  uint64_t executables = 0; ///< that are loaded
  std::map<std::string, std::vector<Tensor>> results; ///< by any key
  uint64_t seed = 0; ///< what thresholds are drawn from, one for each hunt
};

/// One op while it runs.
struct Call {
  const Graph &graph; ///< that has the op
  const Op &op;
  size_t index; ///< of the op in the graph
  std::vector<const Tensor *> operands;
  /// Have dtype and dims. Those that are outputs of the dispatch hold what its
  /// memory held before.
  std::vector<Tensor *> results;
  Memory &memory;
  /// Lets the reference backend compute the op from `operands`. False when it
  /// reported bad data; the results are there all the same.
  std::function<bool(const Call &)> reference;
  /// Of the whole dispatch: its bindings.
  const bp_command_dispatch_t &command;
  size_t place = 0; ///< of the dispatch in its submission

  const Tensor &in(size_t i) const { return *operands[i]; }
  Tensor &out() const { return *results[0]; }
  bool is(std::string_view name) const { return op.name == name; }
  bool run() const { return reference(*this); }
  /// As run, with another tensor as operand i.
  bool runWith(size_t i, const Tensor &operand) const;
};

/// What is changed about the driver's side of the plug-in.
enum class Fault {
  None,
  FenceEarly,       ///< completes before the last command has run
  CopyNoOffset,     ///< copies from and to the start of the buffers
  Offset32,         ///< offsets of the host's reads and writes lose high bits
  LeakOnError,      ///< keeps memory when a call fails
  OomCrash,         ///< uses the memory that it did not get
  StructOverrun,    ///< writes a whole struct whatever size it was given
  FillOneByte,      ///< repeats the first byte of every pattern
  LoadAnything,     ///< loads damaged blobs, runs nothing
  BadStatusDropped, ///< completes with success whatever happened
  CompletesTwice,   ///< calls the completion a second time
  LoseEmptySubmit,  ///< never completes work that has no commands
};

/// When the plug-in changes the process of its host.
enum class Moment { Never, Load, Initialize, Execute, Pool };

/// The part of mutants.toml that a mutant belongs to.
enum class Family {
  Indexing,
  Numerics,
  Semantics,
  Compiler,
  Runtime,
  Cheating,
  Comparator, ///< not a backend: the suite's own comparator
  Regression, ///< faults that real code of this project had
  Legal       ///< right; must raise no alarm
};
std::string_view name(Family family);

/// What a legal variant declares in place of the reference's numerics.
struct Declares {
  bool changed = false;
  uint32_t dotBits = 53;
  uint32_t rounding = BP_ROUNDING_NEAREST;
  uint32_t flags = BP_NUMERICS_DETERMINISTIC;
};

struct Mutant {
  // The keys of mutants.toml, which says what they mean, and what else it
  // takes.
  int number = 0;
  Family family = Family::Indexing;
  std::string_view title, description;
  std::vector<std::string_view> tags, ops;
  /// Computes one op; false: it did nothing, the reference shall. Null: nothing
  /// is changed about single ops.
  bool (*run)(const Call &call) = nullptr;
  std::vector<std::string_view> composites = {};
  Fault fault = Fault::None;
  Moment moment = Moment::Never; ///< when `touch` is called
  void (*touch)() = nullptr;     ///< changes the process
  /// Of Compiler: rewrites the whole graph before it is compiled.
  Result<Graph> (*compiler)(const Graph &graph) = nullptr;
  /// Of Comparator.
  conformance::Weakness weakness = {};
  Declares declares = {};
  bool fuses = false;
  std::string_view equivalent = {};
  size_t kills = 2;

  std::string id() const; ///< "m13", "legal1"
};

/// All of them, in the order of mutants.toml.
const std::vector<Mutant> &allMutants();
const Mutant *findMutant(std::string_view id);

/// What mutants are made of beside their rows in mutants.toml, by their
/// numbers.
template <typename T> using ByNumber = std::vector<std::pair<int, T>>;
using Run = bool (*)(const Call &call);
using Runs = ByNumber<Run>;
using Rewrite = Result<Graph> (*)(const Graph &graph);

Runs indexingMutants();
Runs numericsMutants();
Runs functionMutants();
Runs precisionMutants();
Runs semanticsMutants();
Runs runtimeMutants();
Runs cheatingMutants();
Runs sizeCheats();
Runs coarseCheats();
Runs stateCheats();
Runs valueCheats();
Runs attributeCheats();
Runs elementCheats();
Runs placeCheats();
Runs patternCheats();
Runs jointCheats();
Runs situationCheats();
Runs dataCheats();
Runs regressionMutants();
Runs legalRuns();
ByNumber<Declares> legalDeclarations();
ByNumber<Rewrite> compilerMutants();
ByNumber<void (*)()> processMutants();
ByNumber<conformance::Weakness> comparatorMutants();

// ---- what mutants are written with ----

/// Element i as a number.
Real numberAt(const Tensor &tensor, size_t i);
/// Rounds to nearest (floats) or wraps (integers).
void setNumber(Tensor &tensor, size_t i, Real value);
int64_t integerAt(const Tensor &tensor, size_t i);
void setInteger(Tensor &tensor, size_t i, int64_t value);
/// Bits of the nearest value that is not larger in magnitude.
uint64_t encodeTowardsZero(DType dtype, Real value);
/// `value` rounded to a dtype and back.
Real rounded(DType dtype, Real value);

/// Rebuilds a graph op by op. `change` returns the values that replace the
/// results of an op, or nothing to keep the op as it is.
using Change = std::function<std::optional<std::vector<ValueId>>(
    Graph &to, const Op &op, const std::vector<ValueId> &operands)>;
Result<Graph> rebuild(const Graph &from, const Change &change);

} // namespace backplane::mutants

#endif // BACKPLANE_CONFORMANCE_MUTANTS_MUTANT_H
