// SPDX-License-Identifier: Apache-2.0
//
// A dim that is not a plain number is a polynomial with integer factors over
// atoms: symbols, floordiv, truncdiv, min, max and select. Its canonical text
// is also its identity, and the limit on that text bounds all work on dims.
#include "DimNode.h"
#include "sdk/support/Joined.h"

#include <algorithm>
#include <numeric>

namespace backplane {

using Node = Dim::Node;

// ---- terms to dims ----

namespace {

constexpr size_t maxTerms = 256;
constexpr size_t maxProducts = 1024;
constexpr size_t maxDegree = 16;
constexpr size_t maxText = 4096;
constexpr size_t maxWork = 4 * maxText; ///< text of terms before they add up
constexpr size_t maxMinMax = 16;
constexpr int maxDepth = 28;

Dim invalidDim() {
  static const auto node = [] {
    auto made = std::make_shared<Node>();
    made->valid = false;
    made->text = "<too large>";
    return made;
  }();
  return Node::wrap(node);
}

bool isCall(const Atom &atom) { return atom.kind != AtomKind::FloorDiv; }

/// The text of an atom where a product or a power of it could follow.
std::string tightText(const Atom &atom) {
  return isCall(atom) ? atom.text : "(" + atom.text + ")";
}

std::string termText(const Term &term, uint64_t magnitude) {
  if (term.atoms.empty())
    return std::to_string(magnitude);
  if (magnitude == 1 && term.atoms.size() == 1)
    return term.factor < 0 ? tightText(*term.atoms[0]) : term.atoms[0]->text;
  return magnitude == 1 ? term.key : std::to_string(magnitude) + "*" + term.key;
}

std::string termsText(const std::vector<Term> &terms) {
  std::string text;
  for (const Term &term : terms) {
    bool negative = term.factor < 0;
    if (text.empty())
      text = negative ? "-" : "";
    else
      text += negative ? " - " : " + ";
    uint64_t magnitude = static_cast<uint64_t>(term.factor);
    text += termText(term, negative ? 0 - magnitude : magnitude);
    if (text.size() > maxText)
      break;
  }
  return text;
}

std::string atomsKey(const std::vector<AtomPtr> &atoms) {
  return joined(atoms, "*",
                [](const AtomPtr &atom) { return tightText(*atom); });
}

/// Collects terms; equal products of atoms are added up.
class Sum {
public:
  void add(std::vector<AtomPtr> atoms, int64_t factor) {
    std::string key = atomsKey(atoms);
    work_ += key.size();
    valid_ &= work_ <= maxWork;
    if (!valid_)
      return;
    std::pair<size_t, std::string> order(~atoms.size(), key);
    auto [it, isNew] = terms_.try_emplace(std::move(order));
    if (isNew)
      it->second = Term{factor, std::move(atoms), std::move(key)};
    else if (__builtin_add_overflow(it->second.factor, factor,
                                    &it->second.factor))
      valid_ = false;
    valid_ &= it->second.atoms.size() <= maxDegree;
  }

  void add(const Dim &dim, int64_t scale = 1) {
    valid_ &= dim.valid();
    for (const Term &term : Node::termsOf(dim)) {
      int64_t factor = 0;
      valid_ &= !__builtin_mul_overflow(term.factor, scale, &factor);
      add(term.atoms, factor);
    }
  }

  bool valid() const { return valid_; }

