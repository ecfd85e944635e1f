#include "test/soak/watches/placement_watch.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "api/core/codec.hpp"
#include "api/json/json_access.hpp"
#include "api/meta/condition.hpp"
#include "api/meta/well_known.hpp"
#include "kube/client.hpp"

namespace soak {
namespace {

std::string mark_on(const api::Pod& pod) { return pod.meta.annotations.value(api::well_known::kPlacementAnnotation); }

/// Marks have the form name/uid/policy/node.
std::string uid_in(const std::string& mark) {
  const std::size_t begin = mark.find('/') + 1;
  return mark.substr(begin, mark.find('/', begin) - begin);
}

}  // namespace

PlacementWatch::PlacementWatch(simulator::Store& store, Report report)
    : store_(store),
      pods_([](const api::Json& object) { return api::decode_pod(object.dump()); }),
      report_(std::move(report)) {}

void PlacementWatch::check_pods(const Evacuations& all, bool is_current) {
  for (const auto& object : store_.list(kube::kPods)) {
    if (!seen_.insert(api::text_at(*object, {"metadata", "uid"})).second) continue;
    const auto& pod = pods_.of(object);
    const std::string mark = pod ? mark_on(*pod) : std::string();
    if (!mark.empty()) check_given(*pod, mark, all, is_current);
  }
}

void PlacementWatch::check_given(const api::Pod& pod, const std::string& mark, const Evacuations& all,
                                 bool is_current) {
  const auto given = all.find(uid_in(mark));
  if (given == all.end() || !given->second.spec.placement || api::placement_mark(given->second) != mark)
    return report_(fmt::format("hints: pod {} has the hint {}, which nobody gives", pod.meta.name, mark));
  const api::Evacuation& evacuation = given->second;
  taken_.insert(evacuation.meta.uid);
  const auto* owner = pod.meta.controller();
  const auto& meant = evacuation.status.pod_owner;
  if (pod.meta.ns != evacuation.meta.ns || !owner || !meant || owner->uid != meant->uid)
    report_(fmt::format("hints: pod {} of another owner has the hint of {}", pod.meta.name, evacuation.meta.name));
  if (evacuation.spec.dry_run)
    report_(fmt::format("I17: pod {} has the hint of dry run {}", pod.meta.name, evacuation.meta.name));
  if (!is_current) return;
  check_in_time(pod, evacuation);
  check_node(evacuation);
  if (is_borne_by_another(pod, mark))
    report_(fmt::format("hints: pod {} has the hint of {}, as another one", pod.meta.name, evacuation.meta.name));
}

void PlacementWatch::check_in_time(const api::Pod& pod, const api::Evacuation& evacuation) {
  const auto& status = evacuation.status;
  if (api::is_terminal(status.phase) || !store_.get(kube::kEvacuations, evacuation.meta.key()))
    report_(fmt::format("hints: pod {} has the hint of {}, which had ended", pod.meta.name, evacuation.meta.name));
  const auto& expires_after = evacuation.spec.placement->expires_after;
  // Creation times have whole seconds.
  if (status.started_at && pod.meta.creation_timestamp >= *status.started_at + expires_after + base::seconds(1))
    report_(fmt::format("hints: pod {} has the hint of {}, which had expired", pod.meta.name, evacuation.meta.name));
}

void PlacementWatch::check_node(const api::Evacuation& evacuation) {
  const auto object = store_.get(kube::kNodes, {"", evacuation.spec.placement->node_name.value});
  const auto node = object ? api::decode_node(object->dump()) : base::Result<api::Node>(base::invalid("no such node"));
  if (!node || node->unschedulable || !node->is_ready())
    report_(fmt::format("hints: that of {} is given for node {}, which takes no pods", evacuation.meta.name,
                        evacuation.spec.placement->node_name.value));
}

bool PlacementWatch::is_borne_by_another(const api::Pod& pod, const std::string& mark) {
  return std::ranges::any_of(store_.list(kube::kPods, pod.meta.ns), [&](const auto& object) {
    const auto& other = pods_.of(object);
    return other && other->meta.uid != pod.meta.uid && !other->meta.is_terminating() && mark_on(*other) == mark;
  });
}

void PlacementWatch::check(const api::Evacuation& now) const {
  if (!now.spec.placement || now.status.attempt == 0) return;
  const auto* told = api::find_condition(now.status.conditions, "PlacementHinted");
  const bool is_taken = told && told->status == api::ConditionStatus::kTrue;
  if (is_taken && (!now.status.placement || !taken_.contains(now.meta.uid)))
    report_(fmt::format("hints: {} says that its hint was taken; no pod had it", now.meta.name));
  if (api::is_terminal(now.status.phase) && !told)
    report_(fmt::format("hints: {} has ended and does not say what became of its hint", now.meta.name));
}

}  // namespace soak
