// SPDX-License-Identifier: Apache-2.0
#include "Lexer.h"

#include "Error.h"

#include <bit>
#include <cstdlib>
#include <string>

namespace emulator {
namespace {

bool isDigit(char c) { return c >= '0' && c <= '9'; }
bool isNameStart(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' ||
         c == '$' || c == '%' || c == '.';
}
bool isNameChar(char c) { return isNameStart(c) || isDigit(c) || c == ':'; }
bool isHex(char c) {
  return isDigit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}

class Lexer {
public:
  explicit Lexer(std::string_view source) : source(source) {}

  std::vector<Token> run() {
    while (skipSpace())
      tokens.push_back(next());
    tokens.push_back({TokenKind::End, "end of text", 0, line});
    return std::move(tokens);
  }

private:
  std::string_view source;
  size_t at = 0;
  uint32_t line = 1;
  std::vector<Token> tokens;

  char peek(size_t ahead = 0) const {
    return at + ahead < source.size() ? source[at + ahead] : '\0';
  }

  [[noreturn]] void bad(const std::string &what) const {
    fail(CUDA_ERROR_INVALID_PTX, "line " + std::to_string(line) + ": " + what);
  }

  // Past white space and comments; false at the end.
  bool skipSpace() {
    while (at < source.size()) {
      if (source[at] == '/' && peek(1) == '/') {
        while (at < source.size() && source[at] != '\n')
          ++at;
      } else if (source[at] == '/' && peek(1) == '*') {
        skipComment();
      } else if (source[at] == '\n') {
        ++line, ++at;
      } else if (source[at] == ' ' || source[at] == '\t' ||
                 source[at] == '\r') {
        ++at;
      } else {
        // A zero byte ends the text, as it does for the driver.
        return source[at] != '\0';
      }
    }
    return false;
  }

  void skipComment() {
    size_t end = source.find("*/", at + 2);
    if (end == std::string_view::npos)
      bad("a comment has no end");
    for (; at < end + 2; ++at)
      line += source[at] == '\n';
  }

  Token make(TokenKind kind, size_t from, uint64_t bits = 0) const {
    return {kind, source.substr(from, at - from), bits, line};
  }

  Token next() {
    size_t from = at;
    if (isDigit(peek()))
      return number();
    if (isNameStart(peek()))
      return name();
    if (peek() == '"') {
      size_t end = source.find('"', at + 1);
      if (end == std::string_view::npos)
        bad("a string has no end");
      at = end + 1;
      return {TokenKind::Text, source.substr(from + 1, end - from - 1), 0,
              line};
    }
    if (std::string_view("{}()[],;:@!|+-=<>*&~/?^").find(peek()) ==
        std::string_view::npos)
      bad(std::string("unexpected character '") + peek() + "'");
    ++at;
    return make(TokenKind::Punct, from);
  }

  Token name() {
    size_t from = at;
    // "::" is part of a modifier (".shared::cta"), ":" ends a label.
    while (isNameChar(peek())) {
      if (peek() == ':') {
        if (peek(1) != ':')
          break;
        ++at;
      }
      ++at;
    }
    return make(TokenKind::Name, from);
  }

  Token pattern(size_t digits, TokenKind kind) {
    size_t from = at;
    at += 2;
    uint64_t bits = 0;
    for (size_t i = 0; i < digits; ++i, ++at) {
      if (!isHex(peek()))
        bad("a float has " + std::to_string(i) + " hexadecimal digits, not " +
            std::to_string(digits));
      bits =
          bits << 4 | uint64_t(std::stoul(std::string(1, peek()), nullptr, 16));
    }
    return make(kind, from, bits);
  }

  Token number() {
    char second = peek(1);
    if (peek() == '0' && (second == 'f' || second == 'F'))
      return pattern(8, TokenKind::Float32);
    if (peek() == '0' && (second == 'd' || second == 'D'))
      return pattern(16, TokenKind::Float64);
    size_t from = at;
    int base = 10;
    if (peek() == '0' && (second == 'x' || second == 'X'))
      base = 16, at += 2;
    else if (peek() == '0' && (second == 'b' || second == 'B'))
      base = 2, at += 2;
    else if (peek() == '0' && isDigit(second))
      base = 8;
    size_t digits = at;
    while (base == 16 ? isHex(peek()) : isDigit(peek()))
      ++at;
    bool fraction = peek() == '.' && isDigit(peek(1));
    bool exponent = base == 10 && (peek() == 'e' || peek() == 'E');
    if (fraction || exponent)
      return decimal(from);
    std::string text(source.substr(digits, at - digits));
    uint64_t value = std::strtoull(text.c_str(), nullptr, base);
    if (peek() == 'U')
      ++at;
    return make(TokenKind::Integer, from, value);
  }

  Token decimal(size_t from) {
    std::string text(source.substr(from, 64));
    char *end = nullptr;
    double value = std::strtod(text.c_str(), &end);
    at = from + size_t(end - text.c_str());
    return make(TokenKind::Float64, from, std::bit_cast<uint64_t>(value));
  }
};

} // namespace

std::vector<Token> tokenize(std::string_view source) {
  return Lexer(source).run();
}

} // namespace emulator
