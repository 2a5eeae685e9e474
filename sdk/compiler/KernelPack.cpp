// SPDX-License-Identifier: Apache-2.0
#include "sdk/compiler/KernelPack.h"

#include <cstring>

using namespace backplane;

namespace {

constexpr uint32_t packMagic = 0x334b5042; // "BPK3"

struct Writer {
  Bytes bytes;

  void number(uint32_t value) {
    for (int i = 0; i < 4; ++i)
      bytes.push_back(uint8_t(value >> (8 * i)));
  }
  template <typename Range> void range(const Range &data) {
    number(uint32_t(data.size()));
    bytes.insert(bytes.end(), data.begin(), data.end());
  }
};

/// Reads what Writer wrote; `ok` turns false at the first thing missing.
struct Reader {
  std::span<const uint8_t> rest;
  bool ok = true;

  uint32_t number() {
    if (rest.size() < 4) {
      ok = false;
      return 0;
    }
    uint32_t value = 0;
    for (int i = 0; i < 4; ++i)
      value |= uint32_t(rest[size_t(i)]) << (8 * i);
    rest = rest.subspan(4);
    return value;
  }
  template <typename Container> void range(Container &out) {
    uint32_t size = number();
    if (!ok || size > rest.size()) {
      ok = false;
      return;
    }
    out.assign(rest.begin(), rest.begin() + size);
    rest = rest.subspan(size);
  }
};

} // namespace

Bytes backplane::packKernel(const Kernel &kernel) {
  Writer writer;
  writer.number(packMagic);
  writer.range(kernel.code);
  writer.range(kernel.name);
  for (const std::string &size : kernel.grid)
    writer.range(size);
  writer.range(kernel.workspace);
  writer.range(kernel.access);
  writer.number(kernel.constantCount);
  for (uint32_t size : kernel.workgroup)
    writer.number(size);
  writer.number(uint32_t(kernel.inPlace.size()));
  for (uint32_t input : kernel.inPlace)
    writer.number(input);
  return std::move(writer.bytes);
}

std::optional<Kernel> backplane::unpackKernel(std::span<const uint8_t> bytes) {
  Reader reader{bytes};
  Kernel kernel;
  if (reader.number() != packMagic)
    return std::nullopt;
  reader.range(kernel.code);
  reader.range(kernel.name);
  for (std::string &size : kernel.grid)
    reader.range(size);
  reader.range(kernel.workspace);
  reader.range(kernel.access);
  kernel.constantCount = reader.number();
  for (uint32_t &size : kernel.workgroup)
    size = reader.number();
  for (uint32_t left = reader.number(); reader.ok && left > 0; --left)
    kernel.inPlace.push_back(reader.number());
  if (!reader.ok || !reader.rest.empty())
    return std::nullopt;
  return kernel;
}
