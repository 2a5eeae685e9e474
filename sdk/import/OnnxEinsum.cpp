// SPDX-License-Identifier: Apache-2.0
//
// Einsum: operand after operand, each step one matmul over what both share.
#include "OnnxHandlers.h"

#include <algorithm>

namespace backplane::frontend {

namespace {

/// A tensor with a letter for each axis.
struct Term {
  ValueId value = kNone;
  std::string letters;
};

bool has(const std::string &letters, char letter) {
  return letters.find(letter) != std::string::npos;
}

class Einsum {
public:
  explicit Einsum(Node &node) : node_(node) {}

  void run() {
    if (!read())
      return;
    Term result = terms_[0];
    for (size_t i = 1; node_.ok() && i < terms_.size(); ++i) {
      std::string wanted = output_;
      for (size_t j = i + 1; j < terms_.size(); ++j)
        wanted += terms_[j].letters;
      result = multiply(result, terms_[i], wanted);
    }
    result = arranged(summed(result, output_), output_);
    node_.out(0, result.value);
  }

private:
  /// Whether one product does it: two terms, and no sum over letters of one.
  static bool isOneProduct(const std::string &left, const std::string &right) {
    return std::count(left.begin(), left.end(), ',') <= 1 &&
           std::all_of(left.begin(), left.end(), [&](char letter) {
             return !std::isalpha(static_cast<unsigned char>(letter)) ||
                    has(right, letter) ||
                    std::count(left.begin(), left.end(), letter) > 1;
           });
  }

  /// The equation, without spaces, into terms and output letters.
  bool read() {
    std::string text = node_.string("equation", "");
    std::erase(text, ' ');
    size_t arrow = text.find("->");
    std::string left = text.substr(0, arrow);
    if (!isOneProduct(left,
                      arrow == std::string::npos ? left : text.substr(arrow)))
      node_.roundOnce();
    std::string right =
        arrow == std::string::npos ? "" : text.substr(arrow + 2);
    for (size_t i = 0, at = 0; i < node_.inputCount(); ++i) {
      size_t end = std::min(left.find(',', at), left.size());
      if (at > left.size())
        node_.reject("the equation '" + text + "' has too few terms");
      if (!node_.ok())
        return false;
      addTerm(i, expanded(node_.value(i), left.substr(at, end - at)));
      at = end + 1;
      if (i + 1 == node_.inputCount() && at <= left.size())
        node_.reject("the equation '" + text + "' has too many terms");
    }
    if (size_t dots = right.find("..."); dots != std::string::npos)
      right.replace(dots, 3, hidden(most_));
    output_ = arrow == std::string::npos ? implied() : right;
    checkOutput();
    return node_.ok();
  }

  /// Digits for the axes of an ellipsis, counted from the last one.
  static std::string hidden(size_t count) {
    std::string digits;
    while (count-- > 0)
      digits += static_cast<char>('0' + count);
    return digits;
  }

  /// The term with digits in place of "...".
  std::string expanded(ValueId value, std::string letters) {
    size_t dots = letters.find("...");
    std::string named = letters;
    if (dots != std::string::npos)
      named.erase(dots, 3);
    for (char letter : named)
      if (!std::isalpha(static_cast<unsigned char>(letter)))
        node_.reject("the term '" + letters + "' has no letters only");
    if (dots == std::string::npos || !node_.ok())
      return letters;
    size_t rank = node_.type(value).rank();
    if (rank < named.size() || rank - named.size() > 10) {
      node_.reject("the term '" + letters + "' does not fit the input " +
                   node_.type(value).str());
      return letters;
    }
    most_ = std::max(most_, rank - named.size());
    return letters.replace(dots, 3, hidden(rank - named.size()));
  }

