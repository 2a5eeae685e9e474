// SPDX-License-Identifier: Apache-2.0
//
// Lexer.h: PTX text to tokens. Names keep their sigils and dots: "%tid.x",
// ".visible", "ld.global.v2.f32" are one token each.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

namespace emulator {

enum class TokenKind { Name, Integer, Float32, Float64, Text, Punct, End };

struct Token {
  TokenKind kind = TokenKind::End;
  std::string_view text;
  // Of a number, its bits: of an integer the value, of a float the pattern.
  uint64_t bits = 0;
  uint32_t line = 0;

  bool is(std::string_view wanted) const {
    return text == wanted && kind != TokenKind::Text;
  }
};

// All tokens of `source`, the last of kind End. Throws Error with the line of
// what is no token.
std::vector<Token> tokenize(std::string_view source);

} // namespace emulator
