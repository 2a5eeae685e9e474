// SPDX-License-Identifier: Apache-2.0
//
// PluginHost.h: the host as a C++ plug-in sees it, the options that it passes,
// and the edge at which exceptions end. Part of Plugin.h.
#ifndef BACKPLANE_CPP_PLUGINHOST_H
#define BACKPLANE_CPP_PLUGINHOST_H

#include "backplane/cpp/Result.h"
#include "backplane/graph.h"
#include "backplane/plugin.h"

#include <cstdint>
#include <exception>
#include <memory>
#include <new>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>

namespace backplane::plugin {

/// A failure as an exception, for code that throws rather than returns. At the
/// edge it becomes its status again.
class Failure : public std::exception {
public:
  explicit Failure(Status status) : status_(std::move(status)) {}
  const Status &status() const { return status_; }
  const char *what() const noexcept override {
    return status_.message().c_str();
  }

private:
  Status status_;
};

/// BP_STATUS_RESOURCE_EXHAUSTED.
inline Status outOfMemory() {
  return Status(BP_STATUS_RESOURCE_EXHAUSTED, "the plug-in is out of memory");
}

/// The services of the host, valid from initialize to shutdown. A copy is the
/// same host. Thread-safe.
class Host {
public:
  explicit Host(const bp_host_t *host) : host_(host) {}

  const bp_host_t &c() const { return *host_; }
  /// What the host knows of its CPU; valid until shutdown.
  const bp_host_cpu_t &cpu() const { return *host_->cpu; }
  /// Writes one line to the host's log; `level` is a BP_LOG_.
  void log(uint32_t level, std::string_view line) const {
    host_->log(host_->self, level, toC(line));
  }
  /// Memory that the host counts; null when there is none. `alignment` is a
  /// power of two.
  void *allocate(uint64_t size, uint64_t alignment) const {
    return host_->memory_allocate(host_->self, size, alignment);
  }
  void release(void *pointer) const {
    host_->memory_free(host_->self, pointer);
  }
  /// Threads of the host's pool, at least 1.
  uint32_t workers() const { return host_->worker_count(host_->self); }
  /// Calls body(index, worker) for each index below `count` on the host's pool
  /// and returns when all are done. What `body` throws ends the process: catch
  /// it there.
  template <typename Body> void parallelFor(uint64_t count, Body &&body) const {
    using Plain = std::remove_reference_t<Body>;
    host_->parallel_for(
        host_->self, count,
        [](void *context, uint64_t index, uint32_t worker) noexcept {
          (*static_cast<Plain *>(context))(index, worker);
        },
        const_cast<std::remove_const_t<Plain> *>(std::addressof(body)));
  }
  /// A further table of the host, or null.
  const void *extension(std::string_view name, uint32_t version = 0) const {
    return host_->get_extension(host_->self, toC(name), version);
  }
  /// What reads and builds graphs (Graph.h); null where there is none.
  const bp_graph_table_t *graphTable() const {
    return static_cast<const bp_graph_table_t *>(extension("backplane.graph"));
  }
  /// Stores the text of a failure and gives its code.
  bp_status_t set(bp_error_t *error, bp_status_t code,
                  std::string_view message) const {
    return host_->error_set(host_->self, error, code, toC(message));
  }

private:
  const bp_host_t *host_;
};

/// Memory of the host that frees itself; get() is null when there was none.
class HostMemory {
public:
  HostMemory(Host host, uint64_t size, uint64_t alignment)
      : bytes_(host.allocate(size, alignment), Release{host}) {}
  void *get() const { return bytes_.get(); }
  explicit operator bool() const { return bytes_ != nullptr; }

private:
  struct Release {
    Host host;
    void operator()(void *pointer) const { host.release(pointer); }
  };
  std::unique_ptr<void, Release> bytes_;
};

/// Key and value pairs, of a manifest or a device URI. Valid for the call that
/// passes them.
class Options {
public:
  explicit Options(const bp_options_t *options)
      : items_(options ? std::span(options->items, options->count)
                       : std::span<const bp_option_t>()) {}

  std::span<const bp_option_t> items() const { return items_; }
  bool empty() const { return items_.empty(); }
  /// The value of a key, or `otherwise`.
  std::string_view get(std::string_view key,
                       std::string_view otherwise = {}) const {
    for (const bp_option_t &item : items_)
      if (view(item.key) == key)
        return view(item.value);
    return otherwise;
  }
  /// A failure that names the first key that is not one of `known`.
  Status refuseOthers(std::string_view who,
                      std::span<const std::string_view> known) const {
    for (const bp_option_t &item : items_)
      if (!has(known, view(item.key)))
        return invalidArgument(std::string(who) + " has no option '" +
                               std::string(view(item.key)) + "'; leave it out");
    return {};
  }
  /// A failure when there is any.
  Status refuseAll(std::string_view who) const { return refuseOthers(who, {}); }

private:
  static bool has(std::span<const std::string_view> all, std::string_view one) {
    for (std::string_view key : all)
      if (key == one)
        return true;
    return false;
  }

  std::span<const bp_option_t> items_;
};

/// Calls `work`, which gives a Status, and stops what it throws: the edge of a
/// library. A failure is stored in `error`, which may be null.
template <typename Work>
bp_status_t guarded(Host host, bp_error_t *error, Work &&work) noexcept {
#if defined(__cpp_exceptions)
  try {
#endif
    Status status = work();
    return status.ok() ? BP_STATUS_OK
                       : host.set(error, status.code(), status.message());
#if defined(__cpp_exceptions)
  } catch (const Failure &failure) {
    return host.set(error, failure.status().code(), failure.what());
  } catch (const std::bad_alloc &) {
    return host.set(error, BP_STATUS_RESOURCE_EXHAUSTED,
                    "the plug-in is out of memory");
  } catch (const std::exception &exception) {
    return host.set(error, BP_STATUS_INTERNAL, exception.what());
  } catch (...) {
    return host.set(error, BP_STATUS_INTERNAL,
                    "the plug-in threw what is no std::exception");
  }
#endif
}

/// The same for work that completes later: what it gives or throws goes to
/// `finish`, as a Status.
template <typename Work, typename Finish>
void finished(Work &&work, Finish &&finish) noexcept {
#if defined(__cpp_exceptions)
  try {
#endif
    finish(work());
#if defined(__cpp_exceptions)
  } catch (const Failure &failure) {
    finish(failure.status());
  } catch (const std::bad_alloc &) {
    finish(outOfMemory());
  } catch (const std::exception &exception) {
    finish(internalError(exception.what()));
  } catch (...) {
    finish(internalError("the plug-in threw what is no std::exception"));
  }
#endif
}

/// The failure of a member that gives a null pointer.
inline Status madeNothing() {
  return internalError("the plug-in says OK but makes nothing");
}

/// Hands what was made over to the C ABI: it is the host's until it gives it
/// back. For a Result<std::unique_ptr<Made>> and a pointer to a handle.
template <typename Made, typename Handle>
Status give(Result<std::unique_ptr<Made>> made, Handle **out) {
  if (!made)
    return made.status();
  if (!*made)
    return madeNothing();
  *out = reinterpret_cast<Handle *>(made->release());
  return {};
}

} // namespace backplane::plugin

#endif // BACKPLANE_CPP_PLUGINHOST_H
