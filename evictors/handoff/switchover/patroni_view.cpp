#include "evictors/handoff/switchover/patroni_view.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "api/json/json_access.hpp"
#include "base/text.hpp"
#include "evictors/document.hpp"
#include "kube/request.hpp"

namespace evictors::handoff {
namespace {

constexpr kube::ResourceType kPatroniEndpoints{"", "v1", "endpoints", "Endpoints"};
constexpr kube::ResourceType kPatroniConfigMaps{"", "v1", "configmaps", "ConfigMap"};
constexpr std::string_view kKeyPrefix = "patroni/";
constexpr std::string_view kLeaderEndpoints = "patroni/leader-endpoints";
constexpr std::string_view kLeaderConfigMap = "patroni/leader-configmap";
constexpr std::string_view kConfigKey = "patroni/config";
constexpr std::string_view kSyncKey = "patroni/sync";
constexpr std::string_view kFailoverKey = "patroni/failover";
constexpr std::size_t kMaxStandbys = 64;

std::string annotation_in(const api::Json& object, std::string_view key) {
  return api::text_at(object, {"metadata", "annotations", key});
}

/// Endpoints SCOPE also belong to a Service. Patroni's annotations show that it stores the leader key there, even while
/// the key itself is absent because no member leads.
bool holds_leader_key(const api::Json& object) {
  return std::ranges::any_of(std::array<std::string_view, 5>{"leader", "ttl", "renewTime", "optime", "transitions"},
                             [&](std::string_view key) {
                               return api::find_at(object, {"metadata", "annotations", key}) != nullptr;
                             });
}

const Document* leader_document(const EvictorContext& context) {
  switch (patroni_store(context)) {
    case PatroniStore::kEndpoints: return context.document(kLeaderEndpoints);
    case PatroniStore::kConfigMaps: return context.document(kLeaderConfigMap);
    case PatroniStore::kUnread:
    case PatroniStore::kElsewhere: break;
  }
  return nullptr;
}

/// Returns true if the key was read or does not exist. A key that was never requested does not block.
bool is_known(const Document* document) { return document == nullptr || document->ok() || document->status == 404; }

std::optional<api::Json> configuration(const EvictorContext& context) {
  const auto object = object_of(context.document(kConfigKey));
  auto config = object ? api::parse_json(annotation_in(*object, "config")) : base::invalid("none");
  if (!config || !config->is_object()) return std::nullopt;
  return *std::move(config);
}

/// Patroni's own rule (global_config.is_standby_cluster).
bool is_standby_cluster(const api::Json& config) {
  return std::ranges::any_of(std::array<std::string_view, 3>{"host", "port", "restore_command"},
                             [&](std::string_view key) {
                               const api::Json* value = api::find_at(config, {"standby_cluster", key});
                               return value != nullptr && !value->is_null();
                             });
}

/// Parses the address of the REST API, such as "https://10.0.0.7:8008/patroni".
void read_api_url(std::string_view url, PatroniMember& member) {
  const std::size_t end = url.find("://");
  if (end == std::string_view::npos) return;
  if (url.substr(0, end) == "https") member.scheme = "https";
  std::string_view host = url.substr(end + 3);
  host = host.substr(0, host.find('/'));
  const std::size_t colon = host.rfind(':');
  if (colon == std::string_view::npos) return;
  const auto port = base::parse_number<int>(host.substr(colon + 1));
  if (port && *port > 0 && *port < 65536) member.port = *port;
}

bool may_lead(const api::Json& status) {
  const api::Json* tag = api::find_at(status, {"tags", "nofailover"});
  const bool forbidden = tag != nullptr && (*tag == api::Json(true) || *tag == api::Json("true"));
  return !forbidden && api::number_at(status, {"tags", "failover_priority"}).value_or(1) > 0;
}

std::int64_t position_in(const api::Json& status) {
  std::int64_t position = 0;
  for (const std::string_view key : {"xlog_location", "receive_lsn", "replay_lsn"})
    position = std::max(position, api::number_at(status, {key}).value_or(0));
  return position;
}

}  // namespace

std::optional<PatroniMember> patroni_member(const api::Pod& pod) {
  const std::string* text = pod.meta.annotations.find("status");
  const auto status = text != nullptr ? api::parse_json(*text) : base::invalid("none");
  if (!status || !status->is_object()) return std::nullopt;
  PatroniMember member;
  member.state = api::text_at(*status, {"state"});
  member.role = api::text_at(*status, {"role"});
  const std::string url = api::text_at(*status, {"api_url"});
  if (member.state.empty() || member.role.empty() || url.empty()) return std::nullopt;
  read_api_url(url, member);
  member.may_lead = may_lead(*status);
  member.position = position_in(*status);
  return member;
}

std::string unfit_patroni_member(const api::Pod& pod) {
  const auto member = patroni_member(pod);
  if (!member) return {};
  if (!member->may_lead) return "its tags forbid a failover to it";
  if (member->state == "running" || member->state == "streaming") return {};
  return fmt::format("Patroni reports that it is {}", member->state.substr(0, 32));
}

PatroniStore patroni_store(const EvictorContext& context) {
  const Document* endpoints = context.document(kLeaderEndpoints);
  if (endpoints == nullptr) return PatroniStore::kElsewhere;
  if (!is_known(endpoints)) return PatroniStore::kUnread;
  const auto object = object_of(endpoints);
  if (object && holds_leader_key(*object)) return PatroniStore::kEndpoints;
  const Document* map = context.document(kLeaderConfigMap);
  if (map == nullptr || !is_known(map)) return PatroniStore::kUnread;
  return map->ok() ? PatroniStore::kConfigMaps : PatroniStore::kElsewhere;
}

std::vector<Read> patroni_reads(const EvictorContext& context, const std::string& scope, bool all, bool may_use_maps) {
  const std::string& ns = context.pod->meta.ns;
  const auto read = [&](std::string_view name, const kube::ResourceType& type, const std::string& object) {
    return read_of(name, kube::get_request(type, {ns, object}));
  };
  std::vector<Read> reads = {read(kLeaderEndpoints, kPatroniEndpoints, scope)};
  const Document* endpoints = context.document(kLeaderEndpoints);
  const PatroniStore store = patroni_store(context);
  if (may_use_maps && endpoints != nullptr && is_known(endpoints) && store != PatroniStore::kEndpoints)
    reads.push_back(read(kLeaderConfigMap, kPatroniConfigMaps, scope + "-leader"));
  const bool here = store == PatroniStore::kEndpoints || store == PatroniStore::kConfigMaps;
  if (!here) return reads;
  const auto& type = store == PatroniStore::kEndpoints ? kPatroniEndpoints : kPatroniConfigMaps;
  reads.push_back(read(kFailoverKey, type, scope + "-failover"));
  if (!all) return reads;
  reads.push_back(read(kConfigKey, type, scope + "-config"));
  reads.push_back(read(kSyncKey, type, scope + "-sync"));
  return reads;
}

bool is_patroni_key(const Document& document) { return document.name.starts_with(kKeyPrefix); }

bool has_patroni_keys(const EvictorContext& context) {
  return patroni_store(context) != PatroniStore::kUnread && is_known(context.document(kConfigKey)) &&
         is_known(context.document(kSyncKey)) && is_known(context.document(kFailoverKey));
}

std::string patroni_leader(const EvictorContext& context) {
  const auto object = object_of(leader_document(context));
  return object ? annotation_in(*object, "leader") : std::string();
}

std::string patroni_failover(const EvictorContext& context, const std::string& leader) {
  const auto object = object_of(context.document(kFailoverKey));
  if (!object || !annotation_in(*object, "scheduled_at").empty()) return {};
  const std::string from = annotation_in(*object, "leader");
  const std::string to = annotation_in(*object, "member");
  if ((from.empty() && to.empty()) || (!from.empty() && from != leader)) return {};
  return to.empty() ? "?" : to;
}

bool patroni_confirms(const EvictorContext& context, const api::Pod& leader) {
  const PatroniStore store = patroni_store(context);
  if (store == PatroniStore::kElsewhere) return true;
  return store != PatroniStore::kUnread && patroni_leader(context) == leader.meta.name;
}

bool patroni_may_promote(const EvictorContext& context) {
  const std::string to = patroni_failover(context, patroni_leader(context));
  return to == "?" || to == context.pod->meta.name;
}

std::optional<std::vector<std::string>> patroni_sync_standbys(const EvictorContext& context) {
  const auto config = configuration(context);
  if (config && is_standby_cluster(*config)) return std::nullopt;
  const auto object = object_of(context.document(kSyncKey));
  const api::Json* mode = config ? api::find_at(*config, {"synchronous_mode"}) : nullptr;
  const bool is_on =
      mode != nullptr &&
      (*mode == api::Json(true) || (mode->is_string() && *mode != api::Json("off") && *mode != api::Json("false")));
  const std::string standbys = object ? annotation_in(*object, "sync_standby") : std::string();
  if (config ? !is_on : standbys.empty()) return std::nullopt;
  std::vector<std::string> names;
  for (const std::string_view name : base::split(standbys, ",")) {
    if (!name.empty() && names.size() < kMaxStandbys) names.emplace_back(name);
  }
  return names;
}

std::optional<base::seconds> patroni_patience(const EvictorContext& context) {
  const auto config = configuration(context);
  if (!config) return std::nullopt;
  const std::int64_t loop_wait = api::number_at(*config, {"loop_wait"}).value_or(10);
  return base::seconds(2 * std::clamp<std::int64_t>(loop_wait, 10, 3600));
}

}  // namespace evictors::handoff
