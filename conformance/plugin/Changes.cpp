// SPDX-License-Identifier: Apache-2.0
#include "Changes.h"
#include "hal/core/FloatScope.h"

#include <array>
#include <clocale>
#include <csignal>
#include <dlfcn.h>
#include <pthread.h>
#include <sys/stat.h>
#include <unistd.h>

namespace backplane::checks {

namespace {

/// The process before any plug-in was loaded.
class Remembered {
public:
  Remembered() : mask_(umask(0)) {
    umask(mask_);
    if (const char *name = setlocale(LC_ALL, nullptr))
      locale_ = name;
    if (!getcwd(folder_.data(), folder_.size()))
      folder_[0] = '\0';
    sigemptyset(&blocked_);
    pthread_sigmask(SIG_SETMASK, nullptr, &blocked_);
    for (int signal = 1; signal < NSIG; ++signal)
      known_[size_t(signal)] =
          sigaction(signal, nullptr, &handlers_[size_t(signal)]) == 0;
  }

  const std::vector<ProcessItem> &items() const { return items_; }

  void putBack() const {
    umask(mask_);
    setlocale(LC_ALL, locale_.c_str());
    if (folder_[0] && chdir(folder_.data()) != 0)
      return; // It is gone; the check of the folder says so.
    pthread_sigmask(SIG_SETMASK, &blocked_, nullptr);
    for (int signal = 1; signal < NSIG; ++signal)
      if (known_[size_t(signal)])
        sigaction(signal, &handlers_[size_t(signal)], nullptr);
  }

private:
  std::vector<ProcessItem> items_ = processState();
  mode_t mask_;
  std::string locale_;
  std::array<char, 4096> folder_ = {};
  sigset_t blocked_;
  std::array<struct sigaction, NSIG> handlers_ = {};
  std::array<bool, NSIG> known_ = {};
};

const Remembered &remembered() {
  static const Remembered process;
  return process;
}

/// What loading libraries has changed in this process so far.
struct Loaded {
  std::mutex mutex;
  std::vector<ProcessItem> changes;
};

Loaded &loaded() {
  static Loaded all;
  return all;
}

} // namespace

void rememberProcess() { remembered(); }

/// Notes what differs from the remembered process, and puts that back.
static std::vector<ProcessItem> begin() {
  std::vector<ProcessItem> changes =
      processChanges(remembered().items(), processState());
  remembered().putBack();
  std::lock_guard lock(loaded().mutex);
  loaded().changes.insert(loaded().changes.end(), changes.begin(),
                          changes.end());
  return processState();
}

Changes::Changes()
    : before_(begin()),
      watch_([this](const char *function, const ProcessItem &change) {
        add(function, change);
      }) {}

Changes::~Changes() { remembered().putBack(); }

void Changes::add(const char *function, const ProcessItem &change) {
  std::lock_guard lock(mutex_);
  first_.try_emplace(change.name,
                     std::string(function) + " changes " + change.value);
}

void Changes::expectNone(Trial &trial, const std::string &item) {
  for (const ProcessItem &change : processChanges(before_, processState()))
    add("the plug-in, between calls or on a thread of its own,", change);
  {
    std::lock_guard lock(loaded().mutex);
    for (const ProcessItem &change : loaded().changes)
      add("loading the library", change);
  }
  std::lock_guard lock(mutex_);
  for (const auto &[name, complaint] : first_)
    if (item.empty() || item == name)
      trial.fail(complaint);
}

void *Changes::load(const std::string &path) {
  FloatScope scope;
  std::vector<ProcessItem> before = processState();
  void *handle = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  std::vector<ProcessItem> changes = processChanges(before, processState());
  std::lock_guard lock(loaded().mutex);
  loaded().changes.insert(loaded().changes.end(), changes.begin(),
                          changes.end());
  return handle;
}

} // namespace backplane::checks
