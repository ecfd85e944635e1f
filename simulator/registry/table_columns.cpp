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

std::int64_t count_in(const Json& object, std::initializer_list<std::string_view> path) {
  return api::number_at(object, path).value_or(0);
}

Json age_cell(const Json& o, TimePoint now) { return age_at(o, {"metadata", "creationTimestamp"}, now); }

/// Returns a cell that shows the field at a path of member names. `show` gets nullptr if the field is absent.
template <typename Show, typename... Names>
Column::Cell cell(Show show, Names... path) {
  return [=](const Json& o, TimePoint) -> Json { return show(api::find_at(o, {std::string_view(path)...})); };
}

Json text(const Json* field) { return field && field->is_string() ? *field : Json(""); }
Json or_none(std::string text) { return text.empty() ? kNone : text; }
Json text_or_none(const Json* field) { return or_none(text(field)); }
Json count(const Json* field) { return field && field->is_number_integer() ? *field : Json(0); }
Json size(const Json* field) { return field && field->is_structured() ? field->size() : 0; }
Json none_cell(const Json&, TimePoint) { return kNone; }

Json labels(const Json* field) {
  std::string text;
  for (const auto& [key, value] : string_map(field))
    text += fmt::format("{}{}={}", text.empty() ? "" : ",", key, value);
  return or_none(text);
}

Json int_or_string(const Json* field) {
  if (!field) return "N/A";
  return field->is_string() ? field->get<std::string>() : field->dump();
}

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

/// Return columns with texts, shown always or only with -o wide.
Column shown(const char* name, Column::Cell cell) { return {name, "string", 0, std::move(cell)}; }
Column wide(const char* name, Column::Cell cell) { return {name, "string", 1, std::move(cell)}; }
Column integer(const char* name, Column::Cell cell) { return {name, "integer", 0, std::move(cell)}; }

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

Column::Cell address_cell(const char* type) {
  return [type](const Json& node, TimePoint) -> Json {
    for (const Json& address : api::items_at(node, {"status", "addresses"})) {
      if (api::text_at(address, {"type"}) == type) return api::text_at(address, {"address"});
    }
    return kNone;
  };
}

// --- workloads

Json ready_of_replicas(const Json& o, TimePoint) {
  return fmt::format("{}/{}", count_in(o, {"status", "readyReplicas"}),
                     api::number_at(o, {"spec", "replicas"}).value_or(1));
}

Json replicas_cell(const Json& o, TimePoint) { return api::number_at(o, {"spec", "replicas"}).value_or(1); }

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

// --- policy, namespaces, events…

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

// --- volumes, services

Json modes(const Json* field) {
  const std::map<std::string, std::string> short_names = {
      {"ReadWriteOnce", "RWO"}, {"ReadOnlyMany", "ROX"}, {"ReadWriteMany", "RWX"}, {"ReadWriteOncePod", "RWOP"}};
  std::string text;
  for (const Json& mode : field && field->is_array() ? *field : Json::array()) {
    const auto known = short_names.find(mode.is_string() ? mode.get<std::string>() : "");
    if (known != short_names.end()) text += (text.empty() ? "" : ",") + known->second;
  }
  return text;
}

Json claim_ref_cell(const Json& o, TimePoint) {
  const std::string name = api::text_at(o, {"spec", "claimRef", "name"});
  return name.empty() ? "" : api::text_at(o, {"spec", "claimRef", "namespace"}) + "/" + name;
}

Json service_ports_cell(const Json& o, TimePoint) {
  std::string text;
  for (const Json& port : api::items_at(o, {"spec", "ports"})) {
    text += fmt::format("{}{}/{}", text.empty() ? "" : ",", count_in(port, {"port"}), api::text_at(port, {"protocol"}));
  }
  return or_none(text);
}

Json global_default_cell(const Json& o, TimePoint) { return api::flag_at(o, {"globalDefault"}); }

const Column kNameColumn = shown("Name", cell(text, "metadata", "name"));
const Column kAgeColumn = shown("Age", age_cell);

