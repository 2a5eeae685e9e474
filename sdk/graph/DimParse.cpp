// SPDX-License-Identifier: Apache-2.0
#include "Dim.h"

#include <array>
#include <charconv>

namespace backplane {

namespace {

constexpr size_t maxLength = 4096;
constexpr int maxDepth = 64;

/// Recursive descent over one text. After the first error everything is 0.
class Parser {
public:
  explicit Parser(std::string_view text) : text_(text), rest_(text) {}

  Result<Dim> run() {
    if (text_.size() > maxLength)
      return invalidArgument("dim has " + std::to_string(text_.size()) +
                             " characters, the limit is 4096");
    Dim dim = sum();
    if (error_.empty() && !peek().empty())
      fail("an operator");
    if (error_.empty() && !dim.valid())
      error_ = "is too complex or overflows 64 bits";
    if (!error_.empty())
      return invalidArgument("dim \"" + std::string(text_) + "\" " + error_);
    return dim;
  }

private:
  void fail(std::string_view wanted) {
    if (!error_.empty())
      return;
    size_t at = text_.size() - rest_.size();
    error_ = "needs " + std::string(wanted) + " at character " +
             std::to_string(at + 1);
  }

  /// The next word, number or sign; empty at the end.
  std::string_view peek() {
    while (!rest_.empty() && rest_[0] == ' ')
      rest_.remove_prefix(1);
    size_t size = 0;
    while (size < rest_.size() && isWord(rest_[size]))
      ++size;
    return rest_.substr(0, rest_.empty() || size > 0 ? size : 1);
  }

  static bool isDigit(char c) { return c >= '0' && c <= '9'; }
  static bool isWord(char c) {
    return isDigit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
           c == '_';
  }

  bool take(std::string_view token) {
    if (!error_.empty() || peek() != token)
      return false;
    rest_.remove_prefix(token.size());
    return true;
  }

  void expect(std::string_view token) {
    if (!take(token))
      fail("\"" + std::string(token) + "\"");
  }

  Dim sum() {
    Dim dim = term();
    while (error_.empty()) {
      if (take("+"))
        dim = dim + term();
      else if (take("-"))
        dim = dim - term();
      else
        break;
    }
    return dim;
  }

  Dim term() {
    Dim dim = factor();
    while (error_.empty()) {
      if (take("*"))
        dim = dim * factor();
      else if (take("floordiv"))
        dim = floorDiv(dim, factor());
      else if (take("ceildiv"))
        dim = ceilDiv(dim, factor());
      else if (take("mod"))
        dim = mod(dim, factor());
      else
        break;
    }
    return dim;
  }

  Dim factor() {
    if (++depth_ > maxDepth && error_.empty())
      error_ = "is nested deeper than 64";
    Dim dim = error_.empty() ? nested() : Dim();
    --depth_;
    return dim;
  }

  Dim nested() {
    if (take("-"))
      return !peek().empty() && isDigit(peek()[0]) ? number("-")
                                                   : Dim(0) - factor();
    if (take("(")) {
      Dim dim = sum();
      expect(")");
      return dim;
    }
    for (std::string_view name : {"min", "max", "truncdiv", "less", "equal"})
      if (take(name))
        return call(name, arguments<2>());
    if (take("select")) {
      auto [condition, a, b] = arguments<3>();
      return select(condition, a, b);
    }
    std::string_view token = peek();
    if (!token.empty() && isDigit(token[0]))
      return number("");
    if (!Dim::isSymbolName(token)) {
      fail("a number, a symbol or \"(\"");
      return Dim();
    }
    take(token);
    return Dim::symbol(token);
  }

  static Dim call(std::string_view name, const std::array<Dim, 2> &operands) {
    const auto &[a, b] = operands;
    if (name == "min")
      return min(a, b);
    if (name == "max")
      return max(a, b);
    if (name == "truncdiv")
      return truncDiv(a, b);
    return name == "less" ? less(a, b) : equal(a, b);
  }

  template <size_t N> std::array<Dim, N> arguments() {
    std::array<Dim, N> dims;
    for (size_t i = 0; i < N; ++i) {
      expect(i == 0 ? "(" : ",");
      dims[i] = sum();
    }
    expect(")");
    return dims;
  }

  Dim number(const char *sign) {
    std::string_view token = peek();
    std::string digits = sign + std::string(token);
    int64_t value = 0;
    const char *end = digits.data() + digits.size();
    auto [stop, code] = std::from_chars(digits.data(), end, value);
    if (code != std::errc() || stop != end)
      fail("a number of 64 bits");
    take(token);
    return value;
  }

  std::string_view text_;
  std::string_view rest_;
  std::string error_;
  int depth_ = 0;
};

} // namespace

Result<Dim> Dim::parse(std::string_view text) { return Parser(text).run(); }

} // namespace backplane
