// SPDX-License-Identifier: Apache-2.0
//
// Hostile.cpp: plug-ins that break the rules, one way for each value of
// BP_HOSTILE. Everything that a case does not break is in order, so that the
// refusal can only come from what it breaks.
#include <backplane/compiler.h>
#include <backplane/hal.h>

#include <cfenv>
#include <cstring>

#define NULL_TABLES 1
#define TRUNCATED_TABLE 2
#define OVERSIZED_TABLE 3
#define WRONG_TYPE 4
#define NEEDS_NEWER_HOST 5
#define MISSING_SLOT 6
#define GARBAGE_DEVICES 7
#define ENDLESS_DEVICES 8
#define SILENT_FAILURE 9
#define THROWS_IN_QUERY 10
#define THROWS_LATER 11
#define WRONG_NAME 12
#define NULL_STRING 13
#define WRITES_BEHIND 14
#define MUST_UNDERSTAND 15
#define QUERY_FAILS 16
#define UNKNOWN_STATUS 17
#define DAMAGED_OPTIONAL_TABLE 18
#define ZERO_SIZE 19
#define TOO_OLD 20
#define NO_EXPORT 21
#define ROUNDS_UP 22

static bp_string_t text(const char *chars) { return {chars, strlen(chars)}; }

/// Nothing else is wrong with ROUNDS_UP.
static void roundUp() {
  if (BP_HOSTILE == ROUNDS_UP)
    fesetround(FE_UPWARD);
}
__attribute__((constructor)) static void whenLoaded() { roundUp(); }

static bp_status_t initialize(const bp_host_t *, const bp_options_t *,
                              void **outSelf, bp_error_t *) {
  *outSelf = nullptr;
  roundUp();
  if (BP_HOSTILE == THROWS_LATER)
    throw 42;
  if (BP_HOSTILE == SILENT_FAILURE)
    return BP_STATUS_UNAVAILABLE;
  return BP_HOSTILE == UNKNOWN_STATUS ? -77 : BP_STATUS_OK;
}

static void shutdown(void *) { roundUp(); }

static bp_status_t putDevice(const bp_device_sink_t *sink, const char *id) {
  bp_device_info_t info = {BP_HEADER(bp_device_info_t)};
  info.id = text(id);
  info.binding_alignment = 16;
  return sink->put(sink->context, &info);
}

/// Devices that are wrong in many ways, and one that is right.
static void putGarbage(const bp_device_sink_t *sink) {
  sink->put(sink->context, nullptr);
  bp_device_info_t info;
  memset(&info, 0xA5, sizeof(info));
  sink->put(sink->context, &info);
  info = {BP_HEADER(bp_device_info_t)};
  info.id = text("counts");
  info.format_count = ~uint64_t(0);
  sink->put(sink->context, &info);
  info = {BP_HEADER(bp_device_info_t)};
  info.id = {nullptr, 17};
  sink->put(sink->context, &info);
  info = {BP_HEADER(bp_device_info_t)};
  info.id = text("alignment");
  info.binding_alignment = 3;
  sink->put(sink->context, &info);
  putDevice(sink, "not an id\n");
  putDevice(sink, "good");
  putDevice(sink, "good");
}

static bp_status_t enumerate(void *, const bp_options_t *,
                             const bp_device_sink_t *sink, bp_error_t *) {
  roundUp();
  if (BP_HOSTILE == GARBAGE_DEVICES) {
    putGarbage(sink);
    return BP_STATUS_OK;
  }
  if (BP_HOSTILE == ENDLESS_DEVICES)
    for (uint32_t i = 0; i < 1u << 20; ++i)
      sink->put(sink->context, nullptr);
  return putDevice(sink, "good");
}

static bp_status_t open(void *, bp_string_t, const bp_options_t *,
                        bp_device_t **, bp_error_t *) {
  roundUp();
  return BP_STATUS_UNAVAILABLE;
}
static void close(bp_device_t *) {}
static bp_status_t allocate(bp_device_t *, uint32_t, uint64_t, uint64_t,
                            bp_buffer_t **, bp_error_t *) {
  return BP_STATUS_UNAVAILABLE;
}
static void release(bp_device_t *, bp_buffer_t *) {}
static bp_status_t write(bp_device_t *, bp_buffer_t *, uint64_t, const void *,
                         uint64_t, bp_error_t *) {
  return BP_STATUS_UNAVAILABLE;
}
static bp_status_t read(bp_device_t *, bp_buffer_t *, uint64_t, void *,
                        uint64_t, bp_error_t *) {
  return BP_STATUS_UNAVAILABLE;
}
static bp_status_t load(bp_device_t *, const bp_executable_info_t *,
                        bp_executable_t **, bp_error_t *) {
  return BP_STATUS_UNAVAILABLE;
}
static void unload(bp_device_t *, bp_executable_t *) {}
static bp_status_t createQueue(bp_device_t *, uint32_t, bp_queue_t **,
                               bp_error_t *) {
  return BP_STATUS_UNAVAILABLE;
}
static void destroyQueue(bp_device_t *, bp_queue_t *) {}
static bp_status_t execute(bp_queue_t *, const bp_header_t *const *, uint64_t,
                           const bp_completion_t *, bp_error_t *) {
  return BP_STATUS_UNAVAILABLE;
}

