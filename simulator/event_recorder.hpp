#pragma once

#include <deque>
#include <map>
#include <string>
#include <string_view>
#include <tuple>

#include "api/json/json.hpp"
#include "api/meta/object_meta.hpp"
#include "simulator/store.hpp"

namespace simulator {

/// Writes events.k8s.io/v1 Events about the simulated cluster's objects. A repeated (object, reason, note) only
/// increments the count. Keeps the newest 2,000 Events. Not thread-safe.
class EventRecorder {
 public:
  /// If `enabled` is false, all calls are no-ops. The `component` of a call becomes reportingController.
  EventRecorder(Store& store, bool enabled) : store_(store), enabled_(enabled) {}

  void normal(std::string_view component, const api::Json& about, std::string_view reason, std::string_view note) {
    record(component, about, "Normal", reason, note);
  }
  void warning(std::string_view component, const api::Json& about, std::string_view reason, std::string_view note) {
    record(component, about, "Warning", reason, note);
  }

 private:
  using Identity = std::tuple<std::string, std::string, std::string>;  // UID, reason, note

  void record(std::string_view component, const api::Json& about, std::string_view type, std::string_view reason,
              std::string_view note);
  bool count_up(const Identity& identity);
  void forget_oldest();

  Store& store_;
  bool enabled_;
  std::map<Identity, api::ObjectKey> known_;
  std::deque<Identity> order_;
};

}  // namespace simulator
