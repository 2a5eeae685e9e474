// SPDX-License-Identifier: Apache-2.0
//
// Faulty.cpp: a small driver that keeps all rules but one, which BP_FAULT
// names; with NONE it keeps them all.
#include <backplane/compiler.h>
#include <backplane/hal.h>

#include <cfenv>
#include <chrono>
#include <clocale>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <locale.h>
#include <new>
#include <sys/stat.h>
#include <thread>
#include <unistd.h>
#include <utility>

enum Fault {
  NONE,
  COPY_IGNORES_OFFSET,
  FILL_RUNS_OVER,
  READ_RUNS_OVER,
  COMPLETES_EARLY,
  COMPLETES_TWICE,
  KEEPS_COMMANDS,
  LEAKS_ON_ERROR,
  CRASHES_WITHOUT_MEMORY,
  QUERY_RUNS_OVER,
  SHARES_STATE,
  TABLE_BY_PREFIX,
  TAKES_ANY_OPTION,
  IGNORES_SINK,
  SKIPS_UNKNOWN,
  GIVES_ANY_SIZE,
  ROUNDS_UP,
  TAKES_SIGNALS,
  PRINTS,
  LEAVES_THREADS,
  FREES_TWICE,
  IGNORES_ALIGNMENT,
  FORGETS_ERROR_NULL,
  FLUSHES,
  COMPLETES_LATE,
  MOVES_FOLDER,
  MASKS_FILES,
  SETS_LOCALE,
  BLOCKS_SIGNALS,
  FLUSHES_WHEN_LOADED,
  FLUSHES_ON_THE_POOL,
  TRAPS,
  LEAVES_MMX,
  SETS_THREAD_LOCALE,
  PASSES_ANYTHING,
  RUNS_ANY_PASS,
  PASS_FOR_NO_STAGE,
  NAMES_NO_OP,
  SHARES_OPS,
  GOES_AROUND,
  CHANGES_ITS_MIND,
  CRASHES_ON_SCALARS,
  ASKS_FOR_NO_WEIGHT,
  READS_OVER_WEIGHTS,
  COMPILES_THE_TIME,
  FAILS_WITHOUT_OPS,
};

struct bp_device_t {
  const bp_host_t *host;
};
struct bp_buffer_t {
  uint8_t *data;
};
struct bp_queue_t {
  bp_device_t *device;
  bool used = false;
};

namespace {

constexpr bool has(Fault fault) { return BP_FAULT == fault; }

bp_string_t text(const char *chars) { return {chars, strlen(chars)}; }

const bp_host_t *sharedHost; ///< of the latest context

/// Denormal results become zero from now on.
void flushDenormals() {
#if defined(__x86_64__)
  __builtin_ia32_ldmxcsr(__builtin_ia32_stmxcsr() | 0x8000u);
#elif defined(__aarch64__)
  uint64_t control;
  __asm__ volatile("mrs %0, fpcr" : "=r"(control));
  __asm__ volatile("msr fpcr, %0" : : "r"(control | 1u << 24));
#endif
}

/// As a library does that was built with -ffast-math.
__attribute__((constructor)) void whenLoaded() {
  if (has(FLUSHES_WHEN_LOADED))
    flushDenormals();
}

void blockSignals() {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGUSR2);
  pthread_sigmask(SIG_BLOCK, &set, nullptr);
}

/// Leaves the registers of the x87 unit in use.
void useMmx() {
#if defined(__x86_64__)
  __asm__ volatile("movd %0, %%mm0" : : "r"(1) : "mm0");
#endif
}

bp_status_t fail(const bp_host_t *host, bp_error_t *error, bp_status_t status,
                 const char *message) {
  static void *volatile lost;
  if (has(LEAKS_ON_ERROR))
    lost = std::malloc(4096);
  if (has(FORGETS_ERROR_NULL))
    *reinterpret_cast<volatile char *>(error) = 0;
  return host->error_set(host->self, error, status, text(message));
}

