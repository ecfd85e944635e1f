#include "test/e2e/foresight/scheduler_world.hpp"

#include <iostream>

#include "test/e2e/harness/await.hpp"

namespace e2e {
namespace {

constexpr std::chrono::seconds kRenewal{5};  // the node controller's grace period is 40 s
constexpr const char* kLeases = "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases";
constexpr const char* kZone = "topology.kubernetes.io/zone";

std::string text_of_now() {
  const std::time_t now = std::chrono::system_clock::to_time_t(std::chrono::system_clock::now());
  std::tm parts{};
  gmtime_r(&now, &parts);
  char text[32];
  std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%S.000000Z", &parts);
  return text;
}

std::string numbered(const char* prefix, int number) {
  return prefix + std::string(number < 10 ? "0" : "") + std::to_string(number);
}

Json labels_of(int number) {
  const std::string name = SchedulerWorld::node_name(number);
  Json labels = {{"kubernetes.io/hostname", name}, {"disk", number % 3 == 0 ? "ssd" : "hdd"}};
  labels["cores"] = std::to_string(number);
  if (name == SchedulerWorld::hermit()) return labels;
  labels[kZone] = "zone-" + std::to_string(number % SchedulerWorld::kZones);
  if (number % 5 != 0) labels["rack"] = "rack-" + std::to_string(number % 4);
  return labels;
}

Json taints_of(int number) {
  Json taints = Json::array();
  if (number % 7 == 3) taints.push_back({{"key", "dedicated"}, {"value", "batch"}, {"effect", "NoSchedule"}});
  if (number % 4 == 1) taints.push_back({{"key", "noisy"}, {"effect", "PreferNoSchedule"}});
  if (number % 6 == 2) taints.push_back({{"key", "old"}, {"effect", "PreferNoSchedule"}});
  return taints;
}

Json size_of(int number) {
  static constexpr int kCores[] = {7, 11, 16, 24};
  static constexpr int kMemory[] = {13, 30, 61};  // Gi
  return {{"cpu", std::to_string(kCores[number % 4])},
          {"memory", std::to_string(kMemory[number % 3]) + "Gi"},
          {"pods", "110"}};
}

Json requests(int cpu, int memory) {
  return {{"requests", {{"cpu", std::to_string(cpu) + "m"}, {"memory", std::to_string(memory) + "Mi"}}}};
}

/// Returns requests. Some pods have none, some have one resource only.
Json some_requests(int dice, int cpu, int memory) {
  Json all = requests(cpu, memory);
  if (dice < 15) return Json::object();
  if (dice < 25) all["requests"].erase("memory");
  if (dice >= 25 && dice < 35) all["requests"].erase("cpu");
  return all;
}

Json app_selector(const std::string& app) { return {{"matchLabels", {{"app", app}}}}; }

}  // namespace

// ---------------------------------------------------------------- nodes

std::string SchedulerWorld::node_name(int number) { return numbered("foresight-", number); }

SchedulerWorld::SchedulerWorld(const Api& api) : api_(api) {
  clear_away();
  for (int i = 0; i < kNodes; ++i) make_node(i);
  heartbeat_ = std::thread([this] { keep_alive(); });
  await_ready();
}

SchedulerWorld::~SchedulerWorld() {
  stopping_ = true;
  if (heartbeat_.joinable()) heartbeat_.join();
  try {
    clear_away();
  } catch (const std::exception& e) {
    std::cout << "clearing away the nodes: " << e.what() << std::endl;
  }
}

void SchedulerWorld::make_node(int number) const {
  const std::string name = node_name(number);
  const std::string now = text_of_now().substr(0, 19) + "Z";
  const Json ready = {{"type", "Ready"},          {"status", "True"},          {"reason", "Made"},
                      {"lastHeartbeatTime", now}, {"lastTransitionTime", now}, {"message", "an object only"}};
  api_.create(
      path::nodes(),
      {{"apiVersion", "v1"},
       {"kind", "Node"},
       {"metadata", {{"name", name}, {"labels", labels_of(number)}}},
       {"spec", {{"taints", taints_of(number)}}},
       {"status",
        {{"capacity", size_of(number)}, {"allocatable", size_of(number)}, {"conditions", Json::array({ready})}}}});
  api_.create(kLeases,
              {{"apiVersion", "coordination.k8s.io/v1"},
               {"kind", "Lease"},
               {"metadata", {{"name", name}, {"namespace", "kube-node-lease"}}},
               {"spec", {{"holderIdentity", name}, {"leaseDurationSeconds", 40}, {"renewTime", text_of_now()}}}});
}

// The server adds a not-ready taint to every new node. The node controller removes it.
void SchedulerWorld::await_ready() const {
  await("the nodes to lose their first taint", [&](std::string& seen) {
    seen.clear();
    for (int i = 0; i < kNodes; ++i) {
      const Json node = api_.get(path::nodes(node_name(i)));
      if (node.dump().find("node.kubernetes.io/not-ready") != std::string::npos) seen += node_name(i) + " ";
    }
    return seen.empty();
  });
}

void SchedulerWorld::keep_alive() {
  auto next = std::chrono::steady_clock::now();
  while (!stopping_) {
    if (std::chrono::steady_clock::now() < next) {
      std::this_thread::sleep_for(kPollInterval);
      continue;
    }
    next += kRenewal;
    for (int i = 0; i < kNodes && !stopping_; ++i) {
      api_.request("PATCH", std::string(kLeases) + "/" + node_name(i),
                   Json{{"spec", {{"renewTime", text_of_now()}}}}.dump(), "application/merge-patch+json");
    }
  }
}

void SchedulerWorld::clear_away() const {
  for (const Json& pod : api_.list("/api/v1/pods")) {
    if (!text_at(pod, "/spec/nodeName").starts_with("foresight-")) continue;
    api_.request("DELETE", path::pods(text_at(pod, "/metadata/namespace"), text_at(pod, "/metadata/name")) +
                               "?gracePeriodSeconds=0");
  }
  for (int i = 0; i < kNodes; ++i) {
    api_.remove(path::nodes(node_name(i)));
    api_.remove(std::string(kLeases) + "/" + node_name(i));
  }
}

// ---------------------------------------------------------------- pods

Json RandomPods::bare(const std::string& name) {
  const Json container = {{"name", "main"},
                          {"image", "registry.k8s.io/pause:3.9"},
                          {"resources", some_requests(below(100), 31 + below(900), 57 + below(1700))}};
  return {{"apiVersion", "v1"},
          {"kind", "Pod"},
          {"metadata", {{"namespace", ns_}, {"name", name}, {"labels", {{"app", kApps[below(5)]}}}}},
          {"spec", {{"terminationGracePeriodSeconds", 0}, {"containers", Json::array({container})}}}};
}

Json RandomPods::pod_term(bool over_nodes) {
  const char* key = over_nodes ? "kubernetes.io/hostname" : chance(60) ? kZone : "rack";
  return {{"labelSelector", app_selector(kApps[below(5)])}, {"topologyKey", key}};
}

Json RandomPods::weighted_terms() {
  Json terms = Json::array();
  for (int i = below(3); i >= 0; --i)
    terms.push_back({{"weight", 1 + below(100)}, {"podAffinityTerm", pod_term(false)}});
  return terms;
}

Json RandomPods::node_preference() {
  Json terms = Json::array();
  for (int i = below(3); i >= 0; --i) {
    Json preference;
    switch (below(3)) {
      case 0: preference = {{"key", "disk"}, {"operator", "In"}, {"values", {"ssd"}}}; break;
      case 1: preference = {{"key", "cores"}, {"operator", "Gt"}, {"values", {std::to_string(below(18))}}}; break;
      default:
        preference = {{"key", kZone},
                      {"operator", chance(70) ? "In" : "NotIn"},
                      {"values", {"zone-" + std::to_string(below(6)), "zone-" + std::to_string(below(6))}}};
    }
    terms.push_back({{"weight", 1 + below(100)}, {"preference", {{"matchExpressions", Json::array({preference})}}}});
  }
  return terms;
}

Json RandomPods::next(const std::string& profile, bool in_company, bool spread) {
  Json pod = bare(numbered("pod-", ++made_));
  Json& spec = pod["spec"];
  spec["schedulerName"] = profile;
  spec["tolerations"] = Json::array();
  if (spread || chance(40)) spec["tolerations"].push_back({{"key", "dedicated"}, {"operator", "Exists"}});
  if (chance(30)) spec["tolerations"].push_back({{"key", "noisy"}, {"effect", "PreferNoSchedule"}});
  if (chance(60))
    spec["affinity"]["nodeAffinity"]["preferredDuringSchedulingIgnoredDuringExecution"] = node_preference();
  if (in_company) {
    if (chance(60))
      spec["affinity"]["podAffinity"]["preferredDuringSchedulingIgnoredDuringExecution"] = weighted_terms();
    if (chance(60))
      spec["affinity"]["podAntiAffinity"]["preferredDuringSchedulingIgnoredDuringExecution"] = weighted_terms();
  }
  const Json own_kind = app_selector(text_at(pod, "/metadata/labels/app"));
  if (spread) {
    spec["topologySpreadConstraints"].push_back({{"maxSkew", 1 + below(3)},
                                                 {"topologyKey", kZone},
                                                 {"whenUnsatisfiable", "ScheduleAnyway"},
                                                 {"labelSelector", own_kind}});
    return pod;
  }
  // At most one of the two and only one constraint, because 1.20 also counts pods on nodes that the selector excludes.
  if (chance(15)) {
    spec["nodeSelector"] = {{"disk", "ssd"}};
  } else if (chance(15)) {
    spec["topologySpreadConstraints"].push_back(
        {{"maxSkew", 1}, {"topologyKey", kZone}, {"whenUnsatisfiable", "DoNotSchedule"}, {"labelSelector", own_kind}});
  }
  if (chance(15)) {
    spec["affinity"]["podAntiAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"] =
        Json::array({pod_term(true)});
  }
  return pod;
}

Json RandomPods::resident(int number) {
  Json pod = bare(numbered("resident-", number));
  Json& spec = pod["spec"];
  spec["nodeName"] = SchedulerWorld::node_name(number % (SchedulerWorld::kNodes - 1));  // never the hermit
  if (chance(40)) {
    const char* kind = chance(50) ? "podAffinity" : "podAntiAffinity";
    spec["affinity"][kind]["preferredDuringSchedulingIgnoredDuringExecution"] = weighted_terms();
  }
  if (chance(30)) {
    spec["affinity"]["podAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"] = Json::array({pod_term(false)});
  }
  if (chance(10)) {
    spec["affinity"]["podAntiAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"] =
        Json::array({pod_term(true)});
  }
  return pod;
}

}  // namespace e2e
