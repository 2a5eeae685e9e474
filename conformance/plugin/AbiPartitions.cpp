// SPDX-License-Identifier: Apache-2.0
//
// AbiPartitions.cpp: the partitions that a compiler asks for, and what it makes
// of them, on small graphs and on odd ones.
#include "CompilerFixture.h"
#include "Groups.h"
#include "PartitionGraphs.h"

#include "hal/core/PartitionCalls.h"
#include "sdk/graph/GraphTable.h"

namespace backplane::checks {
namespace {

using Answers = std::vector<PartitionAnswer>;

/// A compiler with partitions.
class CompilerUnderTest {
public:
  explicit CompilerUnderTest(Trial &trial) : compiler_(trial) {
    if (!compiler_.good())
      return;
    if (compiler_.table().partition)
      targets_ = compiler_.targets();
    else
      trial.skip("the compiler has no function partition");
  }

  const std::vector<std::string> &targets() const { return targets_; }
  /// None: it has none for this graph.
  Result<Answers> ask(const std::string &target, const Graph &graph,
                      const std::vector<uint8_t> &refused) const {
    const Opened opened(graph);
    auto answers = callPartition(compiler_.plugin(), target, opened.get(),
                                 graphTable(), refused);
    if (!answers)
      return answers.status();
    return *answers ? std::move(**answers) : Answers();
  }
  /// The bytes of what it compiles a dispatch to; none: it does not do it.
  Result<std::optional<Bytes>> compile(const std::string &target,
                                       const Dispatch &dispatch,
                                       const bp_weight_reader_t &reader) const {
    const Opened opened(dispatch.graph);
    bp_compile_request_t request = {BP_HEADER(bp_compile_request_t)};
    request.target = toC(target);
    request.graph = opened.get();
    request.graph_table = graphTable();
    request.entry_name = toC("partition_0");
    request.weights = &reader;
    Bytes blob;
    Status status = callCompile(
        compiler_.plugin(), request, [&](const bp_compiled_t &made) {
          const auto *bytes = static_cast<const uint8_t *>(made.blob.data);
          blob.assign(bytes, bytes + made.blob.size);
          return Status();
        });
    if (status.code() == BP_STATUS_UNIMPLEMENTED)
      return std::optional<Bytes>();
    return status.ok() ? Result<std::optional<Bytes>>(std::move(blob)) : status;
  }
  bool compiles() const { return compiler_.table().compile; }

private:
  /// A graph as the plug-in sees it.
  class Opened {
  public:
    explicit Opened(const Graph &graph) : graph_(wrapGraph(graph)) {}
    ~Opened() { graphTable()->graph_close(graph_); }
    Opened(const Opened &) = delete;
    Opened &operator=(const Opened &) = delete;
    const bp_graph_t *get() const { return graph_; }

  private:
    bp_graph_t *graph_;
  };

