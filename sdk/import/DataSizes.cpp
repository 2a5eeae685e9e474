// SPDX-License-Identifier: Apache-2.0
#include "DataSizes.h"

#include <algorithm>
#include <unordered_map>

namespace backplane::frontend {

namespace {

/// Ops that are followed back from a value, at most.
constexpr int kLongestChain = 64;

/// Integers whose elements can be told; u64 has some that have no i64.
bool isWhole(DType type) {
  return (isSignedInteger(type) || isUnsignedInteger(type)) &&
         bitWidth(type) >= 8 && type != DType::U64;
}

/// Ops stand in the order of their results; some have none.
const Op *opThatMakes(const Graph &graph, ValueId value) {
  size_t low = 0, high = graph.ops.size();
  while (low < high) {
    size_t middle = low + (high - low) / 2, at = middle;
    while (at > low && graph.ops[at].results.empty())
      --at;
    const std::vector<ValueId> &results = graph.ops[at].results;
    if (results.empty() || results.back() < value)
      low = middle + 1;
    else if (results.front() > value)
      high = at;
    else
      return &graph.ops[at];
  }
  return nullptr;
}

/// A small constant of integers.
std::optional<Known> constantOf(const Op &op) {
  HostTensor host{static_cast<DType>(op.i64("dtype")), {}, {}};
  const Bytes *bytes = op.bytes("value");
  auto dims = staticDims(op.dims("dims"));
  if (op.name != "constant" || !bytes || !dims)
    return std::nullopt;
  Result<int64_t> number = elementCount(*dims);
  if (!number.ok() || !isWhole(host.dtype) ||
      *number > static_cast<int64_t>(kMaxKnown))
    return std::nullopt;
  size_t count = static_cast<size_t>(*number);
  auto all = std::make_shared<Bytes>(*bytes);
  bool isFilled = all->size() == bitWidth(host.dtype) / 8;
  for (size_t i = 1; isFilled && i < count; ++i)
    all->insert(all->end(), bytes->begin(), bytes->end());
  host.dims = *dims;
  host.data = {*all, all};
  Known known{host.dtype, host.dims, {}};
  for (size_t i = 0; i < count; ++i)
    known.elements.push_back(
        KnownElement::number(integerAt(host, i).value_or(0)));
  return known;
}

// ---- following an element ----

/// An element of a value, by its place in row-major order.
struct Place {
  ValueId value = kNone;
  int64_t at = 0;