  void addTerm(size_t input, const std::string &letters) {
    Term term{node_.value(input), letters};
    if (!node_.ok())
      return;
    Dims dims = node_.type(term.value).dims;
    if (dims.size() != letters.size())
      return node_.reject("the term '" + letters + "' does not fit the input " +
                          node_.type(term.value).str());
    for (size_t i = 0; i < letters.size(); ++i) {
      if (letters.find(letters[i], i + 1) != std::string::npos)
        return node_.refuse("a letter that stands twice in the term '" +
                            letters + "' is not supported");
      auto [known, isNew] = sizes_.try_emplace(letters[i], dims[i]);
      dims[i] = known->second;
      ++uses_[letters[i]];
    }
    term.value = node_.withDims(term.value, dims);
    terms_.push_back(term);
  }

  /// Without an arrow: the ellipsis, then the letters that stand once, in
  /// alphabetical order.
  std::string implied() const {
    std::string letters = hidden(most_);
    for (auto [letter, count] : uses_)
      if (count == 1 && !std::isdigit(static_cast<unsigned char>(letter)))
        letters += letter;
    return letters;
  }

  void checkOutput() {
    for (size_t i = 0; node_.ok() && i < output_.size(); ++i)
      if (!sizes_.contains(output_[i]) ||
          output_.find(output_[i], i + 1) != std::string::npos)
        node_.reject("the result '" + output_ + "' of the equation is wrong");
  }

  /// Sums over the letters that nothing wants.
  Term summed(Term term, const std::string &wanted) {
    std::vector<int64_t> axes;
    std::string left;
    for (size_t i = 0; i < term.letters.size(); ++i)
      if (has(wanted, term.letters[i]))
        left += term.letters[i];
      else
        axes.push_back(static_cast<int64_t>(i));
    return {node_.reduce("sum", term.value, axes, false), left};
  }

  Term arranged(const Term &term, const std::string &letters) {
    std::vector<int64_t> permutation;
    for (char letter : letters)
      permutation.push_back(static_cast<int64_t>(term.letters.find(letter)));
    if (!node_.ok())
      return {};
    return {node_.transpose(term.value, permutation), letters};
  }

  Dim sizeOf(const std::string &letters) const {
    Dim size(1);
    for (char letter : letters)
      size = size * sizes_.at(letter);
    return size;
  }

  /// Letters of `from` by whether `a` and `b` have them.
  static std::string chosen(const std::string &from, const std::string &a,
                            bool inA, const std::string &b, bool inB) {
    std::string letters;
    for (char letter : from)
      if (has(a, letter) == inA && has(b, letter) == inB)
        letters += letter;
    return letters;
  }

  Term multiply(Term a, Term b, const std::string &wanted) {
    a = summed(a, wanted + b.letters);
    b = summed(b, wanted + a.letters);
    std::string batch = chosen(a.letters, b.letters, true, wanted, true);
    std::string inner = chosen(a.letters, b.letters, true, wanted, false);
    std::string rows = chosen(a.letters, b.letters, false, wanted, true);
    std::string columns = chosen(b.letters, a.letters, false, wanted, true);
    ValueId left = arranged(a, batch + rows + inner).value;
    ValueId right = arranged(b, batch + inner + columns).value;
    if (!node_.ok())
      return {};
    left = node_.reshape(left, {sizeOf(batch), sizeOf(rows), sizeOf(inner)});
    right =
        node_.reshape(right, {sizeOf(batch), sizeOf(inner), sizeOf(columns)});
    Term result{node_.op("matmul", {left, right}), batch + rows + columns};
    Dims dims;
    for (char letter : result.letters)
      dims.push_back(sizes_.at(letter));
    result.value = node_.reshape(result.value, dims);
    return result;
  }

  Node &node_;
  std::vector<Term> terms_;
  size_t most_ = 0; ///< axes of the longest ellipsis
  std::string output_;
  std::map<char, Dim> sizes_;
  std::map<char, int> uses_;
};

} // namespace

void onnxEinsum(Node &node) { Einsum(node).run(); }

} // namespace backplane::frontend
