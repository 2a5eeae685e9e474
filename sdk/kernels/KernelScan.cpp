// SPDX-License-Identifier: Apache-2.0
#include "sdk/kernels/KernelScan.h"

#include <charconv>

namespace backplane::syntax {

static constexpr size_t maxText = 65536;
static constexpr size_t maxString = 256;

std::string placeOf(std::string_view text, Offset at) {
  size_t line = 1, column = 1;
  for (char c : text.substr(0, at)) {
    column = c == '\n' ? 1 : column + 1;
    line += c == '\n';
  }
  return "line " + std::to_string(line) + ", column " + std::to_string(column) +
         ": ";
}

Scanner::Scanner(std::string_view text) : text_(text) {
  if (text.size() <= maxText)
    return;
  error_ = invalidArgument("the text of a kernel has " +
                           std::to_string(text.size()) +
                           " bytes, the limit is " + std::to_string(maxText));
  at_ = text.size();
}

void Scanner::fail(Offset at, const std::string &message) {
  if (!ok())
    return;
  error_ = invalidArgument(placeOf(text_, at) + message);
  at_ = text_.size();
}

Offset Scanner::skipSpace(Offset at) const {
  while (at < text_.size()) {
    if (text_.substr(at, 2) == "//")
      at = std::min(text_.find('\n', at), text_.size());
    else if (std::string_view(" \t\r\n").find(text_[at]) != text_.npos)
      ++at;
    else
      break;
  }
  return at;
}

Offset Scanner::offset() { return at_ = skipSpace(at_); }

static bool isWord(char c) {
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') ||
         (c >= 'A' && c <= 'Z') || c == '_';
}

std::string_view Scanner::wordAt(Offset at) const {
  Offset end = at;
  while (end < text_.size() && isWord(text_[end]))
    ++end;
  return text_.substr(at, end - at);
}

std::string_view Scanner::peekWord() { return wordAt(offset()); }

std::string_view Scanner::nextWord() {
  return wordAt(skipSpace(offset() + peekWord().size()));
}

char Scanner::peekSign() {
  Offset at = offset();
  return at < text_.size() ? text_[at] : 0;
}

std::string Scanner::quoted(std::string_view text) {
  constexpr char digits[] = "0123456789abcdef";
  std::string result = "\"";
  for (char c : text.substr(0, 64)) {
    if (c >= ' ' && c <= '~' && c != '"' && c != '\\')
      result += c;
    else
      result += {'\\', 'x', digits[uint8_t(c) >> 4], digits[uint8_t(c) & 15]};
  }
  return result + (text.size() > 64 ? "…\"" : "\"");
}

std::string Scanner::found() {
  if (atEnd())
    return "the end";
  std::string_view word = peekWord();
  return quoted(word.empty() ? text_.substr(at_, 1) : word);
}

std::string Scanner::textFrom(Offset at) const {
  std::string_view text = text_.substr(at, at_ - at);
  size_t end = text.find_last_not_of(" \t\r\n");
  return std::string(text.substr(0, end == text.npos ? 0 : end + 1));
}

bool Scanner::takeSign(std::string_view sign) {
  if (!text_.substr(offset()).starts_with(sign))
    return false;
  at_ += sign.size();
  return true;
}

bool Scanner::take(std::string_view token) {
  if (!isWord(token[0]))
    return takeSign(token);
  if (peekWord() != token)
    return false;
  at_ += token.size();
  return true;
}

void Scanner::expect(std::string_view token) {
  if (ok() && !take(token))
    fail(offset(), "expected " + std::string(token) + ", found " + found());
}

std::string Scanner::word(std::string_view what) {
  std::string_view word = peekWord();
  if (word.empty())
    fail(offset(), "expected " + std::string(what) + ", found " + found());
  at_ += word.size();
  return std::string(word);
}

template <typename T> T Scanner::parsed(const char *what) {
  Offset at = offset();
  T value = 0;
  const char *end = text_.data() + text_.size();
  auto [stop, code] = std::from_chars(text_.data() + at, end, value);
  if (code != std::errc() || (stop != end && (isWord(*stop) || *stop == '.')))
    fail(at, "expected " + std::string(what) + ", found " + found());
  else
    at_ = Offset(stop - text_.data());
  return value;
}

int64_t Scanner::integer() { return parsed<int64_t>("an integer of 64 bits"); }
double Scanner::number() { return parsed<double>("a number"); }

bool Scanner::boolean() {
  bool value = take("true") || take("1");
  if (!value && !take("false") && !take("0"))
    fail(offset(), "expected true or false, found " + found());
  return value;
}

std::string Scanner::string() {
  expect("\"");
  size_t size = std::min(text_.find_first_of("\"\n", at_), text_.size()) - at_;
  if (size > maxString)
    fail(at_, "expected a string of at most " + std::to_string(maxString) +
                  " characters");
  if (!ok())
    return {};
  std::string text(text_.substr(at_, size));
  at_ += size;
  if (!text_.substr(at_).starts_with("\""))
    fail(at_, "expected \" at the end of a string");
  else
    ++at_;
  return text;
}

std::vector<int64_t> Scanner::integers(size_t most) {
  std::vector<int64_t> values;
  expect("[");
  while (ok() && !take("]")) {
    if (!values.empty())
      expect(",");
    if (values.size() == most)
      fail(offset(), "expected at most " + std::to_string(most) + " integers");
    values.push_back(integer());
  }
  return values;
}

Bytes Scanner::bytes(size_t most) {
  Offset at = offset();
  std::string_view digits = peekWord().substr(2);
  Bytes bytes;
  if (digits.size() % 2 || digits.size() / 2 > most) {
    fail(at, "expected two digits a byte of at most " + std::to_string(most));
    return bytes;
  }
  for (size_t i = 0; i < digits.size(); i += 2) {
    uint8_t byte = 0;
    const char *end = digits.data() + i + 2;
    if (std::from_chars(digits.data() + i, end, byte, 16).ptr != end)
      fail(at, "expected hexadecimal digits");
    bytes.push_back(byte);
  }
  at_ = ok() ? at + 2 + digits.size() : at_;
  return bytes;
}

std::string_view Scanner::until(std::string_view ends) {
  Offset start = offset(), end = start;
  size_t depth = 0;
  for (; end < text_.size(); ++end) {
    char c = text_[end];
    if (c == '\n' || text_.substr(end, 2) == "//" ||
        (depth == 0 && ends.find(c) != ends.npos))
      break;
    depth += c == '(';
    depth -= c == ')' && depth > 0;
  }
  at_ = end;
  std::string_view text = text_.substr(start, end - start);
  size_t last = text.find_last_not_of(" \t\r");
  text = text.substr(0, last == text.npos ? 0 : last + 1);
  if (text.empty())
    fail(start, "expected a size, found " + found());
  return text;
}

} // namespace backplane::syntax
