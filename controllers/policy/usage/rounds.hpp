#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "api/meta/object_meta.hpp"
#include "api/policy/usage_source.hpp"
#include "controllers/policy/usage/pod_means.hpp"
#include "planner/snapshot/measured_usage.hpp"
#include "usage/samples.hpp"

namespace controllers {

/// Maximum number of samples per node in MeasuredUsage::Node::samples.
inline constexpr std::size_t kSamplesForHysteresis = 20;
/// Maximum number of rounds stored per node. A longer smoothing window is thinned out to this number.
inline constexpr std::size_t kMaxRounds = 600;

/// Forecast maximum up to the horizon in thousandths, by node and column; kUnknownUsage where no forecast is trusted.
using Forecasts = std::map<std::string, std::vector<std::int64_t>, std::less<>>;

/// Problems of a source besides its figures. Few, short, human-readable texts.
struct UsageHealth {
  std::string problem;                  ///< why the last request had no usable answer, empty if it had
  std::vector<std::string> complaints;  ///< about the last usable answer: "query cpu: 3 values are NaN …"
  std::vector<std::string> columns;     ///< resources that it should measure for every node
  friend bool operator==(const UsageHealth&, const UsageHealth&) = default;
};

/// Latest answers of one source, and the figures derived from them. Memory: about 64 bytes per node and round of the
/// smoothing window, PodMeans, and the pods of the newest answer with their means, which are shared with all figures
/// derived from it. Not thread-safe.
class UsageRounds {
 public:
  /// `source` determines what is stored, smoothed and trusted.
  explicit UsageRounds(api::UsageSource source);

  /// Adds an answer received at `now`; moves pods and problems out of `samples`. A repeated sample of a node adds no
  /// round. Samples more than maxAge in the future are discarded when the next sample arrives.
  void take(usage::Samples& samples, base::TimePoint now);
  void add(usage::Samples samples, base::TimePoint now) { take(samples, now); }
  /// Records that a pod that ran on `node` since `start` is gone at `now`. Subtracts its usage from the samples in
  /// between (for means their share), subtracts it from the forecast, and removes the pod from the newest answer.
  /// Samples are unchanged if the source measures only nodes, or in percent, or if the pod began after the newest
  /// sample.
  void leave(const std::string& node, const api::ObjectKey& pod, base::TimePoint start, base::TimePoint now);
  /// Sets the forecast based on the newest answer.
  void foresee(Forecasts foreseen);
  /// Records that the source gave no usable answer. Known figures keep aging.
  void fail(const std::string& problem);

  /// Returns the figures known at `now`. A node has a problem if its newest sample is older than maxAge, more than that
  /// in the future, or has no usable value. The source has a problem until its first answer.
  scheduling::MeasuredUsage figures(const std::string& key, base::TimePoint now);

  /// Figures with equal versions differ only by aging.
  std::uint64_t version() const { return version_; }
  /// Time at which `figures`, created at `now`, become invalid without a new answer.
  base::TimePoint valid_until(const scheduling::MeasuredUsage& figures, base::TimePoint now) const;

  /// Usage of the pod in the newest answer, by column of nodes and in the column's unit; usage::kUnknown if it is
  /// missing or the column is in percent. Empty if the answer lacks the pod.
  std::vector<double> pod_values(std::string_view ns, std::string_view pod) const;
  /// Last measured usage of a pod.
  struct LastValues {
    std::vector<double> values;       ///< see pod_values()
    std::uint64_t answers_since = 0;  ///< number of later answers without the pod
  };
  /// Includes, for maxAge, pods that newer answers lack, because metrics of a pod often end before the pod does.
  LastValues last_values(std::string_view ns, std::string_view pod) const;

  /// State after the last request.
  UsageHealth health() const;

 private:
  struct Round {
    base::TimePoint time;
    std::vector<float> values;
  };
  /// Pod that the newest answer lacks.
  struct Vanished {
    std::vector<double> values;  ///< by column
    base::TimePoint time;        ///< of the first answer without it
    std::uint64_t answers = 0;   ///< number of answers before that one
  };
  /// Usage of a pod that left.
  struct Departure {
    base::TimePoint start;
    base::TimePoint end;
    std::vector<double> values;  ///< by column
  };
  struct Node {
    std::deque<Round> rounds;          ///< oldest first; time strictly ascending
    base::TimePoint seen;              ///< time of the last answer that contained it
    std::deque<Departure> departures;  ///< those that future samples may still include
  };

  void take_columns(const usage::Samples& samples);
  void take_node(usage::Samples::Node& node, base::TimePoint now);
  void take_pods(usage::Samples& samples, base::TimePoint now);
  void drop_gone_pods();
  void note_vanished(const usage::Samples& next, base::TimePoint now);
  void take_complaints(usage::Samples& samples);
  /// Index of the pod in pods_; nullopt if the newest answer lacks it.
  std::optional<std::size_t> find_pod(std::string_view ns, std::string_view pod) const;
  scheduling::MeasuredUsage::Node figures_of(const std::string& name, const Node& node, base::TimePoint now) const;
  std::string problem_of(const Round& newest, base::TimePoint now) const;
  std::int64_t smoothed(const Node& node, std::size_t column) const;
  void subtract(const Departure& left, Round& round) const;
  void foresee_without(const std::string& node, const std::vector<double>& values);

  api::UsageSource source_;
  std::size_t max_rounds_;  ///< maximum number of rounds per node
  std::uint64_t stride_ = 1;
  std::uint64_t answers_ = 0;
  std::uint64_t version_ = 0;
  std::vector<usage::Column> columns_;
  std::vector<scheduling::MeasuredUsage::Resource> resources_;  ///< those of the node columns, then those of pods only
  std::map<std::string, Node> nodes_;
  Forecasts foreseen_;
  scheduling::SharedVector<scheduling::MeasuredUsage::Pod> pods_;
  scheduling::SharedVector<std::int64_t> pod_amounts_;
  scheduling::SharedVector<std::int64_t> pod_means_;                  ///< layout as pod_amounts_
  std::vector<bool> is_gone_;                                         ///< by pod
  std::map<std::pair<std::string, std::string>, Vanished> vanished_;  ///< by namespace and name
  PodMeans means_;
  std::vector<std::string> complaints_;  ///< about the newest answer
  std::string problem_ = "the source has not responded yet";
};

/// Converts to thousandths. Returns kUnknownUsage if the value is not finite, negative, or too large.
std::int64_t thousandths(double value);

}  // namespace controllers
