// SPDX-License-Identifier: Apache-2.0
//
// AbiTables.cpp: the tables of functions, as the plug-in gives them.
#include "Fixture.h"
#include "Groups.h"

#include "backplane/compiler.h"

#include <cstring>

namespace backplane::checks {
namespace {

struct TableKind {
  const char *name;
  uint32_t type;
  uint32_t required; ///< functions that must be there, the first ones
  uint32_t functions;
  /// Member of bp_plugin_info_t, or the name to ask get_table for.
  const void *(*member)(const bp_plugin_info_t &info);
  const char *extension;
};

template <auto Member> const void *memberOf(const bp_plugin_info_t &info) {
  return info.*Member;
}

using Info = bp_plugin_info_t;
constexpr TableKind kinds[] = {
    {"plugin", bp_plugin_table_t_TYPE, 2, 3, memberOf<&Info::plugin>, nullptr},
    {"driver", bp_driver_table_t_TYPE, 3, 3, memberOf<&Info::driver>, nullptr},
    {"memory", bp_memory_table_t_TYPE, 4, 4, memberOf<&Info::memory>, nullptr},
    {"executable", bp_executable_table_t_TYPE, 2, 2,
     memberOf<&Info::executable>, nullptr},
    {"queue", bp_queue_table_t_TYPE, 3, 3, memberOf<&Info::queue>, nullptr},
    {"compiler", bp_compiler_table_t_TYPE, 1, 7, memberOf<&Info::compiler>,
     nullptr},
    {"memory2", bp_memory2_table_t_TYPE, 0, 2, nullptr, "backplane.memory2"},
    {"semaphore", bp_semaphore_table_t_TYPE, 6, 6, nullptr,
     "backplane.semaphore"},
    {"command_buffer", bp_command_buffer_table_t_TYPE, 3, 3, nullptr,
     "backplane.command_buffer"},
    {"timestamps", bp_timestamps_table_t_TYPE, 1, 1, nullptr,
     "backplane.timestamps"},
    {"interop", bp_interop_table_t_TYPE, 0, 1, nullptr, "backplane.interop"},
};

/// A table of a plug-in that stays initialised as long as this object.
class Given {
public:
  Given(Trial &trial, const TableKind &kind) : fixture_(trial) {
    if (!fixture_.good())
      return;
    bp_plugin_info_t info = Library(trial).info();
    table = kind.member ? kind.member(info)
                        : fixture_.plugin().get_table(fixture_.self(),
                                                      toC(kind.extension), 0);
    if (!table)
      trial.skip(std::string("the library has no ") + kind.name + " table");
  }
  const bp_header_t &header() const {
    return *static_cast<const bp_header_t *>(table);
  }
  /// Function `index`, null where the table is shorter.
  void *function(uint32_t index) const {
    uint32_t offset = uint32_t(sizeof(bp_header_t) + index * sizeof(void *));
    void *pointer = nullptr;
    if (header().size >= offset + sizeof(void *))
      std::memcpy(&pointer, static_cast<const char *>(table) + offset,
                  sizeof(pointer));
    return pointer;
  }

