#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "api/json/json_access.hpp"
#include "simulator/pod_facts.hpp"
#include "simulator/registry/table_columns.hpp"

namespace simulator {
namespace {

using api::Json;
using base::TimePoint;

const std::string kNone = "<none>";

std::string age_at(const Json& object, std::initializer_list<std::string_view> path, TimePoint now) {
  return age_text(api::text_at(object, path), now);
}

std::string or_none(std::string text) {
  if (text.empty()) return kNone;
  return text;
}

std::int64_t count_in(const Json& object, std::initializer_list<std::string_view> path) {
  return api::number_at(object, path).value_or(0);
}

Json age_cell(const Json& o, TimePoint now) { return age_at(o, {"metadata", "creationTimestamp"}, now); }

/// Return cells that show the field at a path of member names.
template <typename... Names>
Column::Cell text_cell(Names... path) {
  return [=](const Json& o, TimePoint) -> Json { return api::text_at(o, {std::string_view(path)...}); };
}
template <typename... Names>
Column::Cell text_or_none_cell(Names... path) {
  return [=](const Json& o, TimePoint) -> Json { return or_none(api::text_at(o, {std::string_view(path)...})); };
}
template <typename... Names>
Column::Cell count_cell(Names... path) {
  return [=](const Json& o, TimePoint) -> Json { return count_in(o, {std::string_view(path)...}); };
}

const Column kName{"Name", "string", 0, text_cell("metadata", "name")};
const Column kAge{"Age", "string", 0, age_cell};

std::string join_members(const Json& items, const char* member) {
  std::string text;
  for (const Json& item : items) text += (text.empty() ? "" : ",") + api::text_at(item, {member});
  return text;
}

Json containers_cell(const Json& o, TimePoint) {
  return join_members(api::items_at(o, {"spec", "template", "spec", "containers"}), "name");
}
Json images_cell(const Json& o, TimePoint) {
  return join_members(api::items_at(o, {"spec", "template", "spec", "containers"}), "image");
}

std::string map_text(const Json* labels) {
  std::string text;
  if (!labels || !labels->is_object()) return text;
  for (const auto& [key, value] : labels->items()) {
    text += fmt::format("{}{}={}", text.empty() ? "" : ",", key,
                        value.is_string() ? value.get<std::string>() : std::string());
  }
  return text;
}

Json selector_cell(const Json& o, TimePoint) {
  return or_none(map_text(api::find_at(o, {"spec", "selector", "matchLabels"})));
}

const Column kContainers{"Containers", "string", 1, containers_cell};
const Column kImages{"Images", "string", 1, images_cell};
const Column kSelector{"Selector", "string", 1, selector_cell};

// --- pods

/// Returns why an init container prevents the pod from starting, empty if none does.
std::string init_reason(const Json& pod) {
  const Json& statuses = api::items_at(pod, {"status", "initContainerStatuses"});
  const std::size_t all = api::items_at(pod, {"spec", "initContainers"}).size();
  for (std::size_t i = 0; i < statuses.size(); ++i) {
    const Json* ended = api::find_at(statuses[i], {"state", "terminated"});
    if (ended && count_in(*ended, {"exitCode"}) == 0) continue;
    if (api::flag_at(statuses[i], {"started"}) && api::find_at(statuses[i], {"state", "running"}))
      continue;  // running sidecar
    if (ended)
      return "Init:" + (api::text_at(*ended, {"reason"}).empty()
                            ? fmt::format("ExitCode:{}", count_in(*ended, {"exitCode"}))
                            : api::text_at(*ended, {"reason"}));
    const std::string waiting = api::text_at(statuses[i], {"state", "waiting", "reason"});
    if (!waiting.empty() && waiting != "PodInitializing") return "Init:" + waiting;
    return fmt::format("Init:{}/{}", i, all);
  }
  return {};
}

std::string container_reason(const Json& pod, std::string reason) {
  bool running = false;
  const Json& statuses = api::items_at(pod, {"status", "containerStatuses"});
  for (auto at = statuses.rbegin(); at != statuses.rend(); ++at) {
    if (const std::string waiting = api::text_at(*at, {"state", "waiting", "reason"}); !waiting.empty()) {
      reason = waiting;
    } else if (const Json* ended = api::find_at(*at, {"state", "terminated"})) {
      const std::string why = api::text_at(*ended, {"reason"});
      reason = why.empty() ? fmt::format("ExitCode:{}", count_in(*ended, {"exitCode"})) : why;
    } else if (api::flag_at(*at, {"ready"}) && api::find_at(*at, {"state", "running"})) {
      running = true;
    }
  }
  if (reason != "Completed" || !running) return reason;
  for (const Json& condition : api::items_at(pod, {"status", "conditions"})) {
    if (api::text_at(condition, {"type"}) == "Ready")
      return api::text_at(condition, {"status"}) == "True" ? "Running" : "NotReady";
  }
  return "NotReady";
}

Json pod_status_cell(const Json& pod, TimePoint) {
  std::string reason = api::text_at(pod, {"status", "phase"});
  if (const std::string own = api::text_at(pod, {"status", "reason"}); !own.empty()) reason = own;
  const std::string init = init_reason(pod);
  reason = init.empty() ? container_reason(pod, std::move(reason)) : init;
  if (api::find_at(pod, {"metadata", "deletionTimestamp"}))
    return api::text_at(pod, {"status", "reason"}) == "NodeLost" ? "Unknown" : "Terminating";
  return reason;
}

Json pod_ready_cell(const Json& pod, TimePoint) {
  const Json& statuses = api::items_at(pod, {"status", "containerStatuses"});
  const auto ready = std::ranges::count_if(statuses, [](const Json& s) { return api::flag_at(s, {"ready"}); });
  return fmt::format("{}/{}", ready, api::items_at(pod, {"spec", "containers"}).size());
}

Json restarts_cell(const Json& pod, TimePoint now) {
  std::int64_t restarts = 0;
  std::optional<TimePoint> last;
  for (const Json& status : api::items_at(pod, {"status", "containerStatuses"})) {
    restarts += count_in(status, {"restartCount"});
    const auto ended = time_at(status, {"lastState", "terminated", "finishedAt"});
    if (ended && (!last || *ended > *last)) last = ended;
  }
  if (restarts > 0 && last) return fmt::format("{} ({} ago)", restarts, base::format_age(now - *last));
  return std::to_string(restarts);
}

const Columns& pod_columns() {
  static const Columns columns = {
      kName,
      {"Ready", "string", 0, pod_ready_cell},
      {"Status", "string", 0, pod_status_cell},
      {"Restarts", "string", 0, restarts_cell},
      kAge,
      {"IP", "string", 1, text_or_none_cell("status", "podIP")},
      {"Node", "string", 1, text_or_none_cell("spec", "nodeName")},
      {"Nominated Node", "string", 1, text_or_none_cell("status", "nominatedNodeName")},
      {"Readiness Gates", "string", 1, [](const Json&, TimePoint) -> Json { return kNone; }},
  };
  return columns;
}

// --- nodes

Json node_status_cell(const Json& node, TimePoint) {
  std::string text = "Unknown";
  for (const Json& condition : api::items_at(node, {"status", "conditions"})) {
    if (api::text_at(condition, {"type"}) == "Ready")
      text = api::text_at(condition, {"status"}) == "True" ? "Ready" : "NotReady";
  }
  return api::flag_at(node, {"spec", "unschedulable"}) ? text + ",SchedulingDisabled" : text;
}

Json roles_cell(const Json& node, TimePoint) {
  constexpr std::string_view kRolePrefix = "node-role.kubernetes.io/";
  std::set<std::string> roles;
  if (const Json* labels = api::find_at(node, {"metadata", "labels"}); labels && labels->is_object()) {
    for (const auto& [key, value] : labels->items()) {
      if (key.starts_with(kRolePrefix) && key.size() > kRolePrefix.size()) roles.insert(key.substr(kRolePrefix.size()));
    }
  }
  return or_none(fmt::format("{}", fmt::join(roles, ",")));
}

std::string address_of(const Json& node, std::string_view type) {
  for (const Json& address : api::items_at(node, {"status", "addresses"})) {
    if (api::text_at(address, {"type"}) == type) return api::text_at(address, {"address"});
  }
  return kNone;
}

const Columns& node_columns() {
  static const Columns columns = {
      kName,
      {"Status", "string", 0, node_status_cell},
      {"Roles", "string", 0, roles_cell},
      kAge,
      {"Version", "string", 0, text_cell("status", "nodeInfo", "kubeletVersion")},
      {"Internal-IP", "string", 1, [](const Json& o, TimePoint) -> Json { return address_of(o, "InternalIP"); }},
      {"External-IP", "string", 1, [](const Json& o, TimePoint) -> Json { return address_of(o, "ExternalIP"); }},
      {"OS-Image", "string", 1, text_or_none_cell("status", "nodeInfo", "osImage")},
      {"Kernel-Version", "string", 1, text_or_none_cell("status", "nodeInfo", "kernelVersion")},
      {"Container-Runtime", "string", 1, text_or_none_cell("status", "nodeInfo", "containerRuntimeVersion")},
  };
  return columns;
}

// --- workloads

Json ready_of_replicas(const Json& o, TimePoint) {
  return fmt::format("{}/{}", count_in(o, {"status", "readyReplicas"}),
                     api::number_at(o, {"spec", "replicas"}).value_or(1));
}

const Columns& deployment_columns() {
  static const Columns columns = {kName,
                                  {"Ready", "string", 0, ready_of_replicas},
                                  {"Up-to-date", "string", 0, count_cell("status", "updatedReplicas")},
                                  {"Available", "string", 0, count_cell("status", "availableReplicas")},
                                  kAge,
                                  kContainers,
                                  kImages,
                                  kSelector};
  return columns;
}

const Columns& replica_set_columns() {
  static const Columns columns = {kName,
                                  {"Desired", "integer", 0,
                                   [](const Json& o, TimePoint) -> Json {
                                     return api::number_at(o, {"spec", "replicas"}).value_or(1);
                                   }},
                                  {"Current", "integer", 0, count_cell("status", "replicas")},
                                  {"Ready", "integer", 0, count_cell("status", "readyReplicas")},
                                  kAge,
                                  kContainers,
                                  kImages,
                                  kSelector};
  return columns;
}

const Columns& stateful_set_columns() {
  static const Columns columns = {kName, {"Ready", "string", 0, ready_of_replicas}, kAge, kContainers, kImages};
  return columns;
}

const Columns& daemon_set_columns() {
  static const Columns columns = {
      kName,
      {"Desired", "integer", 0, count_cell("status", "desiredNumberScheduled")},
      {"Current", "integer", 0, count_cell("status", "currentNumberScheduled")},
      {"Ready", "integer", 0, count_cell("status", "numberReady")},
      {"Up-to-date", "integer", 0, count_cell("status", "updatedNumberScheduled")},
      {"Available", "integer", 0, count_cell("status", "numberAvailable")},
      {"Node Selector", "string", 0,
       [](const Json& o, TimePoint) -> Json {
         return or_none(map_text(api::find_at(o, {"spec", "template", "spec", "nodeSelector"})));
       }},
      kAge,
      kContainers,
      kImages,
      kSelector};
  return columns;
}

Json job_status_cell(const Json& job, TimePoint) {
  for (const Json& condition : api::items_at(job, {"status", "conditions"})) {
    if (api::text_at(condition, {"status"}) != "True") continue;
    const std::string type = api::text_at(condition, {"type"});
    if (type == "Complete" || type == "Failed" || type == "Suspended") return type;
  }
  return "Running";
}

Json completions_cell(const Json& job, TimePoint) {
  const std::int64_t done = count_in(job, {"status", "succeeded"});
  if (const auto wanted = api::number_at(job, {"spec", "completions"})) return fmt::format("{}/{}", done, *wanted);
  const std::int64_t parallelism = api::number_at(job, {"spec", "parallelism"}).value_or(1);
  return parallelism > 1 ? fmt::format("{}/1 of {}", done, parallelism) : fmt::format("{}/1", done);
}

Json duration_cell(const Json& job, TimePoint now) {
  const auto start = time_at(job, {"status", "startTime"});
  if (!start) return "";
  return base::format_age(time_at(job, {"status", "completionTime"}).value_or(now) - *start);
}

const Columns& job_columns() {
  static const Columns columns = {kName,
                                  {"Status", "string", 0, job_status_cell},
                                  {"Completions", "string", 0, completions_cell},
                                  {"Duration", "string", 0, duration_cell},
                                  kAge,
                                  kContainers,
                                  kImages,
                                  kSelector};
  return columns;
}

// --- policy, namespaces, events…

Json int_or_string(const Json& o, std::initializer_list<std::string_view> path) {
  const Json* found = api::find_at(o, path);
  if (!found) return "N/A";
  return found->is_string() ? found->get<std::string>() : found->dump();
}

const Columns& pdb_columns() {
  static const Columns columns = {kName,
                                  {"Min Available", "string", 0,
                                   [](const Json& o, TimePoint) {
                                     return int_or_string(o, {"spec", "minAvailable"});
                                   }},
                                  {"Max Unavailable", "string", 0,
                                   [](const Json& o, TimePoint) {
                                     return int_or_string(o, {"spec", "maxUnavailable"});
                                   }},
                                  {"Allowed Disruptions", "integer", 0, count_cell("status", "disruptionsAllowed")},
                                  kAge};
  return columns;
}

Json event_seen_cell(const Json& o, TimePoint now) {
  for (const auto& path : {std::initializer_list<std::string_view>{"series", "lastObservedTime"},
                           {"deprecatedLastTimestamp"},
                           {"eventTime"}}) {
    if (time_at(o, path)) return age_at(o, path, now);
  }
  return age_at(o, {"metadata", "creationTimestamp"}, now);
}

Json event_first_cell(const Json& o, TimePoint now) {
  if (time_at(o, {"deprecatedFirstTimestamp"})) return age_at(o, {"deprecatedFirstTimestamp"}, now);
  return age_at(o, {"eventTime"}, now);
}

Json event_object_cell(const Json& o, TimePoint) {
  std::string kind = api::text_at(o, {"regarding", "kind"});
  std::ranges::transform(kind, kind.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return kind + "/" + api::text_at(o, {"regarding", "name"});
}

Json event_source_cell(const Json& o, TimePoint) {
  const std::string component = api::text_at(o, {"deprecatedSource", "component"});
  return component.empty() ? api::text_at(o, {"reportingController"}) : component;
}

Json event_count_cell(const Json& o, TimePoint) {
  if (const auto count = api::number_at(o, {"series", "count"})) return *count;
  return api::number_at(o, {"deprecatedCount"}).value_or(1);
}

const Columns& event_columns() {
  static const Columns columns = {{"Last Seen", "string", 0, event_seen_cell},
                                  {"Type", "string", 0, text_cell("type")},
                                  {"Reason", "string", 0, text_cell("reason")},
                                  {"Object", "string", 0, event_object_cell},
                                  {"Subobject", "string", 1, text_cell("regarding", "fieldPath")},
                                  {"Source", "string", 1, event_source_cell},
                                  {"Message", "string", 0, text_cell("note")},
                                  {"First Seen", "string", 1, event_first_cell},
                                  {"Count", "integer", 1, event_count_cell},
                                  {"Name", "string", 1, text_cell("metadata", "name")}};
  return columns;
}

std::string modes_text(const Json& modes) {
  const std::map<std::string, std::string> short_names = {
      {"ReadWriteOnce", "RWO"}, {"ReadOnlyMany", "ROX"}, {"ReadWriteMany", "RWX"}, {"ReadWriteOncePod", "RWOP"}};
  std::string text;
  for (const Json& mode : modes) {
    const auto known = short_names.find(mode.is_string() ? mode.get<std::string>() : "");
    if (known != short_names.end()) text += (text.empty() ? "" : ",") + known->second;
  }
  return text;
}

const Columns& claim_columns() {
  static const Columns columns = {kName,
                                  {"Status", "string", 0, text_cell("status", "phase")},
                                  {"Volume", "string", 0, text_cell("spec", "volumeName")},
                                  {"Capacity", "string", 0, text_cell("status", "capacity", "storage")},
                                  {"Access Modes", "string", 0,
                                   [](const Json& o, TimePoint) -> Json {
                                     return modes_text(api::items_at(o, {"status", "accessModes"}));
                                   }},
                                  {"StorageClass", "string", 0, text_cell("spec", "storageClassName")},
                                  kAge,
                                  {"VolumeMode", "string", 1, text_cell("spec", "volumeMode")}};
  return columns;
}

Json claim_ref_cell(const Json& o, TimePoint) {
  const std::string name = api::text_at(o, {"spec", "claimRef", "name"});
  return name.empty() ? "" : api::text_at(o, {"spec", "claimRef", "namespace"}) + "/" + name;
}

const Columns& volume_columns() {
  static const Columns columns = {kName,
                                  {"Capacity", "string", 0, text_cell("spec", "capacity", "storage")},
                                  {"Access Modes", "string", 0,
                                   [](const Json& o, TimePoint) -> Json {
                                     return modes_text(api::items_at(o, {"spec", "accessModes"}));
                                   }},
                                  {"Reclaim Policy", "string", 0, text_cell("spec", "persistentVolumeReclaimPolicy")},
                                  {"Status", "string", 0, text_cell("status", "phase")},
                                  {"Claim", "string", 0, claim_ref_cell},
                                  {"StorageClass", "string", 0, text_cell("spec", "storageClassName")},
                                  {"Reason", "string", 0, text_cell("status", "reason")},
                                  kAge};
  return columns;
}

Json service_ports_cell(const Json& o, TimePoint) {
  std::string text;
  for (const Json& port : api::items_at(o, {"spec", "ports"})) {
    text += fmt::format("{}{}/{}", text.empty() ? "" : ",", count_in(port, {"port"}), api::text_at(port, {"protocol"}));
  }
  return or_none(text);
}

const Columns& service_columns() {
  static const Columns columns = {kName,
                                  {"Type", "string", 0, text_cell("spec", "type")},
                                  {"Cluster-IP", "string", 0, text_or_none_cell("spec", "clusterIP")},
                                  {"External-IP", "string", 0, [](const Json&, TimePoint) -> Json { return kNone; }},
                                  {"Port(s)", "string", 0, service_ports_cell},
                                  kAge,
                                  {"Selector", "string", 1, [](const Json& o, TimePoint) -> Json {
                                     return or_none(map_text(api::find_at(o, {"spec", "selector"})));
                                   }}};
  return columns;
}

Json data_cell(const Json& o, TimePoint) {
  const Json* entries = api::find_at(o, {"data"});
  return entries && entries->is_object() ? entries->size() : 0;
}

const Columns* small_columns(const std::string& plural) {
  static const std::map<std::string, Columns> all = {
      {"namespaces", {kName, {"Status", "string", 0, text_cell("status", "phase")}, kAge}},
      {"leases", {kName, {"Holder", "string", 0, text_cell("spec", "holderIdentity")}, kAge}},
      {"customresourcedefinitions", {kName, {"Created At", "date", 0, text_cell("metadata", "creationTimestamp")}}},
      {"priorityclasses",
       {kName,
        {"Value", "integer", 0, count_cell("value")},
        {"Global-Default", "boolean", 0,
         [](const Json& o, TimePoint) -> Json { return api::flag_at(o, {"globalDefault"}); }},
        kAge,
        {"PreemptionPolicy", "string", 1, text_cell("preemptionPolicy")}}},
      {"configmaps", {kName, {"Data", "string", 0, data_cell}, kAge}},
      {"secrets", {kName, {"Type", "string", 0, text_cell("type")}, {"Data", "string", 0, data_cell}, kAge}},
      {"serviceaccounts",
       {kName,
        {"Secrets", "string", 0, [](const Json& o, TimePoint) -> Json { return api::items_at(o, {"secrets"}).size(); }},
        kAge}},
  };
  const auto found = all.find(plural);
  return found == all.end() ? nullptr : &found->second;
}

}  // namespace

std::string age_text(const std::string& time, TimePoint now) {
  const auto then = base::parse_time(time);
  return then ? base::format_age(now - *then) : "<unknown>";
}

const Columns& columns_of(const ServedResource& resource) {
  static const Columns plain = {kName, kAge};
  const std::pair<std::string_view, const Columns& (*)()> known[] = {{"pods", pod_columns},
                                                                     {"nodes", node_columns},
                                                                     {"deployments", deployment_columns},
                                                                     {"replicasets", replica_set_columns},
                                                                     {"statefulsets", stateful_set_columns},
                                                                     {"daemonsets", daemon_set_columns},
                                                                     {"jobs", job_columns},
                                                                     {"poddisruptionbudgets", pdb_columns},
                                                                     {"events", event_columns},
                                                                     {"persistentvolumeclaims", claim_columns},
                                                                     {"persistentvolumes", volume_columns},
                                                                     {"services", service_columns}};
  for (const auto& [plural, columns] : known) {
    if (resource.plural == plural) return columns();
  }
  const Columns* small = small_columns(resource.plural);
  return small ? *small : plain;
}

}  // namespace simulator
