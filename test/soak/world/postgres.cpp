#include "test/soak/world/postgres.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "api/json/json_access.hpp"
#include "simulator/pod_facts.hpp"

namespace soak {
namespace {

using api::Json;
using api::text_at;

constexpr base::seconds kRetry{1};
constexpr const char* kNamespace = "shop";
constexpr const char* kCnpgRole = "cnpg.io/instanceRole";
constexpr const char* kSpiloRole = "spilo-role";
constexpr const char* kPgoRole = "postgres-operator.crunchydata.com/role";
constexpr kube::ResourceType kEndpoints{"", "v1", "endpoints", "Endpoints"};
constexpr const char* kPgoTrigger = "postgres-operator.crunchydata.com/trigger-switchover";

std::string primary_word(PostgresKind kind) { return kind == PostgresKind::kCloudNativePg ? "primary" : "master"; }

Json definition_of(const kube::ResourceType& type) {
  Json version = {{"name", type.version}, {"served", true}, {"storage", true}};
  version["schema"]["openAPIV3Schema"] = {{"type", "object"}, {"x-kubernetes-preserve-unknown-fields", true}};
  version["subresources"]["status"] = Json::object();
  return {{"apiVersion", "apiextensions.k8s.io/v1"},
          {"kind", "CustomResourceDefinition"},
          {"metadata", {{"name", fmt::format("{}.{}", type.plural, type.group)}}},
          {"spec",
           {{"group", type.group},
            {"scope", "Namespaced"},
            {"names", {{"plural", type.plural}, {"kind", type.kind}}},
            {"versions", Json::array({version})}}}};
}

std::optional<kube::ResourceType> cluster_type(PostgresKind kind) {
  switch (kind) {
    case PostgresKind::kCloudNativePg: return kCnpgClusters;
    case PostgresKind::kCrunchy: return kPgoClusters;
    case PostgresKind::kZalando: return std::nullopt;
  }
  std::abort();
}

/// Returns the name of the Endpoints with the leader key of PGO's Patroni.
std::string leader_key_of(const Database& database) { return database.name + "-ha"; }

}  // namespace

std::map<std::string, std::string> labels_of(const Database& database) {
  switch (database.kind) {
    case PostgresKind::kCloudNativePg: return {{"cnpg.io/cluster", database.name}};
    case PostgresKind::kZalando: return {{"cluster-name", database.name}, {"application", "spilo"}};
    case PostgresKind::kCrunchy:
      return {{"postgres-operator.crunchydata.com/cluster", database.name},
              {"postgres-operator.crunchydata.com/instance", database.name + "-1"}};
  }
  std::abort();
}

std::string role_label_of(PostgresKind kind) {
  switch (kind) {
    case PostgresKind::kCloudNativePg: return kCnpgRole;
    case PostgresKind::kZalando: return kSpiloRole;
    case PostgresKind::kCrunchy: return kPgoRole;
  }
  std::abort();
}

bool is_primary(const Json& pod) {
  return std::ranges::any_of(std::vector<std::string>{kCnpgRole, kSpiloRole, kPgoRole}, [&](const auto& key) {
    const std::string role = api::text_at(pod, {"metadata", "labels", key});
    return role == "primary" || role == "master";
  });
}

void PostgresOperators::serve(simulator::ApiServer& server, PostgresOperators& operators) {
  for (const auto& type : {kCnpgClusters, kPgoClusters}) {
    const auto done = server.install_crd(definition_of(type));
    if (!done) throw std::runtime_error(done.error().message);
  }
  server.add_endpoint([&operators](const simulator::RequestInfo& info, const kube::Request& request) {
    return operators.patroni_.answer(info, request);
  });
}

void PostgresOperators::add(Database database) {
  if (database.kind == PostgresKind::kZalando) {
    patroni_.add({.ns = kNamespace,
                  .name = database.name,
                  .switch_takes = std::min<base::Duration>(database.takes, base::seconds(15)),
                  .performs_switchover = database.obeys});
    return;
  }
  if (const auto type = cluster_type(database.kind)) {
    Json cluster = {{"metadata", {{"name", database.name}, {"namespace", kNamespace}}}};
    if (database.kind == PostgresKind::kCrunchy) {
      cluster["spec"]["patroni"]["switchover"]["enabled"] = true;
      const auto key = store_.create(
          kEndpoints,
          {{"metadata",
            {{"name", leader_key_of(database)}, {"namespace", kNamespace}, {"annotations", {{"ttl", "30"}}}}}});
      if (!key) throw std::runtime_error(key.error().message);
    }
    const auto made = store_.create(*type, std::move(cluster));
    if (!made) throw std::runtime_error(made.error().message);
  }
  states_.push_back({std::move(database), ""});
}

/// Returns the sorted names of ready pods that are not terminating.
std::vector<std::string> PostgresOperators::healthy(const Database& database) const {
  std::vector<std::string> names;
  for (const auto& pod : store_.list(kube::kPods, kNamespace)) {
    if (api::text_at(*pod, {"metadata", "labels", "app"}) != database.name) continue;
    const auto facts = simulator::facts_of(*pod);
    if (facts.ready && facts.is_active()) names.push_back(facts.key.name);
  }
  return names;
}

/// Handles a primary that is gone or terminating. Returns true if another one takes its place.
bool PostgresOperators::fail_over(State& state) {
  const auto able = healthy(state.database);
  if (able.empty() || std::ranges::find(able, state.primary) != able.end()) return false;
  state.primary = able.front();
  state.switches_at.reset();
  return true;
}

/// Returns the requested primary, empty if no change is requested.
std::string PostgresOperators::asked_for(const State& state) const {
  const auto type = cluster_type(state.database.kind);
  const auto cluster = type ? store_.get(*type, {kNamespace, state.database.name}) : nullptr;
  if (!cluster) return "";
  if (state.database.kind == PostgresKind::kCloudNativePg) {
    const std::string target = api::text_at(*cluster, {"status", "targetPrimary"});
    return target == state.primary ? "" : target;
  }
  const std::string trigger = api::text_at(*cluster, {"metadata", "annotations", kPgoTrigger});
  if (trigger.empty() || trigger == state.done) return "";
  const auto able = healthy(state.database);
  const auto other = std::ranges::find_if(able, [&](const auto& each) { return each != state.primary; });
  return other == able.end() ? "" : *other;
}

/// Advances a switchover. Returns true if it ended. CloudNativePG does not revert a switchover in progress.
bool PostgresOperators::obey(State& state, base::TimePoint now) {
  const bool irreversible = state.switches_at && state.database.kind == PostgresKind::kCloudNativePg;
  const std::string target = irreversible ? state.candidate : asked_for(state);
  if (target.empty() || !state.database.obeys) {
    state.switches_at.reset();
    return false;
  }
  if (!state.switches_at) state.switches_at = now + state.database.takes;
  state.candidate = target;
  const auto able = healthy(state.database);
  if (now < *state.switches_at) return false;
  if (std::ranges::find(able, target) == able.end()) {
    state.switches_at = now + kRetry;  // a time in the past would keep virtual time from advancing
    return false;
  }
  state.switches_at.reset();
  state.primary = target;
  if (state.database.kind == PostgresKind::kCrunchy) {
    const auto cluster = store_.get(kPgoClusters, {kNamespace, state.database.name});
    state.done = api::text_at(*cluster, {"metadata", "annotations", kPgoTrigger});
  }
  return true;
}

/// Writes Patroni's leader key where PGO stores it.
bool PostgresOperators::publish_leader_key(const State& state) {
  if (state.database.kind != PostgresKind::kCrunchy) return false;
  const api::ObjectKey name{kNamespace, leader_key_of(state.database)};
  const auto key = store_.get(kEndpoints, name);
  if (!key || api::text_at(*key, {"metadata", "annotations", "leader"}) == state.primary) return false;
  const auto written = store_.mutate(kEndpoints, name, simulator::Part::kAll, [&](Json& each) -> base::Status {
    each["metadata"]["annotations"]["leader"] = state.primary;
    return base::Done{};
  });
  return written.ok();
}

/// Writes the roles to the pods.
bool PostgresOperators::tell(const State& state) {
  bool changed = publish_leader_key(state);
  const std::string key = role_label_of(state.database.kind);
  for (const auto& pod : store_.list(kube::kPods, kNamespace)) {
    if (api::text_at(*pod, {"metadata", "labels", "app"}) != state.database.name) continue;
    const api::ObjectKey name = simulator::key_of(*pod);
    const std::string role = name.name == state.primary ? primary_word(state.database.kind) : "replica";
    if (api::text_at(*pod, {"metadata", "labels", key}) == role) continue;
    changed = true;
    (void)store_.mutate(kube::kPods, name, simulator::Part::kAll, [&](Json& each) -> base::Status {
      each["metadata"]["labels"][key] = role;
      return base::Done{};
    });
  }
  return changed;
}

/// Writes the status of the operator's own object.
bool PostgresOperators::publish_cluster(const State& state) {
  const auto type = cluster_type(state.database.kind);
  if (!type) return false;
  const bool cnpg = state.database.kind == PostgresKind::kCloudNativePg;
  const auto written = store_.mutate(*type, {kNamespace, state.database.name}, simulator::Part::kStatus,
                                     [&](Json& each) -> base::Status {
                                       Json& status = each["status"];
                                       if (cnpg) {
                                         status["targetPrimary"] = state.primary;
                                         status["currentPrimary"] = state.primary;
                                       } else if (!state.done.empty()) {
                                         status["patroni"]["switchover"] = state.done;
                                       }
                                       return base::Done{};
                                     });
  return written.ok();
}

bool PostgresOperators::tick(base::TimePoint now) {
  bool changed = patroni_.tick(now);
  for (State& state : states_) {
    const bool moved = fail_over(state) || obey(state, now);
    if (moved) changed |= publish_cluster(state);
    changed |= tell(state);
  }
  return changed;
}

std::optional<base::TimePoint> PostgresOperators::next_due() const {
  std::optional<base::TimePoint> next = patroni_.next_due();
  for (const State& state : states_) {
    if (state.switches_at && (!next || *state.switches_at < *next)) next = state.switches_at;
  }
  return next;
}

}  // namespace soak
