// SPDX-License-Identifier: Apache-2.0
#include "Ptx.h"

#include <cctype>
#include <charconv>
#include <utility>

namespace backplane::cuda {
namespace {

bool isWord(char c) {
  auto plain = static_cast<unsigned char>(c);
  return std::isalnum(plain) || c == '_' || c == '$' || c == '%' || c == '.';
}

/// Words (with their dots) and single characters, without comments and space.
class Tokens {
public:
  explicit Tokens(std::string_view text) : rest_(text) {}

  /// Empty: the end.
  std::string_view next() {
    skip();
    if (rest_.empty())
      return {};
    size_t length = 1;
    if (rest_.front() == '"')
      length = std::min(rest_.find('"', 1), rest_.size() - 1) + 1;
    else if (isWord(rest_.front()))
      while (length < rest_.size() && isWord(rest_[length]))
        ++length;
    return take(length);
  }

private:
  std::string_view take(size_t length) {
    std::string_view taken = rest_.substr(0, length);
    rest_.remove_prefix(taken.size());
    return taken;
  }
  void skip() {
    while (!rest_.empty()) {
      if (std::isspace(static_cast<unsigned char>(rest_.front())))
        take(1);
      else if (rest_.starts_with("//"))
        take(std::min(rest_.find('\n'), rest_.size()));
      else if (rest_.starts_with("/*"))
        take(std::min(rest_.find("*/", 2), rest_.size() - 2) + 2);
      else
        return;
    }
  }

  std::string_view rest_;
};

uint32_t numberOf(std::string_view text) {
  uint32_t value = 0;
  auto end = std::from_chars(text.data(), text.data() + text.size(), value);
  return end.ec == std::errc() ? value : 0;
}

/// Bytes of ".u64"; 0: no type.
uint32_t bytesOf(std::string_view type) {
  if (type.size() < 3 || type[0] != '.' ||
      std::string_view("usbf").find(type[1]) == std::string_view::npos)
    return 0;
  return numberOf(type.substr(2)) / 8;
}

/// More than all parameters of a kernel have.
constexpr uint32_t maxBytes = 1 << 15;

/// How many elements "[N]" has, behind its bracket; 0: what it says is no plain
/// number, or too large for parameters.
uint32_t readLength(Tokens &tokens) {
  const uint32_t length = numberOf(tokens.next());
  return tokens.next() == "]" && length < maxBytes ? length : 0;
}

/// The parameters up to the closing parenthesis.
std::vector<uint32_t> readParameters(Tokens &tokens) {
  std::vector<uint32_t> sizes;
  bool pointer = false; // behind .ptr come the space and alignment it is to
  for (std::string_view token = tokens.next(); !token.empty() && token != ")";
       token = tokens.next()) {
    if (token == ".param") {
      sizes.push_back(0);
      pointer = false;
    } else if (sizes.empty()) {
      continue;
    } else if (token == ".ptr") {
      pointer = true;
    } else if (token == "[") {
      sizes.back() = std::min(sizes.back(), maxBytes) * readLength(tokens);
    } else if (uint32_t bytes = bytesOf(token); bytes && !pointer) {
      sizes.back() = bytes;
    }
  }
  return sizes;
}

} // namespace

bool readEntries(std::string_view text, Entries &out, std::string *reason) {
  Tokens tokens(text);
  if (text.find('\0') != std::string_view::npos ||
      tokens.next() != ".version") {
    *reason = "damaged blob: it does not begin as PTX does";
    return false;
  }
  for (std::string_view token = tokens.next(); !token.empty();
       token = tokens.next()) {
    if (token != ".entry")
      continue;
    std::string name(tokens.next());
    std::vector<uint32_t> sizes;
    if (tokens.next() == "(")
      sizes = readParameters(tokens);
    auto [place, isNew] = out.try_emplace(std::move(name), sizes);
    if (!isNew && place->second != sizes) {
      *reason = "damaged blob: entry \"" + place->first +
                "\" is there twice, with other parameters";
      return false;
    }
  }
  return true;
}

} // namespace backplane::cuda