  Dim build() const {
    if (!valid_)
      return invalidDim();
    auto node = std::make_shared<Node>();
    for (const auto &[order, term] : terms_)
      if (term.factor != 0)
        node->terms.push_back(term);
    if (node->terms.empty())
      return Dim(0);
    if (node->terms.size() == 1 && node->terms[0].atoms.empty())
      return Dim(node->terms[0].factor);
    for (const Term &term : node->terms) {
      // Nothing else has to fear that a factor has no negative.
      if (term.factor == INT64_MIN)
        return invalidDim();
      for (const AtomPtr &atom : term.atoms)
        node->depth = std::max(node->depth, atom->depth);
    }
    node->text = termsText(node->terms);
    if (node->terms.size() > maxTerms || node->text.size() > maxText ||
        node->depth > maxDepth)
      return invalidDim();
    return Node::wrap(std::move(node));
  }

private:
  /// Higher degrees first, then by text: the constant comes last.
  std::map<std::pair<size_t, std::string>, Term> terms_;
  size_t work_ = 0;
  bool valid_ = true;
};

/// The text of a dim as an operand of floordiv.
std::string operandText(const Dim &dim) {
  const Atom *atom = Node::soleAtom(dim);
  bool bare = atom ? isCall(*atom) : dim.constant().value_or(-1) >= 0;
  return bare ? dim.str() : "(" + dim.str() + ")";
}

std::string atomText(AtomKind kind, const std::vector<Dim> &operands) {
  if (kind == AtomKind::FloorDiv)
    return operandText(operands[0]) + " floordiv " + operandText(operands[1]);
  if (kind == AtomKind::TruncDiv || kind == AtomKind::Select)
    return (kind == AtomKind::Select ? "select(" : "truncdiv(") +
           joined(operands, ", ", &Dim::str) + ")";
  std::string name = kind == AtomKind::Min ? "min(" : "max(";
  std::string text = operands.back().str();
  for (size_t i = operands.size() - 1; i-- > 0;)
    text = name + operands[i].str() + ", " + text + ")";
  return text;
}

Dim fromAtom(AtomPtr atom) {
  Sum sum;
  sum.add({std::move(atom)}, 1);
  return sum.build();
}

Dim makeAtom(AtomKind kind, std::vector<Dim> operands) {
  auto atom = std::make_shared<Atom>();
  atom->kind = kind;
  int depth = 0;
  for (const Dim &operand : operands) {
    if (!operand.valid())
      return invalidDim();
    depth = std::max(depth, Node::depthOf(operand));
  }
  atom->depth = depth + static_cast<int>(operands.size()) - 1;
  atom->text = atomText(kind, operands);
  atom->operands = std::move(operands);
  return fromAtom(std::move(atom));
}

} // namespace

std::vector<Term> Node::termsOf(const Dim &dim) {
  if (dim.node_)
    return dim.node_->terms;
  if (dim.value_ == 0)
    return {};
  return {Term{dim.value_, {}, ""}};
}

const Atom *Node::soleAtom(const Dim &dim) {
  if (!dim.node_ || dim.node_->terms.size() != 1)
    return nullptr;
  const Term &term = dim.node_->terms[0];
  return term.factor == 1 && term.atoms.size() == 1 ? term.atoms[0].get()
                                                    : nullptr;
}

// ---- queries ----

Dim Dim::symbol(std::string_view name) {
  if (!isSymbolName(name))
    return invalidDim();
  auto atom = std::make_shared<Atom>();
  atom->text = std::string(name);
  return fromAtom(std::move(atom));
}

bool Dim::isSymbolName(std::string_view name) {
  auto letter = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
  };
  auto digit = [](char c) { return c >= '0' && c <= '9'; };
  if (name.empty() || name.size() > 64 || !letter(name[0]))
    return false;
  constexpr std::string_view words[] = {"floordiv", "ceildiv", "mod",
                                        "min",      "max",     "truncdiv",
                                        "less",     "equal",   "select"};
  return std::ranges::find(words, name) == std::end(words) &&
         std::ranges::all_of(name,
                             [&](char c) { return letter(c) || digit(c); });
}

bool Dim::valid() const { return !node_ || node_->valid; }

namespace {

bool isNonNegative(const Atom &atom) {
  auto each = [](const Dim &dim) { return dim.nonNegative(); };
  const std::vector<Dim> &operands = atom.operands;
  if (atom.kind == AtomKind::Max)
    return std::ranges::any_of(operands, each);
  if (atom.kind == AtomKind::Select)
    return each(operands[1]) && each(operands[2]);
  return std::ranges::all_of(operands, each);
}

} // namespace

bool Dim::nonNegative() const {
  if (!node_)
    return value_ >= 0;
  return node_->valid &&
         std::ranges::all_of(node_->terms, [](const Term &term) {
           return term.factor > 0 &&
                  std::ranges::all_of(term.atoms, [](const AtomPtr &atom) {
                    return isNonNegative(*atom);
                  });
         });
}

std::optional<int64_t> Dim::constant() const {
  return node_ ? std::nullopt : std::optional(value_);
}

std::optional<std::string> Dim::symbolName() const {
  const Atom *atom = Node::soleAtom(*this);
  bool isSymbol = atom && atom->kind == AtomKind::Symbol;
  return isSymbol ? std::optional(atom->text) : std::nullopt;
}

std::string Dim::str() const {
  return node_ ? node_->text : std::to_string(value_);
}

void Dim::collectSymbols(std::set<std::string> &names) const {
  if (!node_)
    return;
  for (const Term &term : node_->terms)
    for (const AtomPtr &atom : term.atoms) {
      if (atom->kind == AtomKind::Symbol)
        names.insert(atom->text);
      for (const Dim &operand : atom->operands)
        operand.collectSymbols(names);
    }
}

