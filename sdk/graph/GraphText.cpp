// SPDX-License-Identifier: Apache-2.0
#include "Graph.h"
#include "sdk/support/Joined.h"

#include <sstream>

namespace backplane {

namespace {

struct AttributePrinter {
  std::ostream &out;

  void operator()(int64_t value) const { out << value; }
  void operator()(double value) const { out << value; }
  void operator()(const std::string &value) const {
    out << '"' << value << '"';
  }
  void operator()(const std::vector<int64_t> &value) const {
    (*this)(Dims(value.begin(), value.end()));
  }
  void operator()(const Dims &value) const {
    out << '[' << joined(value, ", ", &Dim::str) << ']';
  }
  void operator()(const Bytes &value) const {
    constexpr char digits[] = "0123456789abcdef";
    out << "0x";
    for (size_t i = 0; i < value.size() && i < 16; ++i)
      out << digits[value[i] >> 4] << digits[value[i] & 15];
    if (value.size() > 16)
      out << "... (" << value.size() << " bytes)";
  }
};

void printValues(std::ostream &out, const std::vector<ValueId> &values) {
  out << joined(values, ", ",
                [](ValueId value) { return "%" + std::to_string(value); });
}

class Printer {
public:
  Printer(std::ostream &out, const Graph &graph) : out_(out), graph_(graph) {}

  void run(const std::string &indent) {
    out_ << indent << "graph \"" << graph_.name << "\" {\n";
    printDeclarations(indent + "  ");
    for (const Op &op : graph_.ops)
      printOp(op, indent + "  ");
    for (const GraphOutput &output : graph_.outputs)
      out_ << indent << "  output %" << output.value << " \"" << output.name
           << "\"\n";
    out_ << indent << "}\n";
  }

private:
  std::string typeText(ValueId value) const {
    return value < graph_.values.size() ? graph_.type(value).str() : "?";
  }

  void printDeclarations(const std::string &indent) {
    for (const Symbol &symbol : graph_.symbols) {
      out_ << indent << "symbol " << symbol.name << " in [" << symbol.minimum
           << ", ";
      if (symbol.maximum != INT64_MAX)
        out_ << symbol.maximum;
      out_ << "]";
      if (symbol.divisor != 1)
        out_ << " divisor " << symbol.divisor;
      out_ << "\n";
    }
    for (const DimAssertion &assertion : graph_.assertions)
      out_ << indent << "assert " << assertion.lhs.str()
           << " == " << assertion.rhs.str() << "  // " << assertion.message
           << "\n";
    for (const Variable &variable : graph_.variables)
      out_ << indent << "variable " << variable.name << " : "
           << variable.type.str() << "\n";
    for (ValueId input : graph_.inputs)
      out_ << indent << "input %" << input << " : " << typeText(input) << "\n";
  }

  void printOp(const Op &op, const std::string &indent) {
    out_ << indent;
    printValues(out_, op.results);
    out_ << (op.results.empty() ? "" : " = ") << op.name << "(";
    printValues(out_, op.operands);
    out_ << ")";
    const char *separator = " {";
    for (const auto &[name, value] : op.attributes) {
      out_ << separator << name << " = ";
      std::visit(AttributePrinter{out_}, value);
      separator = ", ";
    }
    out_ << (op.attributes.empty() ? "" : "}");
    for (size_t i = 0; i < op.results.size(); ++i)
      out_ << (i ? ", " : " : ") << typeText(op.results[i]);
    out_ << (op.location.empty() ? "" : "  // ") << op.location << "\n";
    for (const Graph &region : op.regions)
      Printer(out_, region).run(indent + "  ");
  }

  std::ostream &out_;
  const Graph &graph_;
};

} // namespace

std::string Graph::str() const {
  std::ostringstream out;
  Printer(out, *this).run("");
  return out.str();
}

} // namespace backplane
