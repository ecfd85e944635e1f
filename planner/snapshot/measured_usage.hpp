#pragma once

/// Measured usage of nodes and pods at the start of a cycle, stored as a plain value with the snapshot. Controllers
/// fill it from usage/; strategies only read it.

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/clock.hpp"

namespace scheduling {

/// Immutable shared vector. Copies share the storage and are cheap. Thread-safe because the contents never change.
template <typename T>
class SharedVector {
 public:
  using value_type = T;
  using const_iterator = typename std::vector<T>::const_iterator;
  using iterator = const_iterator;

  SharedVector() = default;
  SharedVector(std::initializer_list<T> items) : SharedVector(std::vector<T>(items)) {}
  explicit SharedVector(std::vector<T> items) {
    if (!items.empty()) items_ = std::make_shared<const std::vector<T>>(std::move(items));
  }

  const std::vector<T>& get() const {
    static const std::vector<T> none;
    return items_ ? *items_ : none;
  }
  std::size_t size() const { return items_ ? items_->size() : 0; }
  bool empty() const { return !items_; }
  const T& operator[](std::size_t at) const { return (*items_)[at]; }  ///< REQUIRES: at < size()
  const_iterator begin() const { return get().begin(); }
  const_iterator end() const { return get().end(); }
  friend bool operator==(const SharedVector& a, const SharedVector& b) { return a.get() == b.get(); }

 private:
  std::shared_ptr<const std::vector<T>> items_;  ///< nullptr if empty
};

/// Marks a missing measurement. Distinct from 0.
inline constexpr std::int64_t kUnknownUsage = -1;

/// Usage reported by one source. Amounts are in thousandths of the resource's unit (cores, bytes…), or in thousandths
/// of a percent of the node if Resource::is_percent. Amounts are never negative except kUnknownUsage.
struct MeasuredUsage {
  struct Resource {
    std::string name;
    bool is_percent = false;  ///< capacity is 100 % on each node
    base::Duration window{};  ///< a sample is the mean over this period before its time; 0 for instantaneous values
    base::Duration lag{};     ///< a sample may be older than its time by up to this
    friend bool operator==(const Resource&, const Resource&) = default;
  };
  /// Usage of one node. Vectors of amounts are parallel to `resources`.
  struct Node {
    std::string name;
    base::TimePoint time{};  ///< time of the newest sample
    std::string problem;     ///< why the node is neither source nor target ("the sample is 7m old"); empty if usable
    std::vector<std::int64_t> now;       ///< smoothed usage
    std::vector<std::int64_t> foreseen;  ///< maximum forecast until the horizon; empty if there is no trusted forecast
    /// Latest raw samples for hysteresis, oldest first, `resources.size()` amounts per sample.
    std::vector<std::int64_t> samples;
    std::vector<base::TimePoint> times{};  ///< times of `samples`; empty if only that of the newest is known
    friend bool operator==(const Node&, const Node&) = default;
  };
  struct Pod {
    std::string ns;
    std::string name;
    friend bool operator==(const Pod&, const Pod&) = default;
  };

  std::string source;  ///< source name as returned by UsageNeed::key()
  std::vector<Resource> resources;
  std::vector<Node> nodes;                   ///< in order of name
  SharedVector<Pod> pods;                    ///< by namespace and name; empty if the source measures only nodes
  SharedVector<std::int64_t> pod_amounts{};  ///< `resources.size()` amounts per entry of `pods`
  std::int32_t max_unknown_percent = 30;     ///< balancing stops if more nodes than this lack a usable sample
  std::string problem;  ///< why the whole source is unusable ("no answer: timeout"); empty if usable
  /// Means over about a day, laid out like pod_amounts; empty if not collected.
  SharedVector<std::int64_t> pod_means{};
  friend bool operator==(const MeasuredUsage&, const MeasuredUsage&) = default;
};

/// Measurement that a strategy requests. Exactly one of the three fields is set.
struct UsageNeed {
  std::string source;           ///< name in spec.usageSources
  bool metrics_server = false;  ///< use the policy's first source of type MetricsServer (upstream's metricsUtilization)
  std::string query;  ///< PromQL with one value from 0 to 1 per node, sent to the policy's first source of type
                      ///< Prometheus (upstream's metricsUtilization)

  /// Name used in MeasuredUsage::source: the source's name, "KubernetesMetrics", or "Prometheus: <query>".
  std::string key() const {
    if (metrics_server) return "KubernetesMetrics";
    return query.empty() ? source : "Prometheus: " + query;
  }
  friend bool operator==(const UsageNeed&, const UsageNeed&) = default;
};

/// Resource of UsageNeed::query, in whole percent.
inline constexpr const char* kMetricResource = "MetricResource";

}  // namespace scheduling
