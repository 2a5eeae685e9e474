// SPDX-License-Identifier: Apache-2.0
//
// Case.h: units and cases.
//
// A unit is one graph, compiled once; its cases run that graph with different
// sizes (through symbols), data sets and seeds. Everything is a pure function
// of names and numbers: the same id gives the same bytes on every machine.
#ifndef BACKPLANE_CONFORMANCE_CASES_CASE_H
#define BACKPLANE_CONFORMANCE_CASES_CASE_H

#include "conformance/oracle/Oracle.h"
#include "sdk/graph/Model.h"

#include <memory>

namespace backplane::conformance {

enum class Depth { Smoke, Standard, Full };

struct Unit;

/// How the outputs of a case are judged (Judge.h).
enum class Method {
  Oracle,   ///< every element against the oracle at the sizes of the case
  Repeats,  ///< every element against the oracle at smaller sizes (Repeats.h)
  Products, ///< by random linear combinations of exact products (Freivalds.h)
};

struct Case {
  /// "LAYER/OP/DTYPE/UNIT/DATA-SIZES": unique, stable between releases.
  std::string id;
  SymbolValues symbols;
  std::string dataSet; ///< a name of Data.h
  uint64_t seed = 0;
  Depth depth = Depth::Full; ///< the least depth that has it
  Method method = Method::Oracle;
};

/// How the values of one input are chosen, whatever the data set.
struct InputRule {
  enum class Kind {
    Values,   ///< as the data set says
    Index,    ///< integers in [0, bound)
    Divisor,  ///< as Values; an integer is never 0
    Positive, ///< as Values, without the sign
    Range,    ///< as Values; random numbers lie in [low, high]
    Within,   ///< random numbers in [low, high], whatever the data set
  };
  Kind kind = Kind::Values;
  Dim bound;                 ///< of Index
  double low = -1, high = 1; ///< of Range and Within
  /// Bit i: axis i is summed over with another operand's. "one-hot" sets one
  /// element along these axes, "integers" keeps the sum of `terms` products
  /// exact.
  uint32_t contracted = 0;
  /// Number of products or addends that sums run over; 0: no sums.
  Dim terms;
};

/// What is around the cases of a unit while they run (Circumstances.h).
enum class Circumstance {
  Usual,        ///< a worker that runs one case after another
  Application,  ///< a process like that of any application
  LaterRuns,    ///< the first and many later runs of one executable
  ManyRuns,     ///< after 20,000 dispatches of the process
  Overlap,      ///< calls of two sessions at once, from one thread
  Threads,      ///< the same from several threads
  Sessions,     ///< sessions of one artifact that come and go
  OneThread,    ///< a pool without workers
  SevenThreads, ///< a pool of another size
  LittleMemory, ///< while the process gets hardly any more memory
  Surroundings, ///< another folder, locale, environment, many files
  LongUptime,   ///< in a process that is more than 100 s old
};

/// Inputs of a case that are stored and not made.
struct Given {
  std::vector<Tensor> inputs;
  /// Stored answers; none: the oracle is asked. Their limits are those of sums
  /// of f32 in 24 bits.
  std::vector<Expected> expected;
};

/// What a unit at sizes that models have is judged by.
struct Large {
  /// The unit's graph with a symbol for every size that may vary, and an input
  /// for every operand; cases have values for all of its symbols.
  Graph model;
  /// Symbols of axes whose slices are computed each on its own: slice i of the
  /// outputs depends on slice i of the inputs alone.
  std::vector<std::string> repeated;
  /// Inputs of the model that are weights when the unit is compiled.
  std::vector<size_t> weights;
};

struct Unit {
  std::string id; ///< "L3/softmax/f32/axis1": prefix of its cases' ids
  int layer = 3;
  std::string op; ///< the op under test, for the tables of the report
  DType dtype = DType::Invalid; ///< likewise
  /// All dtypes that a target must compute with to be asked.
  std::vector<DType> dtypes;
  /// Other dtypes that it must be able to hold and move.
  std::vector<DType> stored;
  /// The kinds of fault that its cases find: names of Tags.h.
  std::vector<std::string> tags;
  Graph graph;
  WeightPool weights;           ///< of the graph's weight ops, most often none
  std::vector<InputRule> rules; ///< one per input of the graph
  std::vector<Case> cases;
  /// By data set: what is not made. The symbols of such cases are not given.
  std::map<std::string, Given> given;
  Depth depth = Depth::Full; ///< the least depth of its cases
  Circumstance circumstance = Circumstance::Usual;
  /// The layer whose rules judge it; 0: its own.
  int judgedAs = 0;
  /// Its cases are checks of a plug-in (conformance/plugin), by id. The graph,
  /// when it has outputs, is compiled for them; the oracle has no part in it.
  bool check = false;
  /// "SET.NAME" of the registered kernel that computes the graph; empty: code
  /// is generated.
  std::string kernel;
  /// Registered kernels may compute parts of the graph, as in an application.
  bool takesKernels = false;
  /// Of units at sizes that models have. `rules` are those of the model's
  /// inputs.
  std::shared_ptr<const Large> large;
};

/// What is stored for a case; null: its data are made.
const Given *givenFor(const Unit &unit, const Case &testCase);

/// The inputs of a case, in the order of the graph's inputs; of a large unit
/// those of its model.
std::vector<Tensor> inputsOf(const Unit &unit, const Case &testCase);

/// What to generate.
struct Selection {
  Depth depth = Depth::Standard;
  uint64_t seed = 0; ///< mixed into the seed of every random case
  /// The most multiply-adds of one case; 0: as many as the depth has (Sizes.h).
  uint64_t budget = 0;
  /// Bytes of the largest buffer that the device has; 0: any.
  uint64_t bufferBytes = 0;
};

} // namespace backplane::conformance

#endif // BACKPLANE_CONFORMANCE_CASES_CASE_H
