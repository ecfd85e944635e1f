#pragma once

/// Measured usage as a value of the snapshot: what a source said of nodes and pods when a cycle began. Filled by
/// controllers from usage/; strategies only read it.

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/clock.hpp"

namespace scheduling {

/// A list that never changes and that many hold: a copy shares it and costs nothing. Thread-safe, as what is constant
/// is.
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
  std::shared_ptr<const std::vector<T>> items_;  ///< nullptr: it is empty
};

/// No figure: never 0.
inline constexpr std::int64_t kUnknownUsage = -1;

/// Amounts are in thousandths of the resource's unit (cores, bytes…), or in thousandths of a percent of the node where
/// Resource::is_percent. Never negative but for kUnknownUsage.
struct MeasuredUsage {
  struct Resource {
    std::string name;
    bool is_percent = false;  ///< its capacity is 100 % on each node
    base::Duration window{};  ///< a sample is the mean over so long before its time; 0: it is as it was then
    base::Duration lag{};     ///< a sample may be that much older than its time
    friend bool operator==(const Resource&, const Resource&) = default;
  };
  /// Vectors of amounts run parallel to `resources`.
  struct Node {
    std::string name;
    base::TimePoint time{};              ///< of the newest sample
    std::string problem;                 ///< why it is neither source nor target: "the sample is 7m old"; empty: good
    std::vector<std::int64_t> now;       ///< smoothed
    std::vector<std::int64_t> foreseen;  ///< highest until the horizon; empty: no forecast, or not a trusted one
    /// The last samples as they came, oldest first, `resources.size()` amounts each: for hysteresis.
    std::vector<std::int64_t> samples;
    std::vector<base::TimePoint> times{};  ///< of the samples; empty: only the newest one's is known
    friend bool operator==(const Node&, const Node&) = default;
  };
  struct Pod {
    std::string ns;
    std::string name;
    friend bool operator==(const Pod&, const Pod&) = default;
  };

  std::string source;  ///< as UsageNeed::key() spells it
  std::vector<Resource> resources;
  std::vector<Node> nodes;                   ///< by name
  SharedVector<Pod> pods;                    ///< by namespace and name; none: the source knows nodes only
  SharedVector<std::int64_t> pod_amounts{};  ///< `resources.size()` for each of `pods`
  std::int32_t max_unknown_percent = 30;     ///< more nodes without a good sample: nothing is balanced by it
  std::string problem;                     ///< why nothing of it is usable at all: "no answer: timeout"; empty: usable
  SharedVector<std::int64_t> pod_means{};  ///< as pod_amounts, over about a day; empty: nobody keeps them
  friend bool operator==(const MeasuredUsage&, const MeasuredUsage&) = default;
};

/// What a strategy wants to know, so that somebody measures it.
struct UsageNeed {
  std::string source;           ///< name in spec.usageSources; or, for upstream's metricsUtilization:
  bool metrics_server = false;  ///< the policy's first source of type MetricsServer
  std::string query;            ///< PromQL with values from 0 to 1 a node, asked of its first source of type Prometheus

  /// How MeasuredUsage::source spells it: the name, "KubernetesMetrics", or "Prometheus: <query>".
  std::string key() const {
    if (metrics_server) return "KubernetesMetrics";
    return query.empty() ? source : "Prometheus: " + query;
  }
  friend bool operator==(const UsageNeed&, const UsageNeed&) = default;
};

/// The resource of UsageNeed::query, in whole percent.
inline constexpr const char* kMetricResource = "MetricResource";

}  // namespace scheduling