bool operator==(const Dim &a, const Dim &b) {
  if (!a.node_ || !b.node_)
    return !a.node_ && !b.node_ && a.value_ == b.value_;
  return a.node_ == b.node_ || a.node_->text == b.node_->text;
}

bool operator<(const Dim &a, const Dim &b) {
  if (a.node_ && b.node_)
    return a.node_->text < b.node_->text;
  if (!a.node_ && !b.node_)
    return a.value_ < b.value_;
  return !a.node_;
}

// ---- arithmetic ----

Dim operator+(const Dim &a, const Dim &b) {
  int64_t value = 0;
  if (!a.node_ && !b.node_ &&
      !__builtin_add_overflow(a.value_, b.value_, &value))
    return Dim(value);
  Sum sum;
  sum.add(a);
  sum.add(b);
  return sum.build();
}

Dim operator-(const Dim &a, const Dim &b) {
  int64_t value = 0;
  if (!a.node_ && !b.node_ &&
      !__builtin_sub_overflow(a.value_, b.value_, &value))
    return Dim(value);
  Sum sum;
  sum.add(a);
  sum.add(b, -1);
  return sum.build();
}

Dim operator*(const Dim &a, const Dim &b) {
  int64_t value = 0;
  if (!a.node_ && !b.node_ &&
      !__builtin_mul_overflow(a.value_, b.value_, &value))
    return Dim(value);
  std::vector<Term> left = Node::termsOf(a), right = Node::termsOf(b);
  if (!a.valid() || !b.valid() || left.size() * right.size() > maxProducts)
    return invalidDim();
  Sum sum;
  for (const Term &x : left)
    for (const Term &y : right) {
      if (!sum.valid() || __builtin_mul_overflow(x.factor, y.factor, &value))
        return invalidDim();
      std::vector<AtomPtr> atoms;
      std::merge(x.atoms.begin(), x.atoms.end(), y.atoms.begin(), y.atoms.end(),
                 std::back_inserter(atoms), atomLess);
      sum.add(std::move(atoms), value);
    }
  return sum.build();
}

Dim makeFloorDiv(const Dim &a, const Dim &b) {
  return makeAtom(AtomKind::FloorDiv, {a, b});
}

Dim makeTruncDiv(const Dim &a, const Dim &b) {
  return makeAtom(AtomKind::TruncDiv, {a, b});
}

Dim makeSelect(const Dim &condition, const Dim &a, const Dim &b) {
  return makeAtom(AtomKind::Select, {condition, a, b});
}

Dim fromTerms(const std::vector<Term> &terms) {
  Sum sum;
  for (const Term &term : terms)
    sum.add(term.atoms, term.factor);
  return sum.build();
}

// ---- min and max ----

namespace {

/// Puts `next` among `kept`, dropping what is never the extreme.
void keepExtreme(AtomKind kind, std::vector<Dim> &kept, const Dim &next) {
  for (Dim &other : kept) {
    std::optional<int64_t> difference = (next - other).constant();
    if (!difference)
      continue;
    if ((kind == AtomKind::Min) == (*difference < 0))
      other = next;
    return;
  }
  kept.push_back(next);
}

void flatten(AtomKind kind, const Dim &dim, std::vector<Dim> &kept) {
  const Atom *atom = Node::soleAtom(dim);
  if (!atom || atom->kind != kind)
    return keepExtreme(kind, kept, dim);
  for (const Dim &operand : atom->operands)
    keepExtreme(kind, kept, operand);
}

Dim extreme(AtomKind kind, const Dim &a, const Dim &b) {
  if (!a.valid() || !b.valid())
    return invalidDim();
  std::vector<Dim> kept;
  flatten(kind, a, kept);
  flatten(kind, b, kept);
  if (kept.size() == 1)
    return kept[0];
  if (kept.size() > maxMinMax)
    return invalidDim();
  std::ranges::sort(kept, std::less());
  return makeAtom(kind, std::move(kept));
}

} // namespace

Dim min(const Dim &a, const Dim &b) { return extreme(AtomKind::Min, a, b); }
Dim max(const Dim &a, const Dim &b) { return extreme(AtomKind::Max, a, b); }

Dim product(const std::vector<Dim> &dims) {
  return std::accumulate(dims.begin(), dims.end(), Dim(1), std::multiplies());
}

} // namespace backplane