  CompilerFixture compiler_;
  std::vector<std::string> targets_;
};

std::vector<uint8_t> none(const Graph &graph) {
  return std::vector<uint8_t>(graph.ops.size(), 0);
}

std::string labelOf(const std::string &target, const OddGraph &odd) {
  return "target " + target + ", graph " + odd.name;
}

/// Calls `look` with each answer that is one.
template <typename Look> void eachAnswer(Trial &trial, Look look) {
  const CompilerUnderTest partitioner(trial);
  for (const std::string &target : partitioner.targets())
    for (const OddGraph &odd : oddGraphs())
      if (trial.ok())
        if (auto answers = partitioner.ask(target, odd.graph, none(odd.graph)))
          look(partitioner, target, odd, *answers);
}

void survives(Trial &trial, const std::string &name) {
  const CompilerUnderTest partitioner(trial);
  for (const std::string &target : partitioner.targets())
    for (const OddGraph &odd : oddGraphs())
      if (odd.name == name)
        trial.expectOk(
            partitioner.ask(target, odd.graph, none(odd.graph)).status(),
            labelOf(target, odd));
}

void disjoint(Trial &trial) {
  eachAnswer(trial, [&](const CompilerUnderTest &, const std::string &target,
                        const OddGraph &odd, const Answers &answers) {
    std::vector<size_t> owner(odd.graph.ops.size(), answers.size());
    for (size_t i = 0; i < answers.size(); ++i)
      for (uint32_t op : answers[i].ops) {
        trial.expect(owner[op] == answers.size(),
                     labelOf(target, odd) + ": op " + std::to_string(op) +
                         " is in partition " + std::to_string(owner[op]) +
                         " and in " + std::to_string(i));
        owner[op] = i;
      }
  });
}

void cycles(Trial &trial) {
  eachAnswer(trial, [&](const CompilerUnderTest &, const std::string &target,
                        const OddGraph &odd, const Answers &answers) {
    for (size_t i = 0; i < answers.size(); ++i)
      if (auto op = pathBack(odd.graph, answers[i].ops))
        trial.fail(labelOf(target, odd) + ": a path leaves partition " +
                   std::to_string(i) + " and comes back through op " +
                   std::to_string(*op) + ", " + odd.graph.ops[*op].name);
  });
}

bool same(const Answers &a, const Answers &b) {
  return std::ranges::equal(a, b, [](const auto &one, const auto &other) {
    return one.ops == other.ops && one.costNs == other.costNs;
  });
}

/// Asked twice, and by a host that starts anew.
void repeats(Trial &trial) {
  const CompilerUnderTest second(trial);
  eachAnswer(trial,
             [&](const CompilerUnderTest &first, const std::string &target,
                 const OddGraph &odd, const Answers &answers) {
               for (const CompilerUnderTest *again : {&first, &second}) {
                 auto other = again->ask(target, odd.graph, none(odd.graph));
                 if (trial.expectOk(other.status(), labelOf(target, odd)))
                   trial.expect(same(answers, *other),
                                labelOf(target, odd) +
                                    ": asked again, it gives other partitions");
               }
             });
}

/// What it gives when all that it asked for was refused keeps the rules too.
void refused(Trial &trial) {
  eachAnswer(trial, [&](const CompilerUnderTest &partitioner,
                        const std::string &target, const OddGraph &odd,
                        const Answers &answers) {
    std::vector<uint8_t> marks = none(odd.graph);
    for (const PartitionAnswer &answer : answers)
      for (uint32_t op : answer.ops)
        marks[op] = 1;
    if (answers.empty())
      return;
    auto others = partitioner.ask(target, odd.graph, marks);
    if (!trial.expectOk(others.status(), labelOf(target, odd)))
      return;
    for (const PartitionAnswer &answer : *others)
      trial.expect(!pathBack(odd.graph, answer.ops),
                   labelOf(target, odd) +
                       ": when it is refused, a path leaves a partition and "
                       "comes back");
  });
}

/// Compiles each partition; `look` gets the reader behind it and the bytes.
template <typename Look> void eachCompiled(Trial &trial, Look look) {
  eachAnswer(trial, [&](const CompilerUnderTest &partitioner,
                        const std::string &target, const OddGraph &odd,
                        const Answers &answers) {
    for (size_t i = 0; partitioner.compiles() && i < answers.size(); ++i) {
      const std::string label =
          labelOf(target, odd) + ", partition " + std::to_string(i);
      auto dispatch = dispatchOf(odd, answers[i].ops);
      if (dispatch)
        look(partitioner, target, label, *dispatch);
    }
  });
}

void weights(Trial &trial) {
  eachCompiled(trial, [&](const CompilerUnderTest &partitioner,
                          const std::string &target, const std::string &label,
                          const Dispatch &dispatch) {
    GuardedWeights reader(dispatch);
    auto made = partitioner.compile(target, dispatch, reader.c());
    trial.expectOk(made.status(), label);
    trial.expect(reader.complaint().empty(), label + ": " + reader.complaint());
  });
}

void compilesTheSame(Trial &trial) {
  eachCompiled(trial, [&](const CompilerUnderTest &partitioner,
                          const std::string &target, const std::string &label,
                          const Dispatch &dispatch) {
    std::optional<Bytes> bytes[2];
    for (std::optional<Bytes> &one : bytes) {
      GuardedWeights reader(dispatch);
      auto made = partitioner.compile(target, dispatch, reader.c());
      if (!trial.expectOk(made.status(), label))
        return;
      one = std::move(*made);
    }
    trial.expect(bytes[0] == bytes[1],
                 label + ": compiled again, it is something else");
  });
}

} // namespace

void addPartitions(Checks &all) {
  Group group(all, "L0/partition",
              "Partitions name ops that there are, each once and for a reason; "
              "they share no op, no path leaves one and comes back, equal "
              "graphs have equal ones, no graph ends the plug-in, and their "
              "compiler reads weights that there are, within their bytes.");
  group.add("disjoint", disjoint);
  group.add("cycles", cycles);
  group.add("repeats", repeats);
  group.add("refused", refused);
  group.add("weights", weights);
  group.add("compiles-the-same", compilesTheSame);
  for (const char *name : oddGraphNames)
    group.add(std::string("graph-") + name, survives, std::string(name));
}

} // namespace backplane::checks
