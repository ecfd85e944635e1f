#include "base/metrics.hpp"

#include <prometheus/counter.h>
#include <prometheus/family.h>
#include <prometheus/gauge.h>
#include <prometheus/histogram.h>
#include <prometheus/registry.h>
#include <prometheus/text_serializer.h>

#include <algorithm>
#include <map>
#include <mutex>
#include <optional>
#include <unordered_map>

#include "base/openmetrics.hpp"

namespace base {

using SeriesKey = std::pair<std::string, prometheus::Labels>;  // name of the family, and labels

/// Newest exemplar of each bucket of one histogram.
struct Exemplars {
  Exemplars(SeriesKey series, std::vector<double> of)
      : key(std::move(series)), bounds(std::move(of)), newest(bounds.size() + 1) {}

  void note(double value, const Exemplar& exemplar) {
    const auto bucket = std::ranges::lower_bound(bounds, value) - bounds.begin();
    const std::scoped_lock lock(mutex);
    newest[static_cast<std::size_t>(bucket)] = BucketExemplar{value, exemplar};
  }
  std::vector<std::optional<BucketExemplar>> all() {
    const std::scoped_lock lock(mutex);
    return newest;
  }

  const SeriesKey key;
  const std::vector<double> bounds;
  std::mutex mutex;
  std::vector<std::optional<BucketExemplar>> newest;  ///< by bucket; guarded by mutex
};

namespace {

prometheus::Labels labels_of(MetricLabels labels) {
  prometheus::Labels all;
  for (const auto& [name, value] : labels) all.emplace(name, value);
  return all;
}

/// Removes an existing series. Registry and family return the existing instance when it is registered or added again.
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
    case prometheus::MetricType::Untyped: return;  // not used here
  }
}

prometheus::Labels labels_of(const prometheus::ClientMetric& metric) {
  prometheus::Labels labels;
  for (const auto& label : metric.label) labels.emplace(label.name, label.value);
  return labels;
}

MetricFamily::Kind kind_of(prometheus::MetricType type) {
  if (type == prometheus::MetricType::Counter) return MetricFamily::Kind::kCounter;
  return type == prometheus::MetricType::Histogram ? MetricFamily::Kind::kHistogram : MetricFamily::Kind::kGauge;
}

/// Converts a series; exemplars stay empty.
MetricFamily::Series series_of(const prometheus::ClientMetric& metric, MetricFamily::Kind kind) {
  MetricFamily::Series series;
  for (const auto& label : metric.label) series.labels.emplace_back(label.name, label.value);
  series.value = kind == MetricFamily::Kind::kCounter     ? metric.counter.value
                 : kind == MetricFamily::Kind::kHistogram ? metric.histogram.sample_sum
                                                          : metric.gauge.value;
  series.count = metric.histogram.sample_count;
  for (const auto& each : metric.histogram.bucket) series.buckets.push_back({each.upper_bound, each.cumulative_count});
  return series;
}

}  // namespace

/// Families by name. Caches them because the registry would walk over all families at each lookup.
template <typename Metric>
class Families {
 public:
  template <typename Builder>
  prometheus::Family<Metric>& get(prometheus::Registry& registry, Builder builder, std::string_view name,
                                  std::string_view help) {
    const auto known = by_name_.find(name);
    if (known != by_name_.end()) return *known->second;
    auto& made = builder.Name(std::string(name)).Help(std::string(help)).Register(registry);
    by_name_.emplace(name, &made);
    return made;
  }

 private:
  std::map<std::string, prometheus::Family<Metric>*, std::less<>> by_name_;
};

struct Metrics::Impl {
  // Registry::InsertBehavior::Merge returns the existing family for an equal name and help.
  prometheus::Registry registry;
  Families<prometheus::Counter> counters;  // guarded by mutex, like gauges and histograms
  Families<prometheus::Gauge> gauges;
  Families<prometheus::Histogram> histograms;
  std::mutex mutex;                           // also held by forget() and while series are created
  std::map<std::string, std::size_t> series;  // number of series by family
  /// Guarded by mutex. Callers must hold it to create or remove a histogram.
  std::unordered_map<const prometheus::Histogram*, std::unique_ptr<Exemplars>> exemplars;