  bool operator==(const Place &) const = default;
};

/// The operand of a concat of vectors that the element is of.
std::optional<Place> partOf(const Graph &graph, const Op &op, int64_t at) {
  for (ValueId part : op.operands) {
    const Dims &dims = graph.type(part).dims;
    if (dims.size() != 1 || !dims[0].constant())
      return std::nullopt;
    if (at < *dims[0].constant())
      return Place{part, at};
    at -= *dims[0].constant();
  }
  return std::nullopt;
}

/// The element that an op only hands on.
std::optional<Place> sourceOf(const Graph &graph, const Op &op, int64_t at) {
  if (op.name == "concat")
    return partOf(graph, op, at);
  if (op.operands.empty())
    return std::nullopt;
  ValueId from = op.operands[0];
  if (op.name == "reshape")
    return Place{from, at};
  bool widens = op.name == "cast" && isWhole(graph.type(from).dtype);
  if (widens && op.i64("dtype") == static_cast<int64_t>(DType::I64))
    return Place{from, at};
  if (op.name == "slice" && graph.type(from).rank() == 1 &&
      op.dims("starts")[0].constant())
    return Place{from,
                 *op.dims("starts")[0].constant() + at * op.i64s("strides")[0]};
  return std::nullopt;
}

/// What is known of an element that an op makes.
std::optional<KnownElement> knownOf(const Op &op, int64_t at) {
  if (op.name == "dim")
    return KnownElement{op.dims("value")[static_cast<size_t>(at)], false};
  if (auto constant = constantOf(op))
    return constant->elements[static_cast<size_t>(at)];
  return std::nullopt;
}

/// Follows an element as far as it is handed on, or until it is known.
std::optional<KnownElement> follow(const Graph &graph, Place &place) {
  for (int steps = 0; steps < kLongestChain; ++steps) {
    const Op *op = opThatMakes(graph, place.value);
    std::optional<Place> source;
    if (op)
      if (auto known = knownOf(*op, place.at)) {
        known->nonNegative |= known->value.nonNegative();
        return known;
      }
    if (op)
      source = sourceOf(graph, *op, place.at);
    if (!source)
      break;
    place = *source;
  }
  return std::nullopt;
}

/// The symbol that an element has been read as.
std::optional<KnownElement> readBefore(const Graph &graph, const Place &place) {
  for (const Op &op : graph.ops)
    if (op.name == "read")
      if (Place read{op.operands[0], 0}; !follow(graph, read) && read == place)
        return KnownElement::size(Dim::symbol(op.string("symbol")));
  return std::nullopt;
}

DataElement elementAt(Node &node, Place place) {
  const Graph &graph = node.importer().graph();
  auto known = follow(graph, place);
  if (!known)
    known = readBefore(graph, place);
  if (known)
    return {known, kNone};
  Dim count = node.type(place.value).elementCount();
  ValueId one = node.reshape(place.value, {count});
  if (count != Dim(1))
    one = node.slice(one, {place.at}, {1});
  return {std::nullopt, node.cast(node.reshape(one, {}), DType::I64)};
}

} // namespace

std::vector<DataElement> elementsOf(Node &node, size_t input,
                                    std::string_view what) {
  std::vector<DataElement> elements;
  const TensorType type = node.inputType(input);
  std::string name = "its " + std::string(what);
  if (node.ok() && type.rank() > 1)
    node.reject(name + " has rank " + std::to_string(type.rank()));
  if (node.ok() && !isWhole(type.dtype))
    node.reject(name + " is " + type.str() + ", but must be integers");
  if (!node.ok())
    return elements;
  if (const Known *known = node.known(input)) {
    for (const KnownElement &element : known->elements)
      elements.push_back({element, kNone});
    return elements;
  }
  std::optional<int64_t> count = type.elementCount().constant();
  if (!count || *count > static_cast<int64_t>(kMaxKnown)) {
    node.refuse(name + " ('" + node.tensor(input).name + "') is " + type.str() +
                ": how many elements it has must be known at import");
    return elements;
  }
  ValueId value = node.value(input);
  for (int64_t i = 0; node.ok() && i < *count; ++i)
    elements.push_back(elementAt(node, {value, i}));
  return elements;
}

DataElement elementOf(Node &node, size_t input, std::string_view what) {
  std::vector<DataElement> elements = elementsOf(node, input, what);
  if (node.ok() && elements.size() != 1)
    node.reject(std::string(what) + " must have one element");
  return node.ok() ? elements[0] : DataElement{KnownElement::number(0), kNone};
}

bool anyData(const std::vector<DataElement> &elements) {
  return std::any_of(elements.begin(), elements.end(),
                     [](const DataElement &each) { return !each.known; });
}

bool isReadSize(Node &node, const Dim &dim) {
  std::set<std::string> symbols;
  dim.collectSymbols(symbols);
  const std::vector<Op> &ops = node.importer().graph().ops;
  return std::any_of(ops.begin(), ops.end(), [&](const Op &op) {
    return op.name == "read" && symbols.contains(op.string("symbol"));
  });
}

ValueId scalarOf(Node &node, const DataElement &element) {
  return element.known ? node.fillDim(DType::I64, element.known->value, {})
                       : element.value;
}

// ---- bounds ----

namespace {

/// Each value is asked once, so that work is in proportion to the ops.
class Greatest {
public:
  explicit Greatest(const Graph &graph) : graph_(graph) {}
  std::optional<Dim> of(ValueId value, int depth = 0);

private:
  std::optional<Dim> find(const Op &op, ValueId value, int depth);
  std::optional<Dim> ofCast(const Op &op, int depth);
  std::optional<Dim> ofArithmetic(const Op &op, int depth);
  std::optional<Dim> ofAll(std::span<const ValueId> values, int depth);
  /// The one number that a constant holds.
  std::optional<int64_t> number(ValueId value) const;

