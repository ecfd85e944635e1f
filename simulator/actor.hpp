#pragma once

#include <map>
#include <optional>
#include <set>
#include <string_view>
#include <utility>
#include <vector>

#include "base/clock.hpp"

namespace simulator {

/// One controller of the in-memory cluster: the scheduler, a controller, all kubelets together. Reads the store's
/// journal into indexes of its own, so that a tick costs what has changed, not what exists. Used by one thread.
class Actor {
 public:
  virtual ~Actor() = default;

  /// Stable name, as reported in events: "kubelet", "replicaset-controller".
  virtual std::string_view name() const = 0;

  /// Takes note of what has changed and does what is due at `now`. True if it changed anything in the store.
  virtual bool tick(base::TimePoint now) = 0;

  /// When it wants to act again although nothing changes. May be in the past: then at once.
  virtual std::optional<base::TimePoint> next_due() const { return std::nullopt; }
};

/// Which keys are due when: at most one instant per key. Taken in order of time, then key.
template <typename Key>
class Agenda {
 public:
  void set(const Key& key, base::TimePoint when) {
    drop(key);
    times_[key] = when;
    order_.emplace(when, key);
  }
  void drop(const Key& key) {
    const auto found = times_.find(key);
    if (found == times_.end()) return;
    order_.erase({found->second, key});
    times_.erase(found);
  }
  void clear() {
    times_.clear();
    order_.clear();
  }

  /// Removes and returns the keys that are due at `now`.
  std::vector<Key> take_due(base::TimePoint now) {
    std::vector<Key> due;
    while (!order_.empty() && order_.begin()->first <= now) {
      due.push_back(order_.begin()->second);
      times_.erase(order_.begin()->second);
      order_.erase(order_.begin());
    }
    return due;
  }
  std::optional<base::TimePoint> next() const {
    return order_.empty() ? std::nullopt : std::optional(order_.begin()->first);
  }

 private:
  std::map<Key, base::TimePoint> times_;
  std::set<std::pair<base::TimePoint, Key>> order_;
};

/// The earlier of two instants that may be absent.
inline std::optional<base::TimePoint> earliest(std::optional<base::TimePoint> a, std::optional<base::TimePoint> b) {
  if (!a || !b) return a ? a : b;
  return *a < *b ? a : b;
}

}  // namespace simulator