bp_status_t refuseOptions(const bp_host_t *host, const bp_options_t *options,
                          bp_error_t *error) {
  if (has(TAKES_ANY_OPTION) || !options->count)
    return BP_STATUS_OK;
  char message[200];
  std::snprintf(message, sizeof(message), "no option is known, found %.*s",
                int(options->items[0].key.size), options->items[0].key.data);
  return fail(host, error, BP_STATUS_INVALID_ARGUMENT, message);
}

bp_status_t initialize(const bp_host_t *host, const bp_options_t *options,
                       void **self, bp_error_t *error) {
  if (bp_status_t status = refuseOptions(host, options, error))
    return status;
  if (has(ROUNDS_UP))
    fesetround(FE_UPWARD);
  if (has(FLUSHES))
    flushDenormals();
  if (has(TAKES_SIGNALS))
    std::signal(SIGUSR1, SIG_IGN);
  if (has(PRINTS))
    std::puts("hello"), std::fflush(stdout);
  if (has(LEAVES_THREADS))
    std::thread([] {
      std::this_thread::sleep_for(std::chrono::seconds(3));
    }).detach();
  auto *device = static_cast<bp_device_t *>(
      host->memory_allocate(host->self, sizeof(bp_device_t), 8));
  if (!device && !has(CRASHES_WITHOUT_MEMORY))
    return fail(host, error, BP_STATUS_RESOURCE_EXHAUSTED, "no memory");
  device->host = sharedHost = host;
  *self = device;
  return BP_STATUS_OK;
}

void shutdown(void *self) {
  auto *device = static_cast<bp_device_t *>(self);
  const bp_host_t *host = has(SHARES_STATE) ? sharedHost : device->host;
  host->memory_free(host->self, device);
  if (has(FREES_TWICE))
    host->memory_free(host->self, device);
}

const void *getTable(void *, bp_string_t name, uint32_t);

bp_status_t enumerate(void *self, const bp_options_t *options,
                      const bp_device_sink_t *sink, bp_error_t *error) {
  const bp_host_t *host = static_cast<bp_device_t *>(self)->host;
  if (bp_status_t status = refuseOptions(host, options, error))
    return status;
  bp_string_t format = text("faulty");
  bp_device_info_t info = {BP_HEADER(bp_device_info_t)};
  info.id = text("one");
  info.name = text("test device");
  info.kind = BP_DEVICE_KIND_OTHER;
  info.flags = BP_DEVICE_SYNCHRONOUS;
  info.formats = &format;
  info.format_count = 1;
  info.binding_alignment = 64;
  info.max_bindings = 8;
  bp_status_t status = sink->put(sink->context, &info);
  return has(IGNORES_SINK) ? bp_status_t(BP_STATUS_OK) : status;
}

bp_status_t open(void *self, bp_string_t id, const bp_options_t *options,
                 bp_device_t **out, bp_error_t *error) {
  *out = static_cast<bp_device_t *>(self);
  if (bp_status_t status = refuseOptions((*out)->host, options, error))
    return status;
  if (has(MOVES_FOLDER) && chdir("/") != 0)
    return BP_STATUS_INTERNAL;
  bool known = id.size == 3 && memcmp(id.data, "one", 3) == 0;
  return known ? bp_status_t(BP_STATUS_OK)
               : fail((*out)->host, error, BP_STATUS_NOT_FOUND, "no device");
}

void close(bp_device_t *) {}

bp_status_t allocate(bp_device_t *device, uint32_t space, uint64_t size,
                     uint64_t alignment, bp_buffer_t **out, bp_error_t *error) {
  const bp_host_t *host = device->host;
  if (has(MASKS_FILES))
    umask(0077);
  if (space > BP_SPACE_STAGING && !has(SKIPS_UNKNOWN))
    return fail(host, error, BP_STATUS_UNIMPLEMENTED, "no such space");
  if (has(GIVES_ANY_SIZE) && size > uint64_t(1) << 40)
    size = 4096;
  if (alignment < 64)
    alignment = 64;
  auto *buffer = new (std::nothrow) bp_buffer_t;
  buffer->data = static_cast<uint8_t *>(host->memory_allocate(
      host->self, size, has(IGNORES_ALIGNMENT) ? 64 : alignment));
  if (has(CRASHES_WITHOUT_MEMORY) && size < 1u << 20)
    *const_cast<volatile uint8_t *>(buffer->data) = 0;
  *out = buffer;
  if (buffer->data)
    return BP_STATUS_OK;
  delete buffer;
  return fail(host, error, BP_STATUS_RESOURCE_EXHAUSTED, "no memory");
}