  const void *table = nullptr;

private:
  Fixture fixture_;
};

std::string the(const TableKind &kind) {
  return std::string("the ") + kind.name + " table";
}

void header(Trial &trial, const TableKind &kind) {
  Given given(trial, kind);
  if (!trial.ok())
    return;
  trial.expect(reinterpret_cast<uintptr_t>(given.table) % 8 == 0,
               the(kind) + " is not aligned to 8 bytes");
  trial.expectOk(checkStruct(given.table, kind.type, kind.name), "header");
}

void size(Trial &trial, const TableKind &kind) {
  Given given(trial, kind);
  if (!trial.ok())
    return;
  uint32_t least =
      uint32_t(sizeof(bp_header_t) + kind.required * sizeof(void *));
  uint32_t found = given.header().size;
  trial.expect(found >= least && found % sizeof(void *) == 0,
               the(kind) + " has a size of " + std::to_string(found) +
                   " bytes; it is that of a struct of " +
                   std::to_string(least) + " bytes or more");
}

void slots(Trial &trial, const TableKind &kind) {
  Given given(trial, kind);
  if (!trial.ok())
    return;
  for (uint32_t i = 0; i < kind.required; ++i)
    trial.expect(given.function(i),
                 the(kind) + " lacks required function " + std::to_string(i));
  bool any = false;
  for (uint32_t i = 0; i < kind.functions; ++i)
    any |= given.function(i) != nullptr;
  trial.expect(any, the(kind) + " has no function at all; give none instead");
}

/// Tables live as long as the library is loaded.
void lives(Trial &trial, const TableKind &kind) {
  const void *table;
  std::vector<uint8_t> before;
  {
    Given given(trial, kind);
    if (!trial.ok())
      return;
    table = given.table;
    const auto *bytes = static_cast<const uint8_t *>(table);
    before.assign(bytes, bytes + given.header().size);
  }
  trial.expect(std::memcmp(table, before.data(), before.size()) == 0,
               the(kind) + " changed or went away at shutdown");
  Given again(trial, kind);
  trial.expect(again.table == table,
               the(kind) + " is another one after a second initialize");
}

void unknownTable(Trial &trial, bp_string_t name, uint32_t version) {
  Fixture fixture(trial);
  if (!fixture.good())
    return;
  const void *table = fixture.plugin().get_table(fixture.self(), name, version);
  trial.expect(!table, "get_table gave a table for '" +
                           std::string(view(name)) + "' version " +
                           std::to_string(version) + ", which nobody defined");
}

void addUnknown(Checks &all) {
  Group group(all, "L0/get-table",
              "get_table knows names by all of their bytes and gives nothing "
              "for those that it does not know.");
  struct Name {
    const char *what, *text;
    uint64_t size;
  };
  static constexpr Name names[] = {
      {"empty", "", 0},
      {"no-data", nullptr, 0},
      {"foreign", "acme.graph_capture", 18},
      {"prefix", "backplane.", 10},
      {"shortened", "backplane.memory", 16},
      {"lengthened", "backplane.memory2x", 18},
      {"capitals", "BACKPLANE.MEMORY2", 17},
      {"zero-byte", "backplane.memory2\0", 18},
      {"semaphore-shortened", "backplane.semaphor", 18},
      {"command-buffer-lengthened", "backplane.command_buffer_", 25},
  };
  for (const Name &name : names)
    group.add(name.what, [&name](Trial &trial) {
      unknownTable(trial, {name.text, name.size}, 0);
    });
  for (const TableKind &kind : kinds)
    if (kind.extension)
      for (uint32_t version : {1u, UINT32_MAX})
        group.add(std::string(kind.name) + "-version-" +
                      std::to_string(version),
                  [&kind, version](Trial &trial) {
                    unknownTable(trial, toC(kind.extension), version);
                  });
  group.add("long", [](Trial &trial) {
    std::string name(1 << 20, 'b');
    unknownTable(trial, toC(name), 0);
  });
}

} // namespace

void addTables(Checks &all) {
  Group group(all, "L0/table",
              "Each table has the type and size of its struct, all required "
              "functions, and lives as long as the library.",
              {"struct-size"});
  struct Aspect {
    const char *name;
    void (*run)(Trial &, const TableKind &);
  };
  for (const TableKind &kind : kinds)
    for (Aspect aspect : {Aspect{"header", header}, Aspect{"size", size},
                          Aspect{"functions", slots}, Aspect{"lives", lives}})
      group.add(std::string(kind.name) + "/" + aspect.name,
                [&kind, aspect](Trial &trial) { aspect.run(trial, kind); });
  addUnknown(all);
}

} // namespace backplane::checks
