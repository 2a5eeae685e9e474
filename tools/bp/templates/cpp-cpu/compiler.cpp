// SPDX-License-Identifier: Apache-2.0
//
// compiler.cpp: the compile side. The host asks `claim` for each op of a model
// with its broadcasts, and gives those that are refused to another device;
// `compile` makes a blob of what was taken. Both make the same plan.
#include "acme.h"

#include <cstring>

// ---- Targets ----

Status Plugin::targets(TargetSink sink) {
  std::vector<bp_op_version_t> versions = {{toC("constant"), 1, 0}};
  for (const Instruction &instruction : instructions)
    versions.push_back({toC(instruction.name), 1, 0});
  std::array<bp_numerics_t, 2> numerics = {};
  std::array<const bp_numerics_t *, 2> list = {&numerics[0], &numerics[1]};
  for (size_t i = 0; i < 2; ++i) { // sums are kept in f32, in one order
    numerics[i].header = BP_HEADER(bp_numerics_t);
    numerics[i].op_class = toC(i ? "DOT" : "EXACT");
    numerics[i].dtype = BP_DTYPE_F32;
    numerics[i].accumulator_bits = 24;
    numerics[i].rounding = BP_ROUNDING_NEAREST;
    numerics[i].flags = BP_NUMERICS_DETERMINISTIC;
  }
  bp_target_t target = {};
  target.header = BP_HEADER(bp_target_t);
  target.name = toC(pluginName);
  target.description = toC("one op at a time, in f32");
  target.driver = toC(pluginName);
  target.format = toC(formatName);
  target.storage_dtypes = bp_dtype_set_t(1) << BP_DTYPE_F32;
  target.compute_dtypes = target.storage_dtypes;
  target.max_bindings = maxBindings;
  target.max_constants = BP_MAX_CONSTANTS;
  target.numerics = list.data();
  target.numerics_count = list.size();
  target.op_versions = versions.data();
  target.op_version_count = versions.size();
  return sink.put(target);
}

// ---- Plans ----

namespace {

[[noreturn]] void refuse(std::string reason) {
  throw Failure(unimplemented(std::move(reason)));
}

// The elements of the axes from `first` to below `end`, as an expression.
std::string product(const ValueView &value, uint32_t first, uint32_t end) {
  std::string text = "(1";
  for (; first < end; ++first)
    text += " * (" + std::string(value.sizeText(first)) + ")";
  return text += ")";
}

// How a dispatch runs. What it cannot do, it refuses.
class Plan {
public:
  explicit Plan(GraphView graph);

