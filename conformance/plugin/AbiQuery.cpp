// SPDX-License-Identifier: Apache-2.0
//
// AbiQuery.cpp: the one exported function: how it fills its struct, and that
// it is pure.
#include "Groups.h"
#include "Library.h"
#include "sdk/support/Pages.h"

#include <algorithm>
#include <cstring>
#include <regex>
#include <thread>

namespace backplane::checks {
namespace {

constexpr uint8_t untouched = 0x5C;

/// The struct at the end of a page, followed by one that nobody may touch.
/// `size` is what the header says.
bp_plugin_info_t *structOf(Pages &pages, uint32_t size) {
  uint8_t *data = pages.end() - std::max<uint32_t>(size, sizeof(bp_header_t));
  std::memset(data, 0, size_t(pages.end() - data));
  auto *info = reinterpret_cast<bp_plugin_info_t *>(data);
  info->header = {bp_plugin_info_t_TYPE, size, nullptr};
  return info;
}

/// Every member that fits is as in the whole answer, every other untouched.
void smaller(Trial &trial, uint32_t size) {
  Library library(trial);
  bp_plugin_info_t whole = library.info();
  Pages pages(4096);
  if (!trial.ok() || !pages.end())
    return;
  bp_plugin_info_t *info = structOf(pages, size);
  bp_host_info_t host = hostInfo();
  library.query()(&host, info);
  uint32_t given = info->header.size;
  trial.expect(given <= size, "the query set header.size to " +
                                  std::to_string(given) + " in a struct of " +
                                  std::to_string(size) + " bytes");
  const auto *bytes = reinterpret_cast<const uint8_t *>(info);
  constexpr uint32_t first = sizeof(bp_header_t);
  uint32_t filled = std::min(given, size);
  if (filled > first)
    trial.expect(std::memcmp(bytes + first,
                             reinterpret_cast<const uint8_t *>(&whole) + first,
                             filled - first) == 0,
                 "the query fills a struct of " + std::to_string(size) +
                     " bytes in another way than a whole one");
  trial.expect(std::all_of(bytes + std::max(filled, first),
                           bytes + std::max(size, first),
                           [](uint8_t byte) { return byte == 0; }),
               "the query wrote behind the size that it gives");
}

/// A host of a later minor version gives a larger struct.
void larger(Trial &trial, uint32_t extra) {
  Library library(trial);
  if (!trial.ok())
    return;
  std::vector<uint64_t> memory(8192 / 8);
  auto *bytes = reinterpret_cast<uint8_t *>(memory.data());
  const uint32_t size = sizeof(bp_plugin_info_t) + extra;
  std::memset(bytes + size, untouched, 8192 - size);
  auto *info = reinterpret_cast<bp_plugin_info_t *>(bytes);
  info->header = {bp_plugin_info_t_TYPE, size, nullptr};
  bp_host_info_t host = hostInfo();
  int32_t status = library.query()(&host, info);
  trial.expect(status == BP_STATUS_OK && info->header.size <= size,
               "the query refuses a struct that is larger than it knows");
  trial.expect(std::all_of(bytes + size, bytes + 8192,
                           [](uint8_t byte) { return byte == untouched; }),
               "the query wrote behind a struct of " + std::to_string(size) +
                   " bytes");
  trial.expect(std::all_of(bytes + std::min(info->header.size, size),
                           bytes + size, [](uint8_t byte) { return !byte; }),
               "the query wrote behind the size that it gives");
  trial.expect(info->plugin, "the query gave no plug-in table");
}

void hostOf(Trial &trial, bp_host_info_t host) {
  Library library(trial);
  if (!trial.ok())
    return;
  bp_plugin_info_t info = {BP_HEADER(bp_plugin_info_t)};
  int32_t status = library.query()(&host, &info);
  bool serves = host.minor_high >= info.required_minor;
  trial.expect(status == BP_STATUS_OK || !serves,
               "the query gave status " + std::to_string(status) +
                   " to a host that has what the plug-in requires");
}

/// The host's struct ends at a page that nobody may read.
void shortHost(Trial &trial) {
  Library library(trial);
  Pages pages(4096);
  if (!trial.ok() || !pages.end())
    return;
  const uint32_t size = offsetof(bp_host_info_t, version);
  uint8_t *data = pages.end() - size;
  bp_host_info_t host = hostInfo();
  host.header.size = size;
  std::memcpy(data, &host, size);
  bp_plugin_info_t info = {BP_HEADER(bp_plugin_info_t)};
  library.query()(reinterpret_cast<bp_host_info_t *>(data), &info);
}

bool sameInfo(const bp_plugin_info_t &a, const bp_plugin_info_t &b) {
  return std::memcmp(&a, &b, sizeof(a)) == 0;
}

void repeats(Trial &trial) {
  Library library(trial);
  bp_plugin_info_t first = library.info();
  for (int i = 0; i < 1000 && trial.ok(); ++i)
    trial.expect(sameInfo(library.info(), first),
                 "call " + std::to_string(i + 2) +
                     " of the query gives another answer than the first");
}

void concurrent(Trial &trial) {
  Library library(trial);
  bp_plugin_info_t first = library.info();
  std::vector<std::thread> threads;
  for (int t = 0; t < 8; ++t)
    threads.emplace_back([&] {
      for (int i = 0; i < 500 && trial.ok(); ++i)
        trial.expect(sameInfo(library.info(), first),
                     "concurrent calls of the query give different answers");
    });
  for (std::thread &thread : threads)
    thread.join();
}

void mappedTwice(Trial &trial) {
  Library library(trial), again(trial);
  trial.expect(library.query() == again.query(),
               "mapping the library again gives another copy of it");
  trial.expect(sameInfo(library.info(), again.info()),
               "mapping the library again gives another answer");
  again.unload();
  library.info();
}

// ---- What it says ----

void names(Trial &trial) {
  bp_plugin_info_t info = Library(trial).info();
  std::string name(view(info.name));
  auto allowed = [&](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '-';
  };
  trial.expect(!name.empty() && name.size() <= 32 && name[0] >= 'a' &&
                   name[0] <= 'z' &&
                   std::all_of(name.begin(), name.end(), allowed),
               "the name '" + name + "' does not match [a-z][a-z0-9_-]{0,31}");
  trial.expect(name == trial.tested().name, "the library calls itself '" +
                                                name + "', its manifest '" +
                                                trial.tested().name + "'");
}

void vendor(Trial &trial) {
  bp_plugin_info_t info = Library(trial).info();
  trial.expect(info.vendor.size > 0 && info.vendor.size <= 256 &&
                   info.vendor.data,
               "the vendor's name is missing or longer than 256 bytes");
}

void version(Trial &trial) {
  bp_plugin_info_t info = Library(trial).info();
  std::string text(view(info.version));
  static const std::regex form("[0-9]+\\.[0-9]+\\.[0-9]+");
  trial.expect(std::regex_match(text, form),
               "the version '" + text + "' is not MAJOR.MINOR.PATCH");
}

void minors(Trial &trial) {
  bp_plugin_info_t info = Library(trial).info();
  trial.expect(info.required_minor <= info.built_minor,
               "required_minor is above built_minor");
  trial.expect(info.built_minor >= 1, "built_minor is 0, which no SDK had");
}

void flags(Trial &trial) {
  bp_plugin_info_t info = Library(trial).info();
  trial.expect(info.built_minor > BP_ABI_MINOR ||
                   !(info.flags & ~uint64_t(BP_PLUGIN_UNLOADABLE)),
               "the library sets flags that its minor version does not have");
}

void tablesComplete(Trial &trial) {
  bp_plugin_info_t info = Library(trial).info();
  bool any = info.driver || info.memory || info.executable || info.queue;
  bool all = info.driver && info.memory && info.executable && info.queue;
  trial.expect(info.plugin, "the plug-in table is missing");
  trial.expect(any == all, "a driver sets driver, memory, executable and "
                           "queue; some of them are missing");
  trial.expect(all, "the library has no driver, which its manifest says");
}

void unmapped(Trial &trial) {
  Library library(trial);
  bp_plugin_info_t info = library.info();
  if (!trial.ok())
    return;
  if (!(info.flags & BP_PLUGIN_UNLOADABLE))
    return trial.skip("the plug-in does not declare BP_PLUGIN_UNLOADABLE");
  for (int i = 0; i < 50 && trial.ok(); ++i) {
    Library again(trial);
    again.info();
    again.unload();
  }
}

} // namespace

void addQuery(Checks &all) {
  Group sizes(all, "L0/query/size",
              "bp_plugin_query_v0 writes at most header.size bytes of a struct "
              "of any size and says how many.",
              {"struct-size"});
  for (uint32_t size = 0; size <= sizeof(bp_plugin_info_t); size += 8)
    sizes.add(std::to_string(size),
              size % 32 == 0 ? Depth::Smoke : Depth::Standard, smaller, size);
  for (uint32_t extra : {8, 64, 1000, 4096})
    sizes.add("larger-by-" + std::to_string(extra), larger, extra);
  Group host(all, "L0/query/host",
             "bp_plugin_query_v0 answers hosts of every version.",
             {"struct-size"});
  for (uint32_t high : {0u, 1u, 2u, 1000u, UINT32_MAX})
    host.add("minor-" + std::to_string(high), [high](Trial &trial) {
      bp_host_info_t info = hostInfo();
      info.minor_high = high;
      hostOf(trial, info);
    });
  host.add("without-version", [](Trial &trial) {
    bp_host_info_t info = hostInfo();
    info.version = {};
    hostOf(trial, info);
  });
  host.add("shorter-struct", shortHost);
  host.add("unknown-extension", [](Trial &trial) {
    const bp_header_t unknown = {0x7ABC, sizeof(unknown), nullptr};
    bp_host_info_t info = hostInfo();
    info.header.next = &unknown;
    hostOf(trial, info);
  });
  Group pure(all, "L0/query/pure",
             "bp_plugin_query_v0 may be called any number of times, from any "
             "thread, and always gives the same.");
  pure.add("repeats", Depth::Smoke, repeats);
  pure.add("concurrent", concurrent);
  pure.add("mapped-twice", mappedTwice);
  pure.add("unmapped-and-mapped", unmapped);
  Group says(all, "L0/query/info",
             "What the library says of itself is complete and well-formed.");
  says.add("name", Depth::Smoke, names);
  says.add("vendor", vendor);
  says.add("version", version);
  says.add("minor-versions", minors);
  says.add("flags", flags);
  says.add("tables", Depth::Smoke, tablesComplete);
}

} // namespace backplane::checks
