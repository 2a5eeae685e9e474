// SPDX-License-Identifier: Apache-2.0
//
// Plugin.h: a plug-in as a C++ class. The tables of the C ABI are made of what
// the class has: with a type `Device` it is a driver (Driver.h), with `targets`
// a compiler (Compiler.h), with `describe` a set of kernels; what is optional
// in C is a member that need not be there. A whole library is then
//
//   class Acme {
//   public:
//     static constexpr backplane::plugin::Description description = {
//         .name = "acme", .vendor = "Acme", .version = "1.0.0"};
//     explicit Acme(backplane::plugin::Host host);
//     backplane::Status targets(backplane::plugin::TargetSink sink);
//   };
//
//   extern "C" BP_PLUGIN_EXPORT int32_t
//   bp_plugin_query_v0(const bp_host_info_t *host, bp_plugin_info_t *out) {
//     return backplane::plugin::Library<Acme>::query(host, out);
//   }
//
// No exception leaves the library: one that a member throws becomes
// BP_STATUS_INTERNAL with its text, std::bad_alloc
// BP_STATUS_RESOURCE_EXHAUSTED, Failure the status in it. All of it also works
// with -fno-exceptions. Nothing is needed but the C headers and the standard
// library.
#ifndef BACKPLANE_CPP_PLUGIN_H
#define BACKPLANE_CPP_PLUGIN_H

#include "backplane/cpp/PluginHost.h"

#include <cstring>
#include <memory>
#include <new>
#include <type_traits>

namespace backplane::plugin {

/// What a plug-in says of itself; the member `description` of its class.
struct Description {
  std::string_view name;    ///< as in the manifest: [a-z][a-z0-9_-]{0,31}
  std::string_view vendor;  ///< for messages
  std::string_view version; ///< MAJOR.MINOR.PATCH of the plug-in itself
  /// The lowest minor version of the ABI that the plug-in can work with.
  uint32_t requiredMinor = 1;
  /// The library may be unloaded: nothing of it stays, no thread, no
  /// thread-local object, no handler.
  bool unloadable = false;
};

/// What `self` is in the calls of the C ABI: the plug-in, and its host.
template <typename T> struct Self {
  Host host;
  std::unique_ptr<T> plugin;

  static Self &of(void *self) { return *static_cast<Self *>(self); }
};

/// Makes the plug-in: by T::initialize(host, options), which gives a
/// Result<std::unique_ptr<T>>; else it has no options, and is constructed with
/// the host or without anything.
template <typename T>
Result<std::unique_ptr<T>> makePlugin(Host host, Options options) {
  if constexpr (requires { T::initialize(host, options); }) {
    return T::initialize(host, options);
  } else {
    if (Status status = options.refuseAll(T::description.name); !status.ok())
      return status;
    if constexpr (std::is_constructible_v<T, Host>)
      return std::make_unique<T>(host);
    else
      return std::make_unique<T>();
  }
}

/// The tables of what a class has; none of the rest. Driver.h and Compiler.h
/// specialise them. A member that has a known name and is not taken is an
/// error, so that none is passed over in silence.
template <typename T> struct DriverTables {
  static_assert(
      !requires { typename T::Device; },
      "a plug-in with a type Device needs backplane/cpp/Driver.h");
  static void addTo(bp_plugin_info_t &) {}
  static const void *table(std::string_view) { return nullptr; }
};
template <typename T> struct CompilerTables {
  static_assert(
      !requires { &T::targets; },
      "targets is a public member Status targets(TargetSink), and "
      "needs backplane/cpp/Compiler.h");
  static void addTo(bp_plugin_info_t &) {}
};
template <typename T> struct KernelTables {
  static_assert(
      !requires { &T::describe; },
      "describe is a public member Status describe(KernelSink), and "
      "needs backplane/cpp/Compiler.h");
  static void addTo(bp_plugin_info_t &) {}
};

/// The library of a plug-in class: what bp_plugin_query_v0 returns. Include
/// Driver.h and Compiler.h for what the class has.
template <typename T> class Library {
public:
  static int32_t query(const bp_host_info_t *, bp_plugin_info_t *out) noexcept {
    bp_plugin_info_t info = {};
    info.header = BP_HEADER(bp_plugin_info_t);
    info.name = toC(T::description.name);
    info.vendor = toC(T::description.vendor);
    info.version = toC(T::description.version);
    info.required_minor = T::description.requiredMinor;
    info.built_minor = BP_ABI_MINOR;
    info.flags = T::description.unloadable ? BP_PLUGIN_UNLOADABLE : 0;
    info.plugin = &pluginTable;
    DriverTables<T>::addTo(info);
    CompilerTables<T>::addTo(info);
    KernelTables<T>::addTo(info);
    if (info.header.size > out->header.size)
      info.header.size = out->header.size;
    std::memcpy(out, &info, info.header.size);
    return BP_STATUS_OK;
  }

private:
  static bp_status_t initialize(const bp_host_t *host,
                                const bp_options_t *options, void **out_self,
                                bp_error_t *error) noexcept {
    return guarded(Host(host), error, [&]() -> Status {
      std::unique_ptr<Self<T>> self(new (std::nothrow) Self<T>{Host(host), {}});
      if (!self)
        return outOfMemory();
      Result<std::unique_ptr<T>> plugin =
          makePlugin<T>(Host(host), Options(options));
      if (!plugin || !*plugin)
        return plugin ? madeNothing() : plugin.status();
      self->plugin = std::move(*plugin);
      *out_self = self.release();
      return {};
    });
  }

  static void shutDown(void *self) noexcept { delete &Self<T>::of(self); }

  static const void *getTable(void *, bp_string_t name,
                              uint32_t version) noexcept {
    return version ? nullptr : DriverTables<T>::table(view(name));
  }

  static constexpr bp_plugin_table_t makePluginTable() {
    bp_plugin_table_t made = {};
    made.header = BP_HEADER(bp_plugin_table_t);
    made.initialize = initialize;
    made.shutdown = shutDown;
    made.get_table = getTable;
    return made;
  }
  static constexpr bp_plugin_table_t pluginTable = makePluginTable();
};

} // namespace backplane::plugin

#endif // BACKPLANE_CPP_PLUGIN_H