/// Columns of pods, their controllers and budgets, and nodes, by plural.
const std::map<std::string, Columns>& workload_columns() {
  static const Column containers = wide("Containers", containers_cell);
  static const Column images = wide("Images", images_cell);
  static const Column selector = wide("Selector", cell(labels, "spec", "selector", "matchLabels"));
  static const std::map<std::string, Columns> all = {
      {"pods",
       {kNameColumn, shown("Ready", pod_ready_cell), shown("Status", pod_status_cell), shown("Restarts", restarts_cell),
        kAgeColumn, wide("IP", cell(text_or_none, "status", "podIP")),
        wide("Node", cell(text_or_none, "spec", "nodeName")),
        wide("Nominated Node", cell(text_or_none, "status", "nominatedNodeName")), wide("Readiness Gates", none_cell)}},
      {"nodes",
       {kNameColumn, shown("Status", node_status_cell), shown("Roles", roles_cell), kAgeColumn,
        shown("Version", cell(text, "status", "nodeInfo", "kubeletVersion")),
        wide("Internal-IP", address_cell("InternalIP")), wide("External-IP", address_cell("ExternalIP")),
        wide("OS-Image", cell(text_or_none, "status", "nodeInfo", "osImage")),
        wide("Kernel-Version", cell(text_or_none, "status", "nodeInfo", "kernelVersion")),
        wide("Container-Runtime", cell(text_or_none, "status", "nodeInfo", "containerRuntimeVersion"))}},
      {"deployments",
       {kNameColumn, shown("Ready", ready_of_replicas), shown("Up-to-date", cell(count, "status", "updatedReplicas")),
        shown("Available", cell(count, "status", "availableReplicas")), kAgeColumn, containers, images, selector}},
      {"replicasets",
       {kNameColumn, integer("Desired", replicas_cell), integer("Current", cell(count, "status", "replicas")),
        integer("Ready", cell(count, "status", "readyReplicas")), kAgeColumn, containers, images, selector}},
      {"statefulsets", {kNameColumn, shown("Ready", ready_of_replicas), kAgeColumn, containers, images}},
      {"daemonsets",
       {kNameColumn, integer("Desired", cell(count, "status", "desiredNumberScheduled")),
        integer("Current", cell(count, "status", "currentNumberScheduled")),
        integer("Ready", cell(count, "status", "numberReady")),
        integer("Up-to-date", cell(count, "status", "updatedNumberScheduled")),
        integer("Available", cell(count, "status", "numberAvailable")),
        shown("Node Selector", cell(labels, "spec", "template", "spec", "nodeSelector")), kAgeColumn, containers,
        images, selector}},
      {"jobs",
       {kNameColumn, shown("Status", job_status_cell), shown("Completions", completions_cell),
        shown("Duration", duration_cell), kAgeColumn, containers, images, selector}},
      {"poddisruptionbudgets",
       {kNameColumn, shown("Min Available", cell(int_or_string, "spec", "minAvailable")),
        shown("Max Unavailable", cell(int_or_string, "spec", "maxUnavailable")),
        integer("Allowed Disruptions", cell(count, "status", "disruptionsAllowed")), kAgeColumn}},
  };
  return all;
}

/// Columns of other kinds, by plural.
const std::map<std::string, Columns>& other_columns() {
  static const std::map<std::string, Columns> all = {
      {"events",
       {shown("Last Seen", event_seen_cell),
        shown("Type", cell(text, "type")),
        shown("Reason", cell(text, "reason")),
        shown("Object", event_object_cell),
        wide("Subobject", cell(text, "regarding", "fieldPath")),
        wide("Source", event_source_cell),
        shown("Message", cell(text, "note")),
        wide("First Seen", event_first_cell),
        {"Count", "integer", 1, event_count_cell},
        wide("Name", cell(text, "metadata", "name"))}},
      {"persistentvolumeclaims",
       {kNameColumn, shown("Status", cell(text, "status", "phase")), shown("Volume", cell(text, "spec", "volumeName")),
        shown("Capacity", cell(text, "status", "capacity", "storage")),
        shown("Access Modes", cell(modes, "status", "accessModes")),
        shown("StorageClass", cell(text, "spec", "storageClassName")), kAgeColumn,
        wide("VolumeMode", cell(text, "spec", "volumeMode"))}},
      {"persistentvolumes",
       {kNameColumn, shown("Capacity", cell(text, "spec", "capacity", "storage")),
        shown("Access Modes", cell(modes, "spec", "accessModes")),
        shown("Reclaim Policy", cell(text, "spec", "persistentVolumeReclaimPolicy")),
        shown("Status", cell(text, "status", "phase")), shown("Claim", claim_ref_cell),
        shown("StorageClass", cell(text, "spec", "storageClassName")), shown("Reason", cell(text, "status", "reason")),
        kAgeColumn}},
      {"services",
       {kNameColumn, shown("Type", cell(text, "spec", "type")),
        shown("Cluster-IP", cell(text_or_none, "spec", "clusterIP")), shown("External-IP", none_cell),
        shown("Port(s)", service_ports_cell), kAgeColumn, wide("Selector", cell(labels, "spec", "selector"))}},
      {"namespaces", {kNameColumn, shown("Status", cell(text, "status", "phase")), kAgeColumn}},
      {"leases", {kNameColumn, shown("Holder", cell(text, "spec", "holderIdentity")), kAgeColumn}},
      {"customresourcedefinitions",
       {kNameColumn, {"Created At", "date", 0, cell(text, "metadata", "creationTimestamp")}}},
      {"priorityclasses",
       {kNameColumn,
        integer("Value", cell(count, "value")),
        {"Global-Default", "boolean", 0, global_default_cell},
        kAgeColumn,
        wide("PreemptionPolicy", cell(text, "preemptionPolicy"))}},
      {"configmaps", {kNameColumn, shown("Data", cell(size, "data")), kAgeColumn}},
      {"secrets", {kNameColumn, shown("Type", cell(text, "type")), shown("Data", cell(size, "data")), kAgeColumn}},
      {"serviceaccounts", {kNameColumn, shown("Secrets", cell(size, "secrets")), kAgeColumn}},
      {"", {kNameColumn, kAgeColumn}},  // kinds without specific columns
  };
  return all;
}

}  // namespace

std::string age_text(const std::string& time, TimePoint now) {
  const auto then = base::parse_time(time);
  return then ? base::format_age(now - *then) : "<unknown>";
}

const Columns& columns_of(const ServedResource& resource) {
  for (const auto* columns : {&workload_columns(), &other_columns()}) {
    if (const auto found = columns->find(resource.plural); found != columns->end()) return found->second;
  }
  return other_columns().at("");
}

}  // namespace simulator
