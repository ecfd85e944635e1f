#pragma once

#include <initializer_list>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/clock.hpp"

namespace base {

/// Label names and values of one time series. Pod names are not allowed as values, because they have no bounded number.
using MetricLabels = std::initializer_list<std::pair<std::string_view, std::string_view>>;

/// Handles are cheap to copy, thread-safe, and valid as long as their registry. Obtaining a handle costs a lookup
/// (about half a microsecond); keep the handle in hot code.
class Counter {
 public:
  void increment(double by = 1) const;

 private:
  friend class Metrics;
  explicit Counter(void* counter) : counter_(counter) {}
  void* counter_;
};

class Gauge {
 public:
  void set(double value) const;
  void add(double by) const;

 private:
  friend class Metrics;
  explicit Gauge(void* gauge) : gauge_(gauge) {}
  void* gauge_;
};

/// Trace to which an observation belongs. Rendered in the OpenMetrics format only, the newest one of each bucket.
struct Exemplar {
  std::string trace_id;  ///< 32 hex digits, empty if the observation has no trace
  TimePoint at;          ///< time of the observation
};

class Histogram {
 public:
  void observe(double value) const;
  void observe(double value, const Exemplar& exemplar) const;

 private:
  friend class Metrics;
  Histogram(void* histogram, void* exemplars) : histogram_(histogram), exemplars_(exemplars) {}
  void* histogram_;
  void* exemplars_;
};

/// Registry of Prometheus time series, implemented with prometheus-cpp. Thread-safe.
class Metrics {
 public:
  Metrics();
  ~Metrics();

  /// Calls with equal `name` must pass the same `help` and the same label names. A family holds at most kMaxSeries
  /// series. Further label sets are folded into one series whose labels are all "other".
  static constexpr std::size_t kMaxSeries = 10'000;
  Counter counter(std::string_view name, std::string_view help, MetricLabels labels = {});
  Gauge gauge(std::string_view name, std::string_view help, MetricLabels labels = {});
  /// `buckets` are upper bounds in ascending order.
  Histogram histogram(std::string_view name, std::string_view help, const std::vector<double>& buckets,
                      MetricLabels labels = {});

  /// Removes the series with this label from all families, after the labelled object is gone. Handles of removed series
  /// must not be used afterwards. Walks over all series.
  void forget(std::string_view label, std::string_view value);

  /// Renders the Prometheus text exposition format, version 0.0.4.
  std::string render() const;
  /// Renders the OpenMetrics text format, version 1.0.0: all series, with exemplars.
  std::string render_openmetrics() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace base
