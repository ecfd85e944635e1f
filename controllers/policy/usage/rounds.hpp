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

/// Samples of a node that MeasuredUsage::Node::samples holds.
inline constexpr std::size_t kSamplesForHysteresis = 20;
/// Rounds that are kept of a node. A longer smoothing window is thinned out to so many.
inline constexpr std::size_t kMaxRounds = 600;

/// Highest values until the horizon in thousandths, by node and then by column; kUnknownUsage where no forecast is
/// trusted.
using Foreseen = std::map<std::string, std::vector<std::int64_t>, std::less<>>;

/// What is wrong with a source, beside its figures. Short texts for people, and few of them.
struct UsageHealth {
  std::string problem;                  ///< why the last question had no usable answer; empty: it had
  std::vector<std::string> complaints;  ///< about the last answer, where it had: "query cpu: 3 values are NaN …"
  std::vector<std::string> columns;     ///< resources that it is to measure of every node
  friend bool operator==(const UsageHealth&, const UsageHealth&) = default;
};

/// The last answers of one source, and the figures that they add up to. Memory: about 64 bytes a node and round of the
/// smoothing window, and the newest answer's pods with their means, which all figures that are made of it share, and
/// PodMeans. Not thread-safe.
class UsageRounds {
 public:
  /// `source` decides what is kept, smoothed and believed.
  explicit UsageRounds(api::UsageSource source);

  /// An answer that was received at `now`; its pods and problems are moved out of it. A node whose sample is the one
  /// before again has no new round. What came from the future by more than maxAge is forgotten when the next sample
  /// comes.
  void take(usage::Samples& samples, base::TimePoint now);
  void add(usage::Samples samples, base::TimePoint now) { take(samples, now); }
  /// A pod that ran on `node` since `start` is gone at `now`. Samples from between count without what it used, and
  /// means without their share of it; what is foreseen falls by it; the newest answer does not know it any more. Where
  /// the source measures nodes only, or in percent, samples stay as they are. A pod that began after the newest sample
  /// is not in any.
  void leave(const std::string& node, const api::ObjectKey& pod, base::TimePoint start, base::TimePoint now);
  /// What is foreseen since the newest answer.
  void foresee(Foreseen foreseen);
  /// The source gave no usable answer. What is known ages on.
  void fail(const std::string& problem);

  /// What is known at `now`. A node whose newest sample is older than maxAge, or from the future by more than that, or
  /// without any usable value, has a problem. The source has one while it never answered.
  scheduling::MeasuredUsage figures(const std::string& key, base::TimePoint now);

  /// Figures of the same number differ only by what aged.
  std::uint64_t version() const { return version_; }
  /// When `figures`, made of this at `now`, begin to say something that is not true any more without a new answer.
  base::TimePoint good_until(const scheduling::MeasuredUsage& figures, base::TimePoint now) const;

  /// What the newest answer says of the pod, by column of nodes in the column's unit; usage::kUnknown where it says
  /// nothing, or the nodes' column is in percent. Empty: it does not know the pod.
  std::vector<double> pod_values(std::string_view ns, std::string_view pod) const;
  /// What a pod used when it was measured last.
  struct LastValues {
    std::vector<double> values;       ///< as of pod_values()
    std::uint64_t answers_since = 0;  ///< without it
  };
  /// Also of a pod that newer answers lack, for maxAge: metrics of a pod often end before the pod does.
  LastValues last_values(std::string_view ns, std::string_view pod) const;

  /// As of the last question.
  UsageHealth health() const;

 private:
  struct Round {
    base::TimePoint time;
    std::vector<float> values;
  };
  /// A pod that the newest answer lacks.
  struct Vanished {
    std::vector<double> values;  ///< by column
    base::TimePoint time;        ///< of the first answer without it
    std::uint64_t answers = 0;   ///< before that one
  };
  /// What a pod used that left.
  struct Departure {
    base::TimePoint start;
    base::TimePoint end;
    std::vector<double> values;  ///< by column
  };
  struct Node {
    std::deque<Round> rounds;          ///< oldest first; time strictly ascending
    base::TimePoint seen;              ///< when it was in an answer last
    std::deque<Departure> departures;  ///< that samples to come may still show
  };

  void take_columns(const usage::Samples& samples);
  void take_node(usage::Samples::Node& node, base::TimePoint now);
  void take_pods(usage::Samples& samples, base::TimePoint now);
  void drop_gone_pods();
  void note_vanished(const usage::Samples& next, base::TimePoint now);
  void take_complaints(usage::Samples& samples);
  bool is_measured_of_any(std::size_t column) const;
  void forget_missing(base::TimePoint now);
  /// The pod's place in pods_; nullopt: the newest answer does not know it.
  std::optional<std::size_t> find_pod(std::string_view ns, std::string_view pod) const;
  scheduling::MeasuredUsage::Node figures_of(const std::string& name, const Node& node, base::TimePoint now) const;
  std::string problem_of(const Round& newest, base::TimePoint now) const;
  std::int64_t smoothed(const Node& node, std::size_t column) const;
  void take_off(const Departure& left, Round& round) const;
  void leave_vanished(const std::string& node, const api::ObjectKey& pod);
  void foresee_without(const std::string& node, const std::vector<double>& values);

  api::UsageSource source_;
  std::size_t most_;  ///< rounds of a node
  std::uint64_t stride_ = 1;
  std::uint64_t answers_ = 0;
  std::uint64_t version_ = 0;
  std::vector<usage::Column> columns_;
  std::vector<scheduling::MeasuredUsage::Resource> resources_;  ///< those of the columns, then those of pods alone
  std::map<std::string, Node> nodes_;
  Foreseen foreseen_;
  scheduling::SharedVector<scheduling::MeasuredUsage::Pod> pods_;
  scheduling::SharedVector<std::int64_t> pod_amounts_;
  scheduling::SharedVector<std::int64_t> pod_means_;                  ///< as pod_amounts_
  std::vector<bool> is_gone_;                                         ///< by pod
  std::map<std::pair<std::string, std::string>, Vanished> vanished_;  ///< by namespace and name
  PodMeans means_;
  std::vector<std::string> complaints_;  ///< of the newest answer
  std::string problem_ = "it has not answered yet";
};

/// Thousandths; kUnknownUsage for what is no figure, negative, or too large to count.
std::int64_t thousandths(double value);

}  // namespace controllers