/// A table that says it is larger than the host knows, with rubbish behind.
struct LargeMemoryTable {
  bp_memory_table_t table;
  uint8_t tail[64];
};

static const void *getTable(void *, bp_string_t, uint32_t) {
  static const bp_header_t damaged = {bp_semaphore_table_t_TYPE,
                                      sizeof(damaged), nullptr};
  return BP_HOSTILE == DAMAGED_OPTIONAL_TABLE ? &damaged : nullptr;
}

static bp_plugin_table_t pluginTable = {BP_HEADER(bp_plugin_table_t),
                                        initialize, shutdown, getTable};
static bp_driver_table_t driverTable = {BP_HEADER(bp_driver_table_t), enumerate,
                                        open, close};
static LargeMemoryTable memoryTable = {
    {BP_HEADER(bp_memory_table_t), allocate, release, write, read}, {}};
static bp_executable_table_t executableTable = {
    BP_HEADER(bp_executable_table_t), load, unload};
static bp_queue_table_t queueTable = {BP_HEADER(bp_queue_table_t), createQueue,
                                      destroyQueue, execute};

static const bp_header_t unknownPart = {0x1234 | BP_TYPE_MUST_UNDERSTAND,
                                        sizeof(unknownPart), nullptr};

static void breakTables(bp_plugin_info_t &info) {
  if (BP_HOSTILE == NULL_TABLES)
    info.plugin = nullptr;
  if (BP_HOSTILE == TRUNCATED_TABLE)
    memoryTable.table.header.size = sizeof(bp_header_t) + 2 * sizeof(void *);
  if (BP_HOSTILE == ZERO_SIZE)
    memoryTable.table.header.size = 0;
  if (BP_HOSTILE == OVERSIZED_TABLE) {
    memset(memoryTable.tail, 0xA5, sizeof(memoryTable.tail));
    memoryTable.table.header.size = sizeof(memoryTable);
  }
  if (BP_HOSTILE == WRONG_TYPE)
    info.queue = reinterpret_cast<bp_queue_table_t *>(&executableTable);
  if (BP_HOSTILE == MISSING_SLOT)
    queueTable.queue_execute = nullptr;
  if (BP_HOSTILE == MUST_UNDERSTAND)
    driverTable.header.next = &unknownPart;
}

static int32_t query(bp_plugin_info_t *out) {
  roundUp();
  if (BP_HOSTILE == THROWS_IN_QUERY)
    throw "unexpected";
  if (BP_HOSTILE == QUERY_FAILS)
    return BP_STATUS_FAILED_PRECONDITION;
  if (BP_HOSTILE == WRITES_BEHIND) {
    memset(static_cast<void *>(out + 1), 0, 64);
    return BP_STATUS_OK;
  }
  out->name = text(BP_HOSTILE == WRONG_NAME ? "other" : "hostile");
  out->vendor = text("test");
  out->version = text("1.0.0");
  if (BP_HOSTILE == NULL_STRING)
    out->vendor = {nullptr, 1000};
  out->required_minor = BP_HOSTILE == NEEDS_NEWER_HOST ? 99 : 1;
  out->built_minor = BP_HOSTILE == NEEDS_NEWER_HOST ? 99 : BP_ABI_MINOR;
  if (BP_HOSTILE == TOO_OLD)
    out->required_minor = out->built_minor = 0;
  out->plugin = &pluginTable;
  out->driver = &driverTable;
  out->memory = &memoryTable.table;
  out->executable = &executableTable;
  out->queue = &queueTable;
  breakTables(*out);
  return BP_STATUS_OK;
}

#if BP_HOSTILE != NO_EXPORT
extern "C" BP_PLUGIN_EXPORT int32_t bp_plugin_query_v0(const bp_host_info_t *,
                                                       bp_plugin_info_t *out) {
  return query(out);
}
#else
extern "C" BP_PLUGIN_EXPORT int32_t bp_plugin_query_v9(bp_plugin_info_t *out) {
  return query(out);
}
#endif