  /// Callers must hold the mutex. Runs at each observation, so names and labels are copied only for a new histogram.
  Exemplars& exemplars_of(const prometheus::Histogram& histogram, const std::string& name,
                          const prometheus::Labels& labels, const std::vector<double>& buckets) {
    auto& found = exemplars[&histogram];
    if (!found) found = std::make_unique<Exemplars>(SeriesKey(name, labels), buckets);
    return *found;
  }
  std::map<SeriesKey, std::vector<std::optional<BucketExemplar>>> newest_exemplars() {
    const std::scoped_lock lock(mutex);
    std::map<SeriesKey, std::vector<std::optional<BucketExemplar>>> newest;
    for (const auto& [histogram, each] : exemplars) newest.emplace(each->key, each->all());
    return newest;
  }

  /// Callers must hold the mutex. Returns the labels to use: `wanted`, or "other" for each label if the family is full.
  template <typename Family>
  prometheus::Labels admit(Family& family, MetricLabels wanted) {
    prometheus::Labels labels = labels_of(wanted);
    if (family.Has(labels)) return labels;
    std::size_t& count = series[family.GetName()];
    if (count < kMaxSeries) return ++count, labels;
    for (auto& [name, value] : labels) value = "other";
    return labels;
  }
};

Metrics::Metrics() : impl_(std::make_unique<Impl>()) {}
Metrics::~Metrics() = default;

Counter Metrics::counter(std::string_view name, std::string_view help, MetricLabels labels) {
  const std::scoped_lock lock(impl_->mutex);
  auto& family = impl_->counters.get(impl_->registry, prometheus::BuildCounter(), name, help);
  return Counter(&family.Add(impl_->admit(family, labels)));
}

Gauge Metrics::gauge(std::string_view name, std::string_view help, MetricLabels labels) {
  const std::scoped_lock lock(impl_->mutex);
  auto& family = impl_->gauges.get(impl_->registry, prometheus::BuildGauge(), name, help);
  return Gauge(&family.Add(impl_->admit(family, labels)));
}

Histogram Metrics::histogram(std::string_view name, std::string_view help, const std::vector<double>& buckets,
                             MetricLabels labels) {
  const std::scoped_lock lock(impl_->mutex);
  auto& family = impl_->histograms.get(impl_->registry, prometheus::BuildHistogram(), name, help);
  const prometheus::Labels told = impl_->admit(family, labels);
  auto& histogram = family.Add(told, buckets);
  return Histogram(&histogram, &impl_->exemplars_of(histogram, family.GetName(), told, buckets));
}

void Metrics::forget(std::string_view label, std::string_view value) {
  const auto is_meant = [name = std::string(label), value](const prometheus::Labels& labels) {
    const auto found = labels.find(name);
    return found != labels.end() && found->second == value;
  };
  const std::scoped_lock lock(impl_->mutex);
  for (const prometheus::MetricFamily& family : impl_->registry.Collect()) {
    for (const prometheus::ClientMetric& metric : family.metric) {
      const prometheus::Labels labels = labels_of(metric);
      if (!is_meant(labels)) continue;
      remove_series(impl_->registry, family, labels);
      --impl_->series[family.name];
    }
  }
  std::erase_if(impl_->exemplars, [&](const auto& each) { return is_meant(each.second->key.second); });
}

std::string Metrics::render() const { return prometheus::TextSerializer().Serialize(impl_->registry.Collect()); }

std::string Metrics::render_openmetrics() const {
  std::vector<MetricFamily> families;
  const auto exemplars = impl_->newest_exemplars();
  for (const prometheus::MetricFamily& each : impl_->registry.Collect()) {
    MetricFamily& family = families.emplace_back(MetricFamily{each.name, each.help, kind_of(each.type), {}});
    for (const prometheus::ClientMetric& metric : each.metric) {
      family.series.push_back(series_of(metric, family.kind));
      const auto found = exemplars.find({each.name, labels_of(metric)});
      if (found == exemplars.end()) continue;
      auto& buckets = family.series.back().buckets;
      for (std::size_t i = 0; i < std::min(buckets.size(), found->second.size()); ++i)
        buckets[i].exemplar = found->second[i];
    }
  }
  return base::render_openmetrics(families);
}

void Counter::increment(double by) const { static_cast<prometheus::Counter*>(counter_)->Increment(by); }
void Gauge::set(double value) const { static_cast<prometheus::Gauge*>(gauge_)->Set(value); }
void Gauge::add(double by) const { static_cast<prometheus::Gauge*>(gauge_)->Increment(by); }
void Histogram::observe(double value) const { static_cast<prometheus::Histogram*>(histogram_)->Observe(value); }
void Histogram::observe(double value, const Exemplar& exemplar) const {
  observe(value);
  if (!exemplar.trace_id.empty()) static_cast<Exemplars*>(exemplars_)->note(value, exemplar);
}

}  // namespace base
