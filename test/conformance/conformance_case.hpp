#pragma once

/// A captured case and its evaluation. The README of the cases documents the fields.

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
  /// Returns whether upstream's constructor refuses the arguments of the case, so that there is no result to compare.
  bool wants_refused_args() const { return expect().contains("error") && !expect().contains("result"); }
  base::TimePoint now() const;
};

enum class Outcome { kPassed, kFailed, kDeliberate };
struct Judgement {
  Outcome outcome = Outcome::kPassed;
  std::string detail;
};
/// kDirect evaluates the rule under test directly. kConverted runs the case like a user who migrates from upstream:
/// `convert` converts its policy, and the planner computes the moves.
enum class Way { kDirect, kConverted };
/// Evaluates the case. A failure to which one of the deviations applies is deliberate. Returns nullopt if the case is
/// not comparable in that way.
std::optional<Judgement> judge(const Case& each, const std::vector<Deviation>& deviations, Way way);

// --- shared by all kinds of cases

/// Decodes the objects of the case with the product's decoders. Throws if an object does not decode.
std::unique_ptr<scheduling::ClusterSnapshot> snapshot_of(const Case& each);
/// Returns objects.nodes in the order of the file.
std::vector<scheduling::NodeIndex> nodes_in_order(const Case& each, const scheduling::ClusterSnapshot& cluster);
scheduling::PodIndex target_of(const Case& each, const scheduling::ClusterSnapshot& cluster);
api::PerCycleLimits limits_of(const Case& each);
/// Returns the case's `usage` as a source would provide it, empty if the case has none.
std::vector<std::shared_ptr<const scheduling::MeasuredUsage>> usage_of(const Case& each);
/// Removes members that are null: Go's decoder treats null as absent, and its encoder writes it. A null value becomes
/// an empty object.
Json without_nulls(const Json& json);

/// Converts DefaultEvictor args of upstream's v1alpha2, including deprecated spellings. Adds to `errors` what
/// upstream's constructor would refuse.
api::Evictability evictability_of(const Json& written, api::FieldErrors& errors);

Judgement judge_strategy(const Case& each);
Judgement judge_filter(const Case& each);
Judgement judge_node_fit(const Case& each);
Judgement judge_eviction(const Case& each);
std::optional<Judgement> judge_converted(const Case& each);

Judgement failed(std::string detail);

}  // namespace conformance
