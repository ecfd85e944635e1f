#pragma once

#include <initializer_list>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/clock.hpp"

namespace base {

/// Label names and values of one time series. No pod names, ever: cardinality is bounded.
using MetricLabels = std::initializer_list<std::pair<std::string_view, std::string_view>>;

/// Handles are cheap to copy, thread-safe and live as long as their registry. Obtaining one costs a look-up
/// (about half a microsecond); keep it where the code is hot.
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

/// The trace to which an observation belongs. Told in the OpenMetrics format only, the newest of each bucket.
struct Exemplar {
  std::string trace_id;  ///< 32 hex digits; empty: there is none
  TimePoint at;          ///< of the observation
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

/// A registry of Prometheus time series (prometheus-cpp behind it). Thread-safe.
class Metrics {
 public:
  Metrics();
  ~Metrics();

  /// `name` and `help` must be the same at each call with that name.
  /// The same goes for the names of labels. A family holds at most kMaxSeries series: what would be one more is told
  /// by one whose labels are all "other", whoever chose the values.
  static constexpr std::size_t kMaxSeries = 10'000;
  Counter counter(std::string_view name, std::string_view help, MetricLabels labels = {});
  Gauge gauge(std::string_view name, std::string_view help, MetricLabels labels = {});
  /// `buckets` are upper bounds in ascending order.
  Histogram histogram(std::string_view name, std::string_view help, const std::vector<double>& buckets,
                      MetricLabels labels = {});

  /// Drops the series with that label, of every name: what they told about is gone. No handle of theirs may be used
  /// after that. Costs a walk over all series.
  void forget(std::string_view label, std::string_view value);

  /// The text exposition format, version 0.0.4.
  std::string render() const;
  /// The OpenMetrics text format, version 1.0.0: the same series, with exemplars.
  std::string render_openmetrics() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace base