  const Graph &graph_;
  std::unordered_map<ValueId, std::optional<Dim>> found_;
};

std::optional<Dim> Greatest::ofAll(std::span<const ValueId> values, int depth) {
  std::optional<Dim> most;
  for (ValueId value : values) {
    auto next = of(value, depth);
    if (!next)
      return std::nullopt;
    most = most ? max(*most, *next) : *next;
  }
  return most;
}

std::optional<int64_t> Greatest::number(ValueId value) const {
  const Op *op = opThatMakes(graph_, value);
  while (op && (op->name == "broadcast" || op->name == "reshape"))
    op = opThatMakes(graph_, op->operands[0]);
  const Bytes *bytes = op ? op->bytes("value") : nullptr;
  if (!bytes || op->name != "constant")
    return std::nullopt;
  Op one = *op;
  if (bytes->size() != bitWidth(static_cast<DType>(op->i64("dtype"))) / 8)
    return std::nullopt;
  one.attributes["dims"] = Dims();
  auto known = constantOf(one);
  return known ? known->elements[0].value.constant() : std::nullopt;
}

/// Integers do not grow by a cast; narrower ones have a limit of their own.
std::optional<Dim> Greatest::ofCast(const Op &op, int depth) {
  switch (graph_.type(op.operands[0]).dtype) {
  case DType::Bool:
    return Dim(1);
  case DType::I8:
    return Dim(INT8_MAX);
  case DType::U8:
    return Dim(UINT8_MAX);
  case DType::I16:
    return Dim(INT16_MAX);
  case DType::U16:
    return Dim(UINT16_MAX);
  case DType::I32:
    return of(op.operands[0], depth);
  case DType::I64:
    if (op.i64("dtype") == static_cast<int64_t>(DType::I64))
      return of(op.operands[0], depth);
    return std::nullopt;
  default:
    return std::nullopt;
  }
}

std::optional<Dim> Greatest::ofArithmetic(const Op &op, int depth) {
  auto a = of(op.operands[0], depth), b = of(op.operands[1], depth);
  if (op.name == "min" && (a || b))
    return a && b ? min(*a, *b) : a ? a : b;
  if (!a || !b)
    return std::nullopt;
  if (op.name == "max")
    return max(*a, *b);
  if (op.name == "add")
    return *a + *b;
  std::optional<int64_t> factor = number(op.operands[1]);
  if (op.name == "mul" && factor && *factor >= 0)
    return max(*a, Dim(0)) * Dim(*factor);
  if (op.name == "div" && factor && *factor >= 1)
    return floorDiv(max(*a, Dim(0)), Dim(*factor));
  if (op.name == "sub" && factor)
    return *a - Dim(*factor);
  return std::nullopt;
}

std::optional<Dim> Greatest::of(ValueId value, int depth) {
  const Op *op = opThatMakes(graph_, value);
  if (!op || ++depth > kLongestChain)
    return std::nullopt;
  auto known = found_.find(value);
  if (known == found_.end())
    known = found_.emplace(value, find(*op, value, depth)).first;
  return known->second;
}

std::optional<Dim> Greatest::find(const Op &op, ValueId value, int depth) {
  auto isOne = [&](std::initializer_list<std::string_view> names) {
    return std::find(names.begin(), names.end(), op.name) != names.end();
  };
  if (isOne({"min", "max", "add", "sub", "mul", "div"}))
    return ofArithmetic(op, depth);
  if (isOne({"broadcast", "reshape", "transpose", "slice", "reverse"}))
    return of(op.operands[0], depth);
  if (op.name == "cast")
    return ofCast(op, depth);
  if (op.name == "select")
    return ofAll(std::span(op.operands).subspan(1), depth);
  if (op.name == "concat")
    return ofAll(op.operands, depth);
  if (op.name == "arg_reduce" || (op.name == "top_k" && op.results[1] == value))
    return graph_.type(op.operands[0])
               .dims[static_cast<size_t>(op.i64("axis"))] -
           Dim(1);
  std::optional<Dim> most;
  if (op.name == "dim")
    for (const Dim &each : op.dims("value"))
      most = most ? max(*most, each) : each;
  else if (auto one = number(value))
    most = Dim(*one);
  else if (auto constant = constantOf(op))
    for (const KnownElement &each : constant->elements)
      most = most ? max(*most, each.value) : each.value;
  else if (op.name == "reduce" && op.string("kind") == "sum")
    if (auto each = of(op.operands[0], depth)) {
      Dim count = floorDiv(graph_.type(op.operands[0]).elementCount(),
                           max(graph_.type(value).elementCount(), Dim(1)));
      most = max(*each, Dim(0)) * count;
    }
  return most;
}

} // namespace

std::optional<Dim> greatestOf(Node &node, ValueId value) {
  if (!node.ok())
    return std::nullopt;
  auto most = Greatest(node.importer().graph()).of(value);
  return most && most->valid() ? most : std::nullopt;
}

std::optional<Dim> declaredSize(Node &node, size_t axis) {
  const onnx::TypeProto *type = node.importer().declared(node.outputName(0));
  if (!type || !type->has_tensor_type() || !type->tensor_type().has_shape())
    return std::nullopt;
  const onnx::TensorShapeProto &shape = type->tensor_type().shape();
  if (axis >= static_cast<size_t>(shape.dim_size()))
    return std::nullopt;
  return node.importer().declaredDim(shape.dim(static_cast<int>(axis)));
}

Dim readSize(Node &node, ValueId scalar, const std::string &what,
             std::optional<Dim> most, std::optional<size_t> axis) {
  if (!node.ok())
    return Dim(0);
  if (!most)
    most = greatestOf(node, scalar);
  if (!most && axis)
    most = declaredSize(node, *axis);
  Dim bound = most.value_or(Dim(INT64_MAX));
  if (!bound.nonNegative())
    bound = max(bound, Dim(0));
  auto symbol = node.importer().read(
      scalar, bound, node.outputName(0) + "_" + what, node.location());
  if (!symbol.ok()) {
    node.fail(symbol.status());
    return Dim(0);
  }
  if (bound != Dim(0))
    return *symbol;
  node.require(*symbol, bound, what + " must be 0");
  return bound;
}

} // namespace backplane::frontend
