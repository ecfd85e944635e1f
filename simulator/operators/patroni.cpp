#include "simulator/operators/patroni.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "api/json/json_access.hpp"

namespace simulator {
namespace {

using api::Json;

constexpr kube::ResourceType kEndpointsType{"", "v1", "endpoints", "Endpoints"};
constexpr kube::ResourceType kConfigMapType{"", "v1", "configmaps", "ConfigMap"};
constexpr const char* kRole = "spilo-role";

kube::Response text_answer(int status, std::string text) { return {status, std::move(text), {}, "text/plain"}; }

const PatroniTags& tags_of(const PatroniCluster& cluster, const std::string& member) {
  static const PatroniTags kPlain;
  const auto found = cluster.tags.find(member);
  return found == cluster.tags.end() ? kPlain : found->second;
}

}  // namespace

void Patroni::add(PatroniCluster cluster) { states_.push_back({std::move(cluster)}); }

PatroniCluster& Patroni::cluster(const std::string& name) {
  const auto found = std::ranges::find(states_, name, [](const State& state) { return state.cluster.name; });
  if (found == states_.end()) throw std::out_of_range(name);
  return found->cluster;
}

std::string Patroni::leader(const std::string& name) const {
  const auto found = std::ranges::find(states_, name, [](const State& state) { return state.cluster.name; });
  return found == states_.end() ? std::string() : found->leader;
}

void Patroni::promote(const std::string& name, const std::string& member) {
  for (State& state : states_) {
    if (state.cluster.name == name) state = {state.cluster, member};
  }
}

std::vector<PodFacts> Patroni::members(const State& state) const {
  std::vector<PodFacts> all;
  for (const auto& pod : store_.list(kube::kPods, state.cluster.ns)) {
    const auto labels = [&](const char* key) { return api::text_at(*pod, {"metadata", "labels", key}); };
    if (labels("cluster-name") == state.cluster.name && labels("connection-pooler").empty())
      all.push_back(facts_of(*pod));
  }
  return all;
}

/// Returns the members that could lead, most advanced log position first.
std::vector<std::string> Patroni::able(const State& state) const {
  std::vector<std::pair<std::int64_t, std::string>> ranked;
  for (const PodFacts& pod : members(state)) {
    const PatroniTags& tags = tags_of(state.cluster, pod.key.name);
    if (pod.ready && pod.is_active() && !tags.frozen) ranked.emplace_back(-tags.position, pod.key.name);
  }
  std::ranges::sort(ranked);
  std::vector<std::string> names;
  for (auto& [position, name] : ranked) names.push_back(std::move(name));
  return names;
}

void Patroni::hand_over(State& state, const std::string& to, base::TimePoint now) {
  if (!state.leader.empty()) state.demoted[state.leader] = now + state.cluster.demotion;
  state.demoted.erase(to);
  state.leader = to;
  state.switchover.reset();
}

/// If the leader is gone or not ready, the best member takes the key.
bool Patroni::elect(State& state, base::TimePoint now) {
  const bool in_between = state.switchover && state.leader.empty();
  if (in_between) return false;
  for (const PodFacts& pod : members(state)) {
    if (pod.key.name == state.leader && pod.ready && pod.is_active()) return false;
  }
  const auto names = able(state);
  const auto next = std::ranges::find_if(
      names, [&](const std::string& name) { return name != state.leader && !tags_of(state.cluster, name).nofailover; });
  const std::string to = next == names.end() ? std::string() : *next;
  if (to == state.leader) return false;
  hand_over(state, to, now);
  return true;
}

/// Advances an accepted switchover: the leader steps down, then the candidate takes the key, or the switchover is
/// abandoned.
bool Patroni::advance_switchover(State& state, base::TimePoint now) {
  if (!state.switchover) return false;
  const Switchover wanted = *state.switchover;
  if (state.cluster.performs_switchover && state.leader == wanted.from) {
    state.demoted[wanted.from] = now + state.cluster.demotion;
    state.leader.clear();
    return true;
  }
  const auto names = able(state);
  const bool can = state.cluster.performs_switchover && std::ranges::find(names, wanted.candidate) != names.end();
  if (can && now >= wanted.due) {
    hand_over(state, wanted.candidate, now);
    return true;
  }
  if (now < wanted.give_up) return false;
  state.switchover.reset();
  return true;
}

/// Same checks, in the same order, as Patroni's is_failover_possible. Without a leader no name matches.
std::string Patroni::refusal(const State& state, const std::string& leader, const std::string& candidate) const {
  if (state.leader != leader) return "leader name does not match";
  if (state.cluster.sync_standby && *state.cluster.sync_standby != candidate)
    return "candidate name does not match with sync_standby";
  const auto all = members(state);
  const bool exists = std::ranges::any_of(all, [&](const PodFacts& pod) { return pod.key.name == candidate; });
  if (!exists) return "candidate does not exists";
  const auto names = able(state);
  const bool good = std::ranges::find(names, candidate) != names.end() && !tags_of(state.cluster, candidate).nofailover;
  return good ? "" : "switchover is not possible: no good candidates have been found";
}

Patroni::State* Patroni::find(const std::string& ns, const std::string& member) {
  for (State& state : states_) {
    if (state.cluster.ns != ns) continue;
    const auto all = members(state);
    if (std::ranges::any_of(all, [&](const PodFacts& pod) { return pod.key.name == member; })) return &state;
  }
  return nullptr;
}

std::optional<kube::Response> Patroni::answer(const RequestInfo& info, const kube::Request& request) {
  if (info.plural != "pods" || info.subresource != "proxy" || !request.path.ends_with("/proxy/switchover"))
    return std::nullopt;
  const Json body = Json::parse(request.body, nullptr, false);
  const std::string leader = api::text_at(body, {"leader"});
  const std::string candidate = api::text_at(body, {"candidate"});
  State* state = find(info.ns, leader);
  if (state == nullptr) return std::nullopt;
  const std::string scheme = state->cluster.https ? "/https:" : "/http:";
  if (request.path.find(fmt::format("{}{}:8008/", scheme, leader)) == std::string::npos)
    return text_answer(502, "the connection was closed");
  if (state->cluster.wants_credentials) return text_answer(401, "no auth header received");
  asked.push_back(body);
  if (std::string why = refusal(*state, leader, candidate); !why.empty()) return text_answer(412, std::move(why));
  const base::Duration patience = std::max<base::Duration>(base::seconds(20), 2 * state->cluster.loop_wait);
  state->switchover = Switchover{leader, candidate, now_ + state->cluster.switch_takes, now_ + patience};
  if (state->cluster.performs_switchover && state->cluster.switch_takes == base::Duration{}) {
    hand_over(*state, candidate, now_);
    (void)show(*state);
    return text_answer(200, fmt::format("Successfully switched over to \"{}\"", candidate));
  }
  (void)show(*state);
  return text_answer(503, "Switchover status unknown");
}

bool Patroni::has_role(const State& state, const PodFacts& pod) const {
  return pod.ready_since && pod.is_active() && !state.demoted.contains(pod.key.name) &&
         *pod.ready_since + state.cluster.joining <= now_;
}

bool Patroni::show_member(const State& state, const PodFacts& pod) {
  const bool leads = pod.key.name == state.leader;
  const bool has_role = this->has_role(state, pod);
  const PatroniTags& tags = tags_of(state.cluster, pod.key.name);
  const auto stored = store_.get(kube::kPods, pod.key);
  if (!stored) return false;
  const std::string shown = api::text_at(*stored, {"metadata", "annotations", "status"});
  if (tags.frozen && !shown.empty()) return false;  // a frozen member does not update labels and annotations
  Json told = {{"conn_url", "postgres://10.0.0.7:5432/postgres"},
               {"api_url", fmt::format("{}://10.0.0.7:8008/patroni", state.cluster.https ? "https" : "http")},
               {"state", has_role ? "running" : "stopped"},
               {"role", leads ? "master" : "replica"},
               {"xlog_location", tags.position},
               {"timeline", 1}};
  if (tags.nofailover) told["tags"] = {{"nofailover", true}};
  const std::string role = !has_role ? "" : leads ? "master" : "replica";
  if (api::text_at(*stored, {"metadata", "labels", kRole}) == role && shown == told.dump()) return false;
  return store_.edit(kube::kPods, pod.key, Part::kAll, "", [&](Json& each) {
    Json& labels = each["metadata"]["labels"];
    if (role.empty()) {
      labels.erase(kRole);
    } else {
      labels[kRole] = role;
    }
    each["metadata"]["annotations"]["status"] = told.dump();
  }) != nullptr;
}

/// Creates or updates the key object. Null `annotations` delete it.
bool Patroni::show_key(const State& state, const std::string& suffix, const Json& annotations) {
  const auto& type = state.cluster.config_maps ? kConfigMapType : kEndpointsType;
  const api::ObjectKey key{state.cluster.ns, state.cluster.name + suffix};
  const auto stored = store_.get(type, key);
  if (annotations.is_null()) return stored && store_.remove(type, key).ok();
  if (!stored) {
    const auto made =
        store_.create(type, {{"metadata", {{"namespace", key.ns}, {"name", key.name}, {"annotations", annotations}}}});
    if (!made) throw std::runtime_error(made.error().message);
    return true;
  }
  const Json* known = api::find_at(*stored, {"metadata", "annotations"});
  if (known && *known == annotations) return false;
  return store_.edit(type, key, Part::kAll, "", [&](Json& each) { each["metadata"]["annotations"] = annotations; }) !=
         nullptr;
}

bool Patroni::show(const State& state) {
  const PatroniCluster& cluster = state.cluster;
  bool changed = false;
  for (const PodFacts& pod : members(state)) changed |= show_member(state, pod);
  Json leader = {{"ttl", "30"}, {"transitions", "1"}};
  if (!state.leader.empty()) leader["leader"] = state.leader;
  changed |= show_key(state, cluster.config_maps ? "-leader" : "", leader);
  const Json config = {{"loop_wait", cluster.loop_wait.count()},
                       {"synchronous_mode", cluster.sync_standby.has_value()}};
  changed |= show_key(state, "-config", {{"config", config.dump()}});
  changed |= show_key(
      state, "-sync",
      cluster.sync_standby ? Json{{"leader", state.leader}, {"sync_standby", *cluster.sync_standby}} : Json(nullptr));
  changed |=
      show_key(state, "-failover",
               state.switchover ? Json{{"leader", state.switchover->from}, {"member", state.switchover->candidate}}
                                : Json(nullptr));
  return changed;
}

bool Patroni::tick(base::TimePoint now) {
  now_ = now;
  bool changed = false;
  for (State& state : states_) {
    std::erase_if(state.demoted, [&](const auto& each) { return now >= each.second; });
    changed |= advance_switchover(state, now);
    changed |= elect(state, now);
    changed |= show(state);
  }
  return changed;
}

std::optional<base::TimePoint> Patroni::next_due() const {
  std::optional<base::TimePoint> next;
  const auto consider = [&](base::TimePoint when) {
    if (when > now_ && (!next || when < *next)) next = when;
  };
  for (const State& state : states_) {
    if (state.switchover) consider(state.switchover->due);
    if (state.switchover) consider(state.switchover->give_up);
    for (const auto& [member, until] : state.demoted) consider(until);
    if (state.cluster.joining == base::Duration{}) continue;
    for (const PodFacts& pod : members(state)) {
      if (pod.ready_since) consider(*pod.ready_since + state.cluster.joining);
    }
  }
  return next;
}

}  // namespace simulator