  const Instruction *instruction = nullptr;
  std::vector<LaunchBinding> bindings; // of the dispatch, in our order
  std::array<std::string, 3> grid = {"1", "1", "1"};
  std::vector<std::string> parameters;

private:
  void check(const GraphView &graph, std::string_view op);
  void bind(uint32_t index, const ValueView &value);
  void planOperand(uint32_t index, ValueView value);
  void planElements(const OpView &op, const ValueView &result);
  void planFactor(uint32_t index, const ValueView &value, bool transposed);
  void planMatmul(const OpView &op, const ValueView &result);
};

// Finds the instruction of the op.
void Plan::check(const GraphView &graph, std::string_view op) {
  instruction = findInstruction(op);
  if (!instruction)
    refuse("instructions.cpp has no '" + std::string(op) + "'");
  if (graph.outputs() != 1)
    refuse("it has " + std::to_string(graph.outputs()) +
           " results, compiler.cpp gives one");
  for (uint32_t i = 0; i < graph.values(); ++i)
    if (graph.value(i).dtype() != BP_DTYPE_F32)
      refuse("a value is not f32, the only dtype of instructions.cpp");
}

// Binds operand `index` to an input of the dispatch.
void Plan::bind(uint32_t index, const ValueView &value) {
  if (!value.isInput())
    refuse("compiler.cpp takes one op at a time, with its broadcasts");
  bindings[index].binding = value.index();
}

// The bits of a constant of one element.
std::string bitsOf(const OpView &constant) {
  const auto bytes = constant.attribute("value").bytes();
  uint32_t bits = 0;
  if (bytes.size() != sizeof(bits))
    refuse("a constant has more than one element");
  std::memcpy(&bits, bytes.data(), sizeof(bits));
  return std::to_string(bits);
}

// The steps of an operand, which may be repeated along some axes.
void Plan::planOperand(uint32_t index, ValueView value) {
  const auto broadcast = value.producer();
  const bool repeated = broadcast && broadcast->name() == "broadcast";
  if (repeated)
    value = broadcast->operand(0);
  std::string &first = parameters[operandAt(index)];
  if (auto op = value.producer(); op && op->name() == "constant") {
    first = bitsOf(*op);
    return;
  }
  first = "-1";
  bind(index, value);
  for (uint32_t i = 0; i < value.rank(); ++i) {
    if (repeated && value.size(i) == 1)
      continue;
    const int64_t axis =
        repeated ? broadcast->attribute("axes").integers()[i] : i;
    parameters[operandAt(index) + 1 + size_t(axis)] =
        product(value, i + 1, value.rank());
  }
}

// Instructions that walk over the elements of the result.
void Plan::planElements(const OpView &op, const ValueView &result) {
  const uint32_t rank = result.rank(), operands = instruction->bindings - 1;
  if (rank > maxAxes)
    refuse("its result has " + std::to_string(rank) +
           " axes, instructions.cpp walks over " + std::to_string(maxAxes));
  grid[0] =
      product(result, 0, rank) + " ceildiv " + std::to_string(groupElements);
  for (uint32_t i = 0; i < maxAxes; ++i)
    parameters[i] = product(result, i, i < rank ? i + 1 : i);
  for (uint32_t i = 0; i < operands; ++i)
    planOperand(i, op.name() == "broadcast" ? result : op.operand(i));
  for (uint32_t i = 0; i < operands;
       ++i) // a constant is bound to what it is not
    if (bindings[i].binding == BP_NONE)
      bindings[i] = bindings[operands - 1 - i];
  if (bindings[0].binding == BP_NONE)
    refuse("it has constants only");
}

// The elements from one index of a factor's axes to the next: of its rows and
// columns as they are multiplied, whichever way they lie, and of its batches.
void Plan::planFactor(uint32_t index, const ValueView &value, bool transposed) {
  const uint32_t rank = value.rank(), at = factorAt(index);
  bind(index, value);
  parameters[at + (transposed ? 1 : 0)] = product(value, rank - 1, rank);
  parameters[at + (transposed ? 0 : 1)] = product(value, rank, rank);
  if (rank > 2)
    parameters[at + 2] = product(value, rank - 2, rank);
}

void Plan::planMatmul(const OpView &op, const ValueView &result) {
  const ValueView a = op.operand(0), b = op.operand(1);
  const bool transposed = op.attribute("transpose_a").integer() == 1;
  const uint32_t rank = result.rank(), k = transposed ? rank - 2 : rank - 1;
  planFactor(0, a, transposed);
  planFactor(1, b, op.attribute("transpose_b").integer() == 1);
  parameters[0] = grid[0] = product(result, rank - 2, rank - 1);
  parameters[1] = product(a, k, k + 1);
  parameters[2] = product(result, rank - 1, rank);
  grid[1] = product(result, 0, rank - 2);
}

Plan::Plan(GraphView graph) {
  const ValueView result = graph.output();
  const auto op = result.producer();
  if (!op)
    refuse("it has no op");
  check(graph, op->name());
  bindings.resize(instruction->bindings, {.binding = BP_NONE});
  bindings.back().binding = graph.inputs();
  parameters.resize(instruction->parameters, "0");
  if (op->name() == "matmul")
    planMatmul(*op, result);
  else
    planElements(*op, result);
}

} // namespace

// ---- Claims and compiling ----

Claim Plugin::claim(std::string_view, GraphView graph) {
  try {
    Plan plan(graph);
    return {};
  } catch (const Failure &failure) {
    return Claim::refuse(failure.what());
  }
}

Result<Compiled> Plugin::compile(const CompileRequest &request) {
  if (Status status = request.options().refuseAll(pluginName); !status.ok())
    return status;
  const Plan plan(request.graph()); // the host hears of what it throws
  std::vector<uint8_t> access(plan.instruction->bindings - 1, BP_ACCESS_READ);
  access.push_back(BP_ACCESS_WRITE);
  return Compiled{.blob = bytesOf(blobOf(*plan.instruction)),
                  .launches = {{.name = std::string(request.entryName()),
                                .access = access,
                                .grid = plan.grid,
                                .parameters = plan.parameters,
                                .bindings = plan.bindings}}};
}
