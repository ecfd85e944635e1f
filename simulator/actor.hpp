#pragma once

#include <map>
#include <optional>
#include <set>
#include <string_view>
#include <utility>
#include <vector>

#include "base/clock.hpp"

namespace simulator {

/// A component of the in-memory cluster: the scheduler, a controller, or all kubelets together. Maintains indexes from
/// the store's journal, so that the cost of a tick depends on the number of changes, not of objects. Not thread-safe.
class Actor {
 public:
  virtual ~Actor() = default;

  /// Returns a stable name, as used in events: "kubelet", "replicaset-controller".
  virtual std::string_view name() const = 0;

  /// Processes changes and performs the actions due at `now`. Returns true if the store was changed.
  virtual bool tick(base::TimePoint now) = 0;

  /// Returns when the actor must run again even without changes. A time in the past means immediately.
  virtual std::optional<base::TimePoint> next_due() const { return std::nullopt; }
};

/// Schedule of keys, with at most one time per key. Ordered by time, then key.
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

/// Returns the earlier of two optional times.
inline std::optional<base::TimePoint> earliest(std::optional<base::TimePoint> a, std::optional<base::TimePoint> b) {
  if (!a || !b) return a ? a : b;
  return *a < *b ? a : b;
}

}  // namespace simulator
