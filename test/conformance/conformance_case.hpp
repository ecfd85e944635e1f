#pragma once

/// One captured case and how it is judged. The files' README says what the fields mean.

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "api/descheduler_policy.hpp"
#include "api/json/field_path.hpp"
#include "base/result.hpp"
#include "planner/snapshot/cluster_snapshot.hpp"
#include "planner/snapshot/measured_usage.hpp"
#include "test/conformance/deviations.hpp"

namespace conformance {

using Json = nlohmann::json;

struct Case {
  std::string plugin;
  Json json;

  std::string id() const { return json.at("id").get<std::string>(); }
  std::string kind() const { return json.at("kind").get<std::string>(); }
  const Json& expect() const { return json.at("expect"); }
  /// Upstream's constructor refuses the case's arguments, so there is no answer to compare.
  bool wants_refused_args() const { return expect().contains("error") && !expect().contains("result"); }
  base::TimePoint now() const;
};

enum class Outcome { kPassed, kFailed, kDeliberate };
struct Judgement {
  Outcome outcome = Outcome::kPassed;
  std::string detail;
};
/// Which way a case goes: straight to the rule that it is about, or as a user who comes from upstream: its policy
/// through `convert`, the moves by the planner.
enum class Way { kDirect, kConverted };
/// A failed case to which one of the deviations applies is deliberate. nullopt: not comparable that way.
std::optional<Judgement> judge(const Case& each, const std::vector<Deviation>& deviations, Way way);

// --- what the kinds share

/// The case's objects, through the product's own decoders. Aborts the case by an exception when one does not decode.
std::unique_ptr<scheduling::ClusterSnapshot> snapshot_of(const Case& each);
/// objects.nodes in the order they were written.
std::vector<scheduling::NodeIndex> nodes_in_order(const Case& each, const scheduling::ClusterSnapshot& cluster);
scheduling::PodIndex target_of(const Case& each, const scheduling::ClusterSnapshot& cluster);
api::PerCycleLimits limits_of(const Case& each);
/// What the case's `usage` says, as a source would have given it; empty: the case has none.
std::vector<std::shared_ptr<const scheduling::MeasuredUsage>> usage_of(const Case& each);
/// Go's decoder takes null as absent, and its encoder writes it. A null as a whole is an empty object.
Json without_nulls(const Json& json);

/// DefaultEvictor args of upstream's v1alpha2, deprecated spellings included, in our words. `errors`: what upstream's
/// constructor would not take.
api::Evictability evictability_of(const Json& written, api::FieldErrors& errors);

Judgement judge_strategy(const Case& each);
Judgement judge_filter(const Case& each);
Judgement judge_node_fit(const Case& each);
Judgement judge_eviction(const Case& each);
std::optional<Judgement> judge_converted(const Case& each);

Judgement failed(std::string detail);

}  // namespace conformance
