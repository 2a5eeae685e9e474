// SPDX-License-Identifier: Apache-2.0
#include "ReadableText.h"

#include <algorithm>
#include <cstdint>
#include <utility>

namespace backplane {
namespace {

bool continues(char byte) { return (uint8_t(byte) & 0xC0) == 0x80; }

uint32_t codePoint(std::string_view character) {
  uint32_t code = uint8_t(character[0]);
  if (character.size() > 1)
    code &= 0x7Fu >> character.size();
  for (size_t i = 1; i < character.size(); ++i)
    code = code << 6 | (uint8_t(character[i]) & 0x3F);
  return code;
}

/// No surrogate, nothing that breaks or reorders a line, nothing invisible.
bool isAllowed(uint32_t code) {
  constexpr std::pair<uint32_t, uint32_t> ranges[] = {
      {0x200B, 0x200F},   {0x2028, 0x202E},      {0x2060, 0x206F},
      {0xD800, 0xDFFF},   {0xFEFF, 0xFEFF},      {0xFFF9, 0xFFFB},
      {0xE0000, 0xE0FFF}, {0x110000, UINT32_MAX}};
  return std::ranges::none_of(ranges, [=](auto range) {
    return code >= range.first && code <= range.second;
  });
}

/// Bytes of the UTF-8 character in front, 0 when there is none to show.
size_t characterBytes(std::string_view text) {
  auto first = uint8_t(text[0]);
  size_t size = first < 0x80                    ? 1
                : first >= 0xC2 && first < 0xE0 ? 2
                : first >= 0xE0 && first < 0xF0 ? 3
                : first >= 0xF0 && first < 0xF5 ? 4
                                                : 0;
  if (size == 0 || size > text.size())
    return 0;
  for (size_t i = 1; i < size; ++i)
    if (!continues(text[i]))
      return 0;
  constexpr uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
  uint32_t code = codePoint(text.substr(0, size));
  return code >= least[size] && isAllowed(code) ? size : 0;
}

/// One byte in an escaped form.
std::string escaped(char byte) {
  constexpr const char *digits = "0123456789abcdef";
  if (byte == '\n')
    return "\\n";
  if (byte == '\t')
    return "\\t";
  auto value = uint8_t(byte);
  return std::string("\\x") + digits[value >> 4] + digits[value & 15];
}

bool isControl(std::string_view character) {
  auto first = uint8_t(character[0]);
  // Those of one byte, and the second set, which UTF-8 gives two.
  return first < 0x20 || first == 0x7F ||
         (first == 0xC2 && uint8_t(character[1]) < 0xA0);
}

std::string escape(std::string_view text) {
  std::string result;
  while (!text.empty()) {
    size_t size = characterBytes(text);
    std::string_view character = text.substr(0, std::max<size_t>(size, 1));
    if (size == 0 || isControl(character))
      for (char byte : character)
        result += escaped(byte);
    else
      result += character;
    text.remove_prefix(character.size());
  }
  return result;
}

/// Leaves out the middle of a text that is too long.
std::string shorten(std::string_view text, size_t most) {
  if (text.size() <= most)
    return std::string(text);
  size_t head = most * 2 / 3, tail = text.size() - most / 3;
  while (head > 0 && continues(text[head]))
    --head;
  while (tail < text.size() && continues(text[tail]))
    ++tail;
  return std::string(text.substr(0, head)) + "[" + std::to_string(tail - head) +
         " bytes]" + std::string(text.substr(tail));
}

} // namespace

std::string readable(std::string_view text, size_t most) {
  return shorten(escape(text), most);
}

std::string readableLines(std::string_view text) {
  std::string result;
  while (!text.empty()) {
    size_t end = std::min(text.find_first_of(" \n"), text.size());
    result += readable(text.substr(0, end));
    if (end < text.size())
      result += text[end++];
    text.remove_prefix(end);
  }
  return result;
}

std::string readableMessage(std::string_view message) {
  constexpr size_t maxBytes = 2000;
  std::string result;
  while (true) {
    size_t open = message.find('\'');
    size_t close =
        open == std::string_view::npos ? open : message.find('\'', open + 1);
    if (close == std::string_view::npos)
      break;
    result += escape(message.substr(0, open)) + "'" +
              readable(message.substr(open + 1, close - open - 1)) + "'";
    message.remove_prefix(close + 1);
  }
  result += escape(message);
  return shorten(result, maxBytes);
}

} // namespace backplane
