#include "base/metrics.hpp"

#include <prometheus/counter.h>
#include <prometheus/family.h>
#include <prometheus/gauge.h>
#include <prometheus/histogram.h>
#include <prometheus/registry.h>
#include <prometheus/text_serializer.h>

#include <map>
#include <mutex>

namespace base {
namespace {

prometheus::Labels labels_of(MetricLabels labels) {
  prometheus::Labels all;
  for (const auto& [name, value] : labels) all.emplace(name, value);
  return all;
}

/// Of a series that there is: registering and adding it again gives the same one.
template <typename Builder, typename... Options>
void remove_series(prometheus::Registry& registry, Builder builder, const prometheus::MetricFamily& family,
                   const prometheus::Labels& labels, const Options&... options) {
  auto& registered = builder.Name(family.name).Help(family.help).Register(registry);
  registered.Remove(&registered.Add(labels, options...));
}

void remove_series(prometheus::Registry& registry, const prometheus::MetricFamily& family,
                   const prometheus::Labels& labels) {
  switch (family.type) {
    case prometheus::MetricType::Counter: return remove_series(registry, prometheus::BuildCounter(), family, labels);
    case prometheus::MetricType::Gauge: return remove_series(registry, prometheus::BuildGauge(), family, labels);
    case prometheus::MetricType::Histogram:
      return remove_series(registry, prometheus::BuildHistogram(), family, labels,
                           prometheus::Histogram::BucketBoundaries{});
    case prometheus::MetricType::Summary:
    case prometheus::MetricType::Untyped: return;  // we have none
  }
}

prometheus::Labels labels_of(const prometheus::ClientMetric& metric) {
  prometheus::Labels labels;
  for (const auto& label : metric.label) labels.emplace(label.name, label.value);
  return labels;
}

}  // namespace

struct Metrics::Impl {
  // Same name and help give the same family back (Registry::InsertBehavior::Merge).
  prometheus::Registry registry;
  std::mutex mutex;                           // of forget() and of what makes series
  std::map<std::string, std::size_t> series;  // of each family

  /// REQUIRES: mutex is held. The labels under which it is told.
  template <typename Family>
  prometheus::Labels admit(Family& family, MetricLabels wanted) {
    prometheus::Labels labels = labels_of(wanted);
    if (family.Has(labels)) return labels;
    std::size_t& count = series[family.GetName()];
    if (count < kMostSeries) return ++count, labels;
    for (auto& [name, value] : labels) value = "other";
    return labels;
  }
};

Metrics::Metrics() : impl_(std::make_unique<Impl>()) {}
Metrics::~Metrics() = default;

Counter Metrics::counter(std::string_view name, std::string_view help, MetricLabels labels) {
  auto& family = prometheus::BuildCounter().Name(std::string(name)).Help(std::string(help)).Register(impl_->registry);
  const std::scoped_lock lock(impl_->mutex);
  return Counter(&family.Add(impl_->admit(family, labels)));
}

Gauge Metrics::gauge(std::string_view name, std::string_view help, MetricLabels labels) {
  auto& family = prometheus::BuildGauge().Name(std::string(name)).Help(std::string(help)).Register(impl_->registry);
  const std::scoped_lock lock(impl_->mutex);
  return Gauge(&family.Add(impl_->admit(family, labels)));
}

Histogram Metrics::histogram(std::string_view name, std::string_view help, const std::vector<double>& buckets,
                             MetricLabels labels) {
  auto& family = prometheus::BuildHistogram().Name(std::string(name)).Help(std::string(help)).Register(impl_->registry);
  const std::scoped_lock lock(impl_->mutex);
  return Histogram(&family.Add(impl_->admit(family, labels), buckets));
}

void Metrics::forget(std::string_view label, std::string_view value) {
  const std::scoped_lock lock(impl_->mutex);
  for (const prometheus::MetricFamily& family : impl_->registry.Collect()) {
    for (const prometheus::ClientMetric& metric : family.metric) {
      const prometheus::Labels labels = labels_of(metric);
      const auto found = labels.find(std::string(label));
      if (found == labels.end() || found->second != value) continue;
      remove_series(impl_->registry, family, labels);
      --impl_->series[family.name];
    }
  }
}

std::string Metrics::render() const { return prometheus::TextSerializer().Serialize(impl_->registry.Collect()); }

void Counter::increment(double by) const { static_cast<prometheus::Counter*>(counter_)->Increment(by); }
void Gauge::set(double value) const { static_cast<prometheus::Gauge*>(gauge_)->Set(value); }
void Gauge::add(double by) const { static_cast<prometheus::Gauge*>(gauge_)->Increment(by); }
void Histogram::observe(double value) const { static_cast<prometheus::Histogram*>(histogram_)->Observe(value); }

}  // namespace base