void release(bp_device_t *device, bp_buffer_t *buffer) {
  device->host->memory_free(device->host->self, buffer->data);
  delete buffer;
}

bp_status_t write(bp_device_t *, bp_buffer_t *buffer, uint64_t offset,
                  const void *data, uint64_t size, bp_error_t *) {
  memcpy(buffer->data + offset, data, size);
  if (has(LEAVES_MMX))
    useMmx();
  return BP_STATUS_OK;
}

bp_status_t read(bp_device_t *, bp_buffer_t *buffer, uint64_t offset,
                 void *data, uint64_t size, bp_error_t *) {
  memcpy(data, buffer->data + offset, size);
  if (has(TRAPS))
    feenableexcept(FE_INVALID);
  if (has(READ_RUNS_OVER))
    static_cast<char *>(data)[size] = 0;
  return BP_STATUS_OK;
}

bp_status_t map(bp_device_t *, bp_buffer_t *buffer, void **out, bp_error_t *) {
  *out = buffer->data;
  return BP_STATUS_OK;
}

bp_status_t load(bp_device_t *device, const bp_executable_info_t *,
                 bp_executable_t **, bp_error_t *error) {
  return fail(device->host, error, BP_STATUS_INVALID_ARGUMENT,
              "nothing can be loaded");
}

void unload(bp_device_t *, bp_executable_t *) {}

bp_status_t createQueue(bp_device_t *device, uint32_t queueClass,
                        bp_queue_t **out, bp_error_t *error) {
  if (has(SETS_LOCALE))
    setlocale(LC_ALL, "C.UTF-8");
  if (has(SETS_THREAD_LOCALE))
    uselocale(newlocale(LC_ALL_MASK, "C.UTF-8", nullptr));
  if (queueClass > BP_QUEUE_TRANSFER && !has(SKIPS_UNKNOWN))
    return fail(device->host, error, BP_STATUS_UNIMPLEMENTED, "no such class");
  *out = new (std::nothrow) bp_queue_t{device};
  return BP_STATUS_OK;
}

void destroyQueue(bp_device_t *, bp_queue_t *queue) { delete queue; }

bool run(const bp_header_t *command) {
  if (command->type == bp_command_copy_t_TYPE) {
    auto *copy = reinterpret_cast<const bp_command_copy_t *>(command);
    uint64_t from = has(COPY_IGNORES_OFFSET) ? 0 : copy->source.offset;
    memmove(copy->target.buffer->data + copy->target.offset,
            copy->source.buffer->data + from, copy->target.length);
  } else if (command->type == bp_command_fill_t_TYPE) {
    auto *fill = reinterpret_cast<const bp_command_fill_t *>(command);
    uint64_t end = fill->target.length + has(FILL_RUNS_OVER);
    for (uint64_t i = 0; i < end; ++i)
      fill->target.buffer->data[fill->target.offset + i] =
          uint8_t(fill->pattern >> (8 * (i % fill->pattern_size)));
  } else if (command->type != bp_command_barrier_t_TYPE) {
    return has(SKIPS_UNKNOWN);
  }
  return true;
}

