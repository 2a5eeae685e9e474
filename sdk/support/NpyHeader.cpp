// SPDX-License-Identifier: Apache-2.0
#include "NpyHeader.h"

#include <algorithm>
#include <charconv>

namespace backplane {
namespace {

class HeaderParser {
public:
  explicit HeaderParser(std::string_view text) : rest_(text) {}

  /// None when it is not as it should be.
  std::optional<NpyHeader> parse() {
    NpyHeader header;
    bool good = take('{');
    while (good && !take('}')) {
      good = member(header);
      if (good && !take(',')) {
        good = take('}');
        break;
      }
    }
    skip();
    if (!good || !rest_.empty() || !header.descr || !header.fortranOrder ||
        !header.shape)
      return std::nullopt;
    return header;
  }

private:
  void skip() {
    size_t at = rest_.find_first_not_of(" \n");
    rest_.remove_prefix(std::min(at, rest_.size()));
  }
  bool take(std::string_view word) {
    skip();
    bool found = rest_.starts_with(word);
    if (found)
      rest_.remove_prefix(word.size());
    return found;
  }
  bool take(char letter) { return take(std::string_view(&letter, 1)); }

  /// A text in quotes without escapes.
  std::optional<std::string> text() {
    skip();
    if (rest_.empty() || (rest_[0] != '\'' && rest_[0] != '"'))
      return std::nullopt;
    size_t end = rest_.find(rest_[0], 1);
    if (end == std::string_view::npos)
      return std::nullopt;
    std::string found(rest_.substr(1, end - 1));
    rest_.remove_prefix(end + 1);
    return found;
  }

  std::optional<int64_t> size() {
    skip();
    int64_t value = 0;
    auto [end, error] =
        std::from_chars(rest_.data(), rest_.data() + rest_.size(), value);
    if (error != std::errc() || rest_[0] == '-' ||
        (rest_[0] == '0' && end != rest_.data() + 1))
      return std::nullopt;
    rest_.remove_prefix(size_t(end - rest_.data()));
    return value;
  }

  /// A tuple: (), (3,) or (3, 4) with a comma behind it or not.
  std::optional<std::vector<int64_t>> shape() {
    constexpr size_t maxRank = 64;
    std::vector<int64_t> dims;
    if (!take('('))
      return std::nullopt;
    bool comma = true;
    while (!take(')')) {
      std::optional<int64_t> dim = comma ? size() : std::nullopt;
      if (!dim || dims.size() == maxRank)
        return std::nullopt;
      dims.push_back(*dim);
      comma = take(',');
    }
    if (dims.size() == 1 && !comma) // a number in parentheses is no tuple
      return std::nullopt;
    return dims;
  }

  std::optional<bool> boolean() {
    if (take("True"))
      return true;
    return take("False") ? std::optional(false) : std::nullopt;
  }

  bool member(NpyHeader &header) {
    std::optional<std::string> key = text();
    if (!key || !take(':'))
      return false;
    if (*key == "descr" && !header.descr)
      return (header.descr = text()).has_value();
    if (*key == "fortran_order" && !header.fortranOrder)
      return (header.fortranOrder = boolean()).has_value();
    if (*key == "shape" && !header.shape)
      return (header.shape = shape()).has_value();
    return false;
  }

  std::string_view rest_;
};

} // namespace

std::optional<NpyHeader> parseNpyHeader(std::string_view text) {
  return HeaderParser(text).parse();
}

} // namespace backplane
