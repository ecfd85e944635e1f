#include "test/conformance/conformance_case.hpp"

#include <algorithm>
#include <functional>
#include <map>
#include <stdexcept>

#include "api/core/codec.hpp"

namespace conformance {
namespace {

template <typename T>
std::shared_ptr<const T> decoded(base::Result<T> result) {
  if (!result) throw std::runtime_error("object does not decode: " + result.error().message);
  return std::make_shared<const T>(*std::move(result));
}

void take(scheduling::SnapshotInput& input, const std::string& kind, const std::string& text) {
  if (kind == "nodes") return input.nodes.push_back(decoded(api::decode_node(text)));
  if (kind == "pods") return input.pods.push_back(decoded(api::decode_pod(text)));
  if (kind == "poddisruptionbudgets") return input.pdbs.push_back(decoded(api::decode_pdb(text)));
  if (kind == "namespaces") return input.namespaces.push_back(decoded(api::decode_namespace(text)));
  if (kind == "priorityClasses") return input.priority_classes.push_back(decoded(api::decode_priority_class(text)));
  if (kind == "persistentVolumeClaims") return input.claims.push_back(decoded(api::decode_pvc(text)));
  if (kind == "persistentVolumes") return input.volumes.push_back(decoded(api::decode_pv(text)));
  if (kind == "replicaSets") return input.workloads.push_back(decoded(api::decode_workload(text)));
  throw std::runtime_error("unknown kind of object: " + kind);
}

Judgement judge_by_kind(const Case& each) {
  static const std::map<std::string, Judgement (*)(const Case&)> kJudges = {
      {"strategy", judge_strategy}, {"filter", judge_filter},  {"preEvictionFilter", judge_filter},
      {"nodefit", judge_node_fit},  {"evict", judge_eviction},
  };
  const auto at = kJudges.find(each.kind());
  return at == kJudges.end() ? failed("unknown kind " + each.kind()) : at->second(each);
}

std::optional<Judgement> judge_by_way(const Case& each, Way way) {
  try {
    return way == Way::kConverted ? judge_converted(each) : judge_by_kind(each);
  } catch (const std::exception& error) {
    return failed(std::string("exception: ") + error.what());
  }
}

}  // namespace

base::TimePoint Case::now() const { return base::parse_time(json.at("capturedAt").get<std::string>()).value(); }

Json without_nulls(const Json& json) {
  if (json.is_null()) return Json::object();
  if (!json.is_object()) return json;
  Json kept = Json::object();
  for (const auto& [name, value] : json.items()) {
    if (!value.is_null()) kept[name] = without_nulls(value);
  }
  return kept;
}

Judgement failed(std::string detail) { return {Outcome::kFailed, std::move(detail)}; }

std::unique_ptr<scheduling::ClusterSnapshot> snapshot_of(const Case& each) {
  scheduling::SnapshotInput input;
  for (const auto& [kind, objects] : each.json.at("objects").items()) {
    for (const Json& object : objects) take(input, kind, object.dump());
  }
  return std::make_unique<scheduling::ClusterSnapshot>(std::move(input), scheduling::Quantities::kAsWritten);
}

std::vector<scheduling::NodeIndex> nodes_in_order(const Case& each, const scheduling::ClusterSnapshot& cluster) {
  std::vector<scheduling::NodeIndex> nodes;
  for (const Json& node : each.json.at("objects").at("nodes")) {
    nodes.push_back(cluster.find_node(node.at("metadata").at("name").get<std::string>()).value());
  }
  return nodes;
}

api::PerCycleLimits limits_of(const Case& each) {
  const Json limits = without_nulls(each.json.value("limits", Json::object()));
  const auto limit = [&](const char* name) {
    return limits.contains(name) ? std::optional(limits.at(name).get<std::int32_t>()) : std::nullopt;
  };
  return {limit("total"), limit("perNode"), limit("perNamespace")};
}

scheduling::PodIndex target_of(const Case& each, const scheduling::ClusterSnapshot& cluster) {
  const Json& target = each.json.at("target");
  return cluster.find_pod(target.at("namespace").get<std::string>(), target.at("name").get<std::string>()).value();
}

std::optional<Judgement> judge(const Case& each, const std::vector<Deviation>& deviations, Way way) {
  const auto judgement = judge_by_way(each, way);
  if (!judgement || judgement->outcome != Outcome::kFailed) return judgement;
  const Json args = each.json.value("args", Json::object());
  const auto at = std::ranges::find_if(deviations, [&](const Deviation& deviation) { return deviation.applies(args); });
  return at == deviations.end() ? judgement : Judgement{Outcome::kDeliberate, at->reason};
}

}  // namespace conformance