bp_status_t execute(bp_queue_t *queue, const bp_header_t *const *commands,
                    uint64_t count, const bp_completion_t *completion,
                    bp_error_t *error) {
  for (uint64_t i = 0; i < count; ++i)
    if (commands[i]->type > bp_command_barrier_t_TYPE && !has(SKIPS_UNKNOWN))
      return fail(queue->device->host, error, BP_STATUS_UNIMPLEMENTED,
                  "no such command");
  if (has(COMPLETES_EARLY)) {
    completion->done(completion->context, BP_STATUS_OK, {});
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  const bp_host_t *host = queue->device->host;
  if (has(BLOCKS_SIGNALS))
    blockSignals();
  if (has(FLUSHES_ON_THE_POOL))
    host->parallel_for(
        host->self, 64, [](void *, uint64_t, uint32_t) { flushDenormals(); },
        nullptr);
  bool known = true;
  for (uint64_t i = 0; i < count; ++i)
    known &= run(commands[i]);
  bp_status_t status = known ? BP_STATUS_OK : BP_STATUS_UNIMPLEMENTED;
  // The first call fails; the others are done when nobody waits any more.
  bool first = !std::exchange(queue->used, true);
  if (has(COMPLETES_LATE) && first)
    status = BP_STATUS_INTERNAL;
  if (has(COMPLETES_LATE) && !first)
    std::thread([late = *completion] {
      std::this_thread::sleep_for(std::chrono::milliseconds(300));
      late.done(late.context, BP_STATUS_OK, {});
    }).detach();
  else if (!has(COMPLETES_EARLY))
    completion->done(completion->context, status, {});
  if (has(COMPLETES_TWICE))
    completion->done(completion->context, status, {});
  return BP_STATUS_OK;
}

// ---- Command buffers ----

} // namespace

struct bp_command_buffer_t {
  const bp_header_t *const *given;
  uint64_t count;
  bp_command_copy_t copies[64];
  bp_command_fill_t fills[64];
  bp_header_t others[64];
  const bp_header_t *list[64];
};

namespace {

bp_status_t record(bp_device_t *, const bp_header_t *const *commands,
                   uint64_t count, bp_command_buffer_t **out, bp_error_t *) {
  auto *recorded = new (std::nothrow) bp_command_buffer_t{};
  if (count > 64)
    return delete recorded, bp_status_t(BP_STATUS_RESOURCE_EXHAUSTED);
  recorded->given = commands;
  recorded->count = count;
  for (uint64_t i = 0; i < count; ++i) {
    recorded->list[i] = &recorded->others[i];
    recorded->others[i] = *commands[i];
    if (commands[i]->type == bp_command_copy_t_TYPE) {
      memcpy(&recorded->copies[i], commands[i], sizeof(bp_command_copy_t));
      recorded->list[i] = &recorded->copies[i].header;
    } else if (commands[i]->type == bp_command_fill_t_TYPE) {
      memcpy(&recorded->fills[i], commands[i], sizeof(bp_command_fill_t));
      recorded->list[i] = &recorded->fills[i].header;
    }
  }
  *out = recorded;
  return BP_STATUS_OK;
}

void forget(bp_device_t *, bp_command_buffer_t *recorded) { delete recorded; }

void bind(bp_binding_t &binding, const bp_binding_t *table) {
  if (binding.buffer)
    return;
  binding.buffer = table[binding.slot].buffer;
  binding.offset += table[binding.slot].offset;
}

bp_status_t replay(bp_queue_t *queue, bp_command_buffer_t *recorded,
                   const bp_binding_t *table, uint64_t,
                   const bp_completion_t *completion, bp_error_t *error) {
  if (has(KEEPS_COMMANDS))
    return execute(queue, recorded->given, recorded->count, completion, error);
  bp_command_buffer_t bound = *recorded;
  for (uint64_t i = 0; i < bound.count; ++i) {
    bound.list[i] = &bound.others[i];
    if (bound.others[i].type == bp_command_copy_t_TYPE) {
      bind(bound.copies[i].source, table);
      bind(bound.copies[i].target, table);
      bound.list[i] = &bound.copies[i].header;
    } else if (bound.others[i].type == bp_command_fill_t_TYPE) {
      bind(bound.fills[i].target, table);
      bound.list[i] = &bound.fills[i].header;
    }
  }
  return execute(queue, bound.list, bound.count, completion, error);
}

// ---- Tables ----

const bp_plugin_table_t pluginTable = {BP_HEADER(bp_plugin_table_t), initialize,
                                       shutdown, getTable};
const bp_driver_table_t driverTable = {BP_HEADER(bp_driver_table_t), enumerate,
                                       open, close};
const bp_memory_table_t memoryTable = {BP_HEADER(bp_memory_table_t), allocate,
                                       release, write, read};
const bp_memory2_table_t memory2Table = {BP_HEADER(bp_memory2_table_t), map,
                                         nullptr};
const bp_executable_table_t executableTable = {BP_HEADER(bp_executable_table_t),
                                               load, unload};
const bp_queue_table_t queueTable = {BP_HEADER(bp_queue_table_t), createQueue,
                                     destroyQueue, execute};
const bp_command_buffer_table_t commandBufferTable = {
    BP_HEADER(bp_command_buffer_table_t), record, forget, replay};

bp_status_t targets(void *, const bp_target_sink_t *sink, bp_error_t *) {
  bp_target_t target = {BP_HEADER(bp_target_t)};
  target.name = text("faulty");
  target.driver = text("faulty");
  return sink->put(sink->context, &target);
}

bp_status_t graphPasses(void *, bp_string_t, const bp_graph_pass_sink_t *sink,
                        bp_error_t *) {
  bp_graph_pass_t pass = {BP_HEADER(bp_graph_pass_t)};
  pass.name = text("same");
  pass.stage = text(has(PASS_FOR_NO_STAGE) ? "fusion" : "lower");
  return sink->put(sink->context, &pass);
}

/// Reads the graph and writes it again.
bp_status_t runGraphPass(void *, const bp_graph_pass_request_t *request,
                         const bp_bytes_sink_t *sink, bp_error_t *error) {
  if (!has(RUNS_ANY_PASS) && request->pass.size != strlen("same"))
    return BP_STATUS_NOT_FOUND;
  if (has(PASSES_ANYTHING))
    return sink->put(sink->context, request->graph);
  bp_graph_t *graph = nullptr;
  bp_status_t status =
      request->graph_table->graph_open(request->graph, &graph, error);
  if (status != BP_STATUS_OK)
    return status;
  status = request->graph_table->graph_write(graph, sink);
  request->graph_table->graph_close(graph);
  return status;
}

// ---- Partitions ----

bp_op_info_t opOf(const bp_partition_request_t *request, uint32_t op) {
  bp_op_info_t info;
  request->graph_table->op_info(request->graph, op, &info);
  return info;
}

/// Whether an op is one that partitions may have: all but a reverse.
bool isTaken(const bp_op_info_t &info) {
  return info.operand_count > 0 &&
         !(info.name.size == 7 && memcmp(info.name.data, "reverse", 7) == 0);
}

void lookAtRanks(const bp_partition_request_t *request, uint32_t op) {
  uint32_t value = request->graph_table->op_result(request->graph, op, 0);
  bp_value_info_t info;
  request->graph_table->value_info(request->graph, value, &info);
  if (has(CRASHES_ON_SCALARS) && info.rank == 0)
    std::abort();
}

/// Ops that follow each other, up to one that is not taken.
bp_status_t partition(void *, const bp_partition_request_t *request,
                      const bp_partition_sink_t *sink, bp_error_t *) {
  static uint32_t calls = 0;
  ++calls;
  bp_graph_info_t graph;
  request->graph_table->graph_info(request->graph, &graph);
  if (has(FAILS_WITHOUT_OPS) && !graph.op_count)
    return BP_STATUS_INTERNAL;
  uint32_t ops[1024], count = 0;
  auto put = [&] {
    bp_partition_t set = {BP_HEADER(bp_partition_t)};
    if (has(NAMES_NO_OP))
      ops[0] = graph.op_count;
    set.ops = ops;
    set.op_count = count;
    set.cost_ns = has(CHANGES_ITS_MIND) ? calls : 1;
    set.reason = text("they follow each other");
    bp_status_t status =
        count ? sink->put(sink->context, &set) : bp_status_t(BP_STATUS_OK);
    if (has(SHARES_OPS) && count && !status)
      status = sink->put(sink->context, &set);
    count = 0;
    return status;
  };
  for (uint32_t op = 0; op < graph.op_count && count < 1024; ++op) {
    bp_op_info_t info = opOf(request, op);
    lookAtRanks(request, op);
    if (isTaken(info))
      ops[count++] = op;
    else if (info.operand_count && !has(GOES_AROUND))
      if (bp_status_t status = put())
        return status;
  }
  return put();
}

/// The first byte of each weight, and the one behind it where that is asked.
uint8_t sumOfWeights(const bp_weight_reader_t &reader, uint32_t inputs) {
  uint8_t sum = 0;
  for (uint32_t i = 0; i < inputs + has(ASKS_FOR_NO_WEIGHT); ++i) {
    bp_bytes_t values;
    if (reader.read(reader.context, i, nullptr, &values))
      continue;
    auto *bytes = static_cast<const volatile uint8_t *>(values.data);
    sum += bytes[0];
    if (has(READS_OVER_WEIGHTS))
      sum += bytes[values.size];
  }
  return sum;
}

bp_status_t compile(void *, const bp_compile_request_t *request,
                    const bp_compiled_sink_t *sink, bp_error_t *) {
  static uint8_t calls = 0;
  bp_graph_info_t graph;
  request->graph_table->graph_info(request->graph, &graph);
  const uint32_t bindings = graph.input_count + graph.output_count;
  uint8_t access[1024], blob[2] = {};
  if (bindings > sizeof(access))
    return BP_STATUS_UNIMPLEMENTED;
  for (uint32_t i = 0; i < bindings; ++i)
    access[i] = i < graph.input_count ? BP_ACCESS_READ : BP_ACCESS_WRITE;
  blob[0] = sumOfWeights(*request->weights, graph.input_count);
  blob[1] = has(COMPILES_THE_TIME) ? ++calls : 0;
  bp_entry_t entry = {BP_HEADER(bp_entry_t)};
  entry.name = request->entry_name;
  entry.binding_access = access;
  entry.binding_count = bindings;
  bp_compiled_t made = {BP_HEADER(bp_compiled_t)};
  made.blob = {blob, sizeof(blob)};
  made.entry = &entry;
  for (bp_string_t &axis : made.grid)
    axis = text("1");
  return sink->put(sink->context, &made);
}

const bp_compiler_table_t compilerTable = {BP_HEADER(bp_compiler_table_t),
                                           targets,
                                           nullptr,
                                           nullptr,
                                           compile,
                                           nullptr,
                                           graphPasses,
                                           runGraphPass,
                                           partition};

const void *getTable(void *, bp_string_t name, uint32_t version) {
  auto is = [&](const char *known) {
    uint64_t size = has(TABLE_BY_PREFIX) && name.size < strlen(known)
                        ? name.size
                        : strlen(known);
    return name.size >= size && (name.size == size || has(TABLE_BY_PREFIX)) &&
           memcmp(name.data, known, size) == 0;
  };
  if (version != 0 || !name.size)
    return nullptr;
  if (is("backplane.memory2"))
    return &memory2Table;
  return is("backplane.command_buffer") ? &commandBufferTable : nullptr;
}

} // namespace

extern "C" BP_PLUGIN_EXPORT int32_t bp_plugin_query_v0(const bp_host_info_t *,
                                                       bp_plugin_info_t *out) {
  bp_plugin_info_t info = {BP_HEADER(bp_plugin_info_t)};
  info.name = text("faulty");
  info.vendor = text("test");
  info.version = text("1.0.0");
  info.required_minor = 1;
  info.built_minor = BP_ABI_MINOR;
  info.plugin = &pluginTable;
  info.driver = &driverTable;
  info.memory = &memoryTable;
  info.executable = &executableTable;
  info.queue = &queueTable;
  info.compiler = &compilerTable;
  if (out->header.size < sizeof(info) && !has(QUERY_RUNS_OVER))
    info.header.size = out->header.size;
  memcpy(out, &info, info.header.size);
  return BP_STATUS_OK;
}
