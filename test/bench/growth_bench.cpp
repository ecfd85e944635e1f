/// Cost of lists that a tenant controls, for the plans of all tenants: each list of one object, or of one tenant's
/// objects, with n entries and with ten times as many, which may take at most 12 times the time. Figures are CPU time
/// of decoding the object, a snapshot, and a plan of several strategies. "ratio" compares the total times; "own_ratio"
/// compares the additional time caused by the object, 0 if n entries add less than two milliseconds. The program fails
/// if "ratio" is above 12, or "own_ratio" where the object adds more than 100 ms.

#include <benchmark/benchmark.h>

#include <algorithm>
#include <ctime>
#include <functional>
#include <iostream>
#include <string>
#include <vector>

#include "api/core/codec.hpp"
#include "planner/plan/planner.hpp"
#include "test/builders/cluster.hpp"

namespace {

using builders::NodeBuilder;
using builders::PodBuilder;
using scheduling::SnapshotInput;

constexpr int kNodes = 100;
constexpr int kPodsPerNode = 10;

double cpu_ms() {
  timespec time{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) * 1e3 + static_cast<double>(time.tv_nsec) / 1e6;
}

/// Returns `entry` n times, with "#" replaced by the number of each.
std::string list_of(std::size_t n, const std::string& entry, const char* open = "[", const char* close = "]") {
  std::string list = open;
  for (std::size_t i = 0; i < n; ++i) {
    if (i > 0) list += ",";
    for (const char c : entry) c == '#' ? list += std::to_string(i) : list += c;
  }
  return list + close;
}

/// Returns a pod of a hostile tenant, in the API server's format.
std::string hostile_pod(const std::string& meta, const std::string& spec, const char* name = "evil") {
  return std::string(R"({"metadata":{"namespace":"hostile","name":")") + name +
         R"(","uid":"evil","labels":{"app":"evil"},"ownerReferences":[{"apiVersion":"apps/v1","kind":"ReplicaSet",)"
         R"("name":"evil","uid":"rs-evil","controller":true}])" +
         meta + R"(},"spec":{)" + spec + R"(},"status":{"phase":"Running"}})";
}

std::string affinity(const char* sort, const char* list, const std::string& terms) {
  return std::string(R"("nodeName":"n1","affinity":{")") + sort + R"(":{")" + list + "\":" + terms + "}}";
}

constexpr const char* kRequired = "requiredDuringSchedulingIgnoredDuringExecution";
constexpr const char* kPreferred = "preferredDuringSchedulingIgnoredDuringExecution";
/// Terms that select all pods of the cluster, with topology keys that no node has, and with one that all nodes have.
constexpr const char* kTerm =
    R"({"labelSelector":{"matchExpressions":[{"key":"k#","operator":"DoesNotExist"}]},"namespaceSelector":{},"topologyKey":"k#"})";
constexpr const char* kNearTerm =
    R"({"labelSelector":{"matchExpressions":[{"key":"k#","operator":"DoesNotExist"}]},"namespaceSelector":{},"topologyKey":"zone"})";
std::string weighted(const char* term) { return std::string(R"({"weight":1,"podAffinityTerm":)") + term + "}"; }

struct TenantList {
  const char* name;
  std::size_t n;
  std::function<void(std::size_t n, SnapshotInput& input)> add;
};

void add_pod(SnapshotInput& input, const std::string& text) {
  auto pod = api::decode_pod(text);
  if (!pod) std::abort();
  input.pods.push_back(std::make_shared<const api::Pod>(*std::move(pod)));
}

TenantList pod_list(const char* name, std::size_t n, std::function<std::string(std::size_t)> spec) {
  return {name, n, [spec = std::move(spec)](std::size_t count, SnapshotInput& input) {
            add_pod(input, hostile_pod("", spec(count)));
          }};
}

TenantList meta_list(const char* name, std::size_t n, std::function<std::string(std::size_t)> meta) {
  return {name, n, [meta = std::move(meta)](std::size_t count, SnapshotInput& input) {
            add_pod(input, hostile_pod("," + meta(count), R"("nodeName":"n1")"));
          }};
}

void add_pdb(SnapshotInput& input, const std::string& name, const std::string& selector) {
  auto pdb = api::decode_pdb(R"({"apiVersion":"policy/v1","metadata":{"namespace":"shop-0","name":")" + name +
                             R"("},"spec":{"selector":)" + selector + R"(},"status":{"disruptionsAllowed":1}})");
  if (!pdb) std::abort();
  input.pdbs.push_back(std::make_shared<const api::PodDisruptionBudget>(*std::move(pdb)));
}

/// Adds a pod with PVCs that wait for it, in a class with free volumes.
void add_claims(SnapshotInput& input, std::size_t n, const std::string& spec) {
  api::StorageClass storage;
  storage.meta.name = "local";
  storage.waits_for_pod = true;
  input.storage_classes.push_back(std::make_shared<const api::StorageClass>(storage));
  for (int i = 0; i < 200; ++i) {
    api::PersistentVolume volume;
    volume.meta.name = "pv" + std::to_string(i);
    volume.storage_class = "local";
    volume.access_modes = {"ReadWriteOnce"};
    input.volumes.push_back(std::make_shared<const api::PersistentVolume>(volume));
  }
  for (std::size_t i = 0; i < n; ++i) {
    auto claim =
        api::decode_pvc(R"({"metadata":{"namespace":"hostile","name":"c)" + std::to_string(i) + R"(","uid":"u)" +
                        std::to_string(i) + R"("},"spec":{"storageClassName":"local",)" + spec + "}}");
    if (!claim) std::abort();
    input.claims.push_back(std::make_shared<const api::PersistentVolumeClaim>(*std::move(claim)));
  }
  add_pod(input, hostile_pod("", R"("nodeName":"n1","volumes":)" +
                                     list_of(n, R"({"name":"v#","persistentVolumeClaim":{"claimName":"c#"}})")));
}

/// Adds n pods of one tenant, each with its own `terms` terms.
void add_pods(SnapshotInput& input, std::size_t n, std::size_t terms, const char* term) {
  for (std::size_t i = 0; i < n; ++i) {
    std::string own = term;
    for (auto at = own.find("k#"); at != std::string::npos; at = own.find("k#", at + 1))
      own.insert(at + 1, std::to_string(i) + "-");
    add_pod(input, hostile_pod("", affinity("podAntiAffinity", kRequired, list_of(terms, own)),
                               ("evil-" + std::to_string(i)).c_str()));
  }
}

/// Adds pod number `i` of the hostile tenant, with its own labels, annotations and spec.
void add_member(SnapshotInput& input, std::size_t i, const std::string& spec, const std::string& annotations = "") {
  const std::string number = std::to_string(i);
  add_pod(input, R"({"metadata":{"namespace":"hostile","name":"evil-)" + number + R"(","uid":"evil-)" + number +
                     R"(","labels":{"app":"evil","pod":"evil-)" + number + R"("},"annotations":{)" + annotations +
                     R"(},"ownerReferences":[{"apiVersion":"apps/v1","kind":"StatefulSet","name":"evil","uid":"evil",)"
                     R"("controller":true}]},"spec":{)" +
                     spec + R"(},"status":{"phase":"Running"}})");
}

/// Returns a list of n pods. `spec_of` returns the spec for a number.
TenantList member_list(const char* name, std::size_t n, std::function<std::string(std::size_t)> spec_of,
                       std::string annotations = "") {
  return {name, n, [spec_of = std::move(spec_of), annotations = std::move(annotations)](auto count, auto& input) {
            for (std::size_t i = 0; i < count; ++i) add_member(input, i, spec_of(i), annotations);
          }};
}

/// Returns terms that select pods of the tenant's own namespace.
std::string own_terms(std::size_t count, const std::string& prefix) {
  return list_of(count, R"({"labelSelector":{"matchExpressions":[{"key":")" + prefix +
                            R"(#","operator":"DoesNotExist"}]},"topologyKey":"zone"})");
}

std::string without_node(const std::string& spec) { return spec.substr(std::string(R"("nodeName":"n1",)").size()); }

std::string constraint(const std::string& skew, const std::string& selector) {
  return R"("nodeName":"n1","topologySpreadConstraints":[{"maxSkew":)" + skew +
         R"(,"topologyKey":"kubernetes.io/hostname","whenUnsatisfiable":"DoNotSchedule","labelSelector":)" + selector +
         "}]";
}

/// Lists of pods, in contrast to lists in one pod.
std::vector<TenantList> lists_of_pods() {
  const std::string requests = R"(,"containers":[{"name":"c","resources":{"requests":{"cpu":"100m"}}}])";
  return {
      member_list("PendingReplicasOfOneAffinity", 100,
                  [](auto) { return without_node(affinity("podAntiAffinity", kRequired, own_terms(100, "k"))); }),
      member_list("ReplicasOfOneAffinity", 30,
                  [](auto) { return affinity("podAntiAffinity", kRequired, own_terms(100, "k")); }),
      member_list("ReplicasOfOneAffinityThatComparesLabels", 30,
                  [](auto) {
                    return affinity("podAntiAffinity", kRequired,
                                    R"([{"labelSelector":{},"matchLabelKeys":["pod"],"topologyKey":"zone"}])");
                  }),
      member_list("ReplicasOfOnePreference", 30,
                  [](auto) { return affinity("podAffinity", kPreferred, list_of(50, weighted(kNearTerm))); }),
      member_list("PodsOf300ValuesInATerm", 10,
                  [](auto i) {
                    return affinity(
                        "podAntiAffinity", kRequired,
                        R"([{"topologyKey":"zone","namespaceSelector":{},"labelSelector":{"matchExpressions":[)"
                        R"({"key":"app","operator":"NotIn","values":)" +
                            list_of(300, "\"v" + std::to_string(i) + "-#\"") + "}]}}]");
                  }),
      member_list("PodsThatEachHaveASkew", 30,
                  [](auto i) { return constraint(std::to_string(i + 1), R"({"matchLabels":{"app":"evil"}})"); }),
      member_list("PodsThatEachHaveASelector", 20,
                  [](auto i) {
                    return constraint("1", R"({"matchExpressions":[{"key":"pod","operator":"NotIn","values":["evil-)" +
                                               std::to_string(i) + R"("]}]})");
                  }),
      member_list("PendingPods", 20,
                  [](auto i) {
                    return without_node(
                        affinity("podAntiAffinity", kRequired, own_terms(10, "k" + std::to_string(i) + "-")));
                  }),
      {"BarePendingPods", 20,
       [](auto n, auto& input) {
         for (std::size_t i = 0; i < n; ++i) {
           PodBuilder pod("evil-" + std::to_string(i));
           pod.ns("hostile").bare().cpu(1).label("pod", std::to_string(i)).anti_affinity("app", "evil", "zone");
           input.pods.push_back(std::make_shared<const api::Pod>(pod.with([](api::Pod& each) {
                                                                      each.node_selector = {{"disk", "none"}};
                                                                    })
                                                                     .build()));
         }
       }},
      member_list(
          "PodGroup", 6, [](auto) { return std::string(R"("nodeName":"n1")"); }, R"("evacuator.dev/group":"evil")"),
      member_list(
          "LargePodGroup", 60, [](auto) { return std::string(R"("nodeName":"n1")"); },
          R"("evacuator.dev/group":"evil")"),
      {"TermsOfPodsAboveTheTarget", 10,
       [requests](auto n, auto& input) {
         for (std::size_t i = 0; i < 40; ++i)
           add_member(input, i,
                      affinity("podAntiAffinity", kRequired, own_terms(n, "k" + std::to_string(i) + "-")) + requests);
       }},
      member_list("PodsThatViolateTheirNodeAffinity", 30, [](auto i) {
        return affinity(
            "nodeAffinity", kRequired,
            R"({"nodeSelectorTerms":)" +
                list_of(20, R"({"matchExpressions":[{"key":"k)" + std::to_string(i) + R"(-#","operator":"Exists"}]})") +
                "}");
      })};
}

const std::vector<TenantList>& tenant_lists() {
  static const std::vector<TenantList> kLists = {
      pod_list("RequiredAntiAffinity", 4000,
               [](auto n) { return affinity("podAntiAffinity", kRequired, list_of(n, kTerm)); }),
      pod_list("RequiredAntiAffinityBelowTheBound", 25,
               [](auto n) { return affinity("podAntiAffinity", kRequired, list_of(n, kTerm)); }),
      pod_list("NearAntiAffinityBelowTheBound", 25,
               [](auto n) { return affinity("podAntiAffinity", kRequired, list_of(n, kNearTerm)); }),
      pod_list("RequiredAffinity", 4000, [](auto n) { return affinity("podAffinity", kRequired, list_of(n, kTerm)); }),
      pod_list("RequiredAffinityBelowTheBound", 25,
               [](auto n) { return affinity("podAffinity", kRequired, list_of(n, kNearTerm)); }),
      pod_list("PreferredAffinity", 4000,
               [](auto n) { return affinity("podAffinity", kPreferred, list_of(n, weighted(kTerm))); }),
      pod_list("PreferredAffinityBelowTheBound", 25,
               [](auto n) { return affinity("podAffinity", kPreferred, list_of(n, weighted(kNearTerm))); }),
      pod_list("PreferredAntiAffinityBelowTheBound", 25,
               [](auto n) { return affinity("podAntiAffinity", kPreferred, list_of(n, weighted(kTerm))); }),
      pod_list("PendingPod", 4000,
               [](auto n) {
                 return affinity("podAntiAffinity", kRequired, list_of(n, kTerm))
                     .substr(std::string(R"("nodeName":"n1",)").size());
               }),
      pod_list("NodeTerms", 4000,
               [](auto n) {
                 return affinity("nodeAffinity", kRequired,
                                 R"({"nodeSelectorTerms":)" +
                                     list_of(n, R"({"matchExpressions":[{"key":"k#","operator":"Exists"}]})") + "}");
               }),
      pod_list("NodeTermsBelowTheBound", 25,
               [](auto n) {
                 return affinity("nodeAffinity", kRequired,
                                 R"({"nodeSelectorTerms":)" +
                                     list_of(n, R"({"matchExpressions":[{"key":"k#","operator":"Exists"}]})") + "}");
               }),
      pod_list("ValuesOfANodeTerm", 4000,
               [](auto n) {
                 return affinity(
                     "nodeAffinity", kRequired,
                     R"({"nodeSelectorTerms":[{"matchExpressions":[{"key":"zone","operator":"In","values":)" +
                         list_of(n, "\"v#\"") + "}]}]}");
               }),
      pod_list("ValuesOfATerm", 300,
               [](auto n) {
                 return affinity(
                     "podAntiAffinity", kRequired,
                     R"([{"topologyKey":"zone","namespaceSelector":{},"labelSelector":{"matchExpressions":[)"
                     R"({"key":"app","operator":"NotIn","values":)" +
                         list_of(n, "\"v#\"") + "}]}}]");
               }),
      pod_list("NamespacesOfATerm", 300,
               [](auto n) {
                 return affinity(
                     "podAntiAffinity", kRequired,
                     R"([{"topologyKey":"zone","labelSelector":{},"namespaces":)" + list_of(n, "\"ns#\"") + "}]");
               }),
      pod_list("NodeSelector", 4000,
               [](auto n) { return R"("nodeName":"n1","nodeSelector":)" + list_of(n, R"("k#":"v")", "{", "}"); }),
      pod_list("Tolerations", 4000,
               [](auto n) {
                 return R"("nodeName":"n1","tolerations":)" + list_of(n, R"({"key":"k#","operator":"Exists"})");
               }),
      pod_list("TolerationsBelowTheBound", 25,
               [](auto n) {
                 return R"("nodeName":"n1","tolerations":)" + list_of(n, R"({"key":"k#","operator":"Exists"})");
               }),
      pod_list("SpreadConstraints", 4000,
               [](auto n) {
                 return R"("nodeName":"n1","topologySpreadConstraints":)" +
                        list_of(n,
                                R"({"maxSkew":1,"topologyKey":"k#","labelSelector":{"matchLabels":{"app":"evil"}}})");
               }),
      pod_list("SpreadConstraintsBelowTheBound", 25,
               [](auto n) {
                 return R"("nodeName":"n1","topologySpreadConstraints":)" +
                        list_of(n,
                                R"({"maxSkew":1,"topologyKey":"k#","labelSelector":{"matchLabels":{"app":"evil"}}})");
               }),
      pod_list("Containers", 1000,
               [](auto n) {
                 return R"("nodeName":"n1","containers":)" +
                        list_of(n, R"({"name":"c#","image":"i#","resources":{"requests":{"cpu":"1m"}}})");
               }),
      pod_list("Sidecars", 1000,
               [](auto n) {
                 return R"("nodeName":"n1","initContainers":)" +
                        list_of(n, R"({"name":"c#","restartPolicy":"Always","resources":{"requests":{"x/r#":"1"}}})");
               }),
      pod_list("Resources", 1000,
               [](auto n) {
                 return R"("nodeName":"n1","containers":[{"name":"c","resources":{"requests":)" +
                        list_of(n, R"("x/r#":"1")", "{", "}}}]");
               }),
      pod_list("HostPorts", 1000,
               [](auto n) {
                 return R"("nodeName":"n1","containers":[{"name":"c","ports":)" +
                        list_of(n, R"({"containerPort":80,"hostPort":8080,"hostIP":"a#"})") + "}]";
               }),
      pod_list("Volumes", 1000,
               [](auto n) { return R"("nodeName":"n1","volumes":)" + list_of(n, R"({"name":"v#","secret":{}})"); }),
      pod_list("ResourceClaims", 1000,
               [](auto n) {
                 return R"("nodeName":"n1","resourceClaims":)" +
                        list_of(n, R"({"name":"c#","resourceClaimName":"r#"})");
               }),
      meta_list("Labels", 4000,
                [](auto n) { return R"("labels":)" + list_of(n, R"("k#":"v")", "{\"app\":\"evil\",", "}"); }),
      meta_list("Annotations", 4000, [](auto n) { return R"("annotations":)" + list_of(n, R"("k#":"v")", "{", "}"); }),
      meta_list("Finalizers", 4000, [](auto n) { return R"("finalizers":)" + list_of(n, "\"f#\""); }),
      meta_list("Owners", 4000,
                [](auto n) { return R"("ownerReferences":)" + list_of(n, R"({"kind":"K","name":"o#","uid":"u#"})"); }),
      {"ClaimsOfAPod", 100, [](auto n, auto& input) { add_claims(input, n, R"("accessModes":["ReadWriteOnce"])"); }},
      {"AccessModesOfAClaim", 1000,
       [](auto n, auto& input) { add_claims(input, 1, R"("accessModes":)" + list_of(n, "\"m#\"")); }},
      {"SelectorOfAClaim", 1000,
       [](auto n, auto& input) {
         add_claims(input, 1, R"("selector":{"matchLabels":)" + list_of(n, R"("k#":"v")", "{", "}}"));
       }},
      {"Budgets", 300,
       [](auto n, auto& input) {
         for (std::size_t i = 0; i < n; ++i)
           add_pdb(input, "b" + std::to_string(i), R"({"matchLabels":{"app":"x)" + std::to_string(i) + R"("}})");
       }},
      {"SelectorOfABudget", 4000,
       [](auto n, auto& input) {
         add_pdb(input, "b",
                 R"({"matchExpressions":[{"key":"app","operator":"NotIn","values":)" + list_of(n, "\"v#\"") + "}]}");
       }},
      {"ExpressionsOfABudget", 4000,
       [](auto n, auto& input) {
         add_pdb(input, "b", R"({"matchExpressions":)" + list_of(n, R"({"key":"k#","operator":"DoesNotExist"})") + "}");
       }},
      {"PodsOf100Terms", 10, [](auto n, auto& input) { add_pods(input, n, 100, kTerm); }},
      {"PodsOf100NearTerms", 10, [](auto n, auto& input) { add_pods(input, n, 100, kNearTerm); }},
      {"TaintsOfANode", 1000,
       [](auto n, auto& input) {
         auto node = api::decode_node(R"({"metadata":{"name":"evil"},"spec":{"taints":)" +
                                      list_of(n, R"({"key":"k#","effect":"NoSchedule"})") +
                                      R"(},"status":{"allocatable":{"cpu":"4","memory":"8Gi","pods":"10"}}})");
         input.nodes.push_back(std::make_shared<const api::Node>(*std::move(node)));
       }},
      {"LabelsOfANode", 1000,
       [](auto n, auto& input) {
         auto node = api::decode_node(R"({"metadata":{"name":"evil","labels":)" + list_of(n, R"("k#":"v")", "{", "}") +
                                      R"(},"status":{"allocatable":{"cpu":"4","memory":"8Gi","pods":"10"}}})");
         input.nodes.push_back(std::make_shared<const api::Node>(*std::move(node)));
       }},
      {"ResourcesOfANode", 1000,
       [](auto n, auto& input) {
         auto node = api::decode_node(R"({"metadata":{"name":"evil"},"status":{"allocatable":)" +
                                      list_of(n, R"("x/r#":"1")", "{\"cpu\":\"4\",\"pods\":\"10\",", "}") + "}}");
         input.nodes.push_back(std::make_shared<const api::Node>(*std::move(node)));
       }},
  };
  return kLists;
}

/// Returns pods of ten workloads in each of ten namespaces, with typical terms.
const SnapshotInput& honest() {
  static const SnapshotInput kInput = [] {
    SnapshotInput input;
    for (int i = 0; i < kNodes; ++i) {
      NodeBuilder node("n" + std::to_string(i));
      node.sized(16'000, 64'000'000, 110).label("zone", "z" + std::to_string(i % 3));
      input.nodes.push_back(std::make_shared<const api::Node>(node.build()));
    }
    for (int i = 0; i < kNodes * kPodsPerNode; ++i) {
      const std::string app = "app-" + std::to_string(i % 100);
      PodBuilder pod("web-" + std::to_string(i));
      pod.ns("shop-" + std::to_string(i % 10)).on("n" + std::to_string(i % kNodes)).cpu(100).label("app", app);
      pod.owned_by("ReplicaSet", app).anti_affinity("app", app, "kubernetes.io/hostname");
      if (i % 50 == 0) pod.with([](api::Pod& each) { each.containers[0].host_ports = {{"", "TCP", 9100}}; });
      input.pods.push_back(std::make_shared<const api::Pod>(pod.build()));
    }
    return input;
  }();
  return kInput;
}

api::DeschedulerPolicySpec all_strategies() {
  api::DeschedulerPolicySpec spec;
  spec.evictability.node_fit = true;
  spec.strategies = {
      {"PodLifeTime", R"({"maxPodLifeTimeSeconds":60})"},
      {"RemovePodsViolatingInterPodAntiAffinity", "{}"},
      {"RemovePodsViolatingTopologySpreadConstraint", R"({"constraints":["DoNotSchedule","ScheduleAnyway"]})"},
      {"RemovePodsViolatingNodeTaints", "{}"},
      {"RemovePodsViolatingNodeAffinity", R"({"nodeAffinityType":["requiredDuringSchedulingIgnoredDuringExecution"]})"},
      {"RemoveDuplicates", "{}"},
      {"LowNodeUtilization", R"({"thresholds":{"cpu":10},"targetThresholds":{"cpu":20}})"}};
  spec.limits.per_cycle.total = 200;
  return spec;
}

/// Returns the best of seven runs.
double time_with(const TenantList* list, std::size_t n) {
  static const planner::PlanSpec kSpec(all_strategies());
  double best = 1e9;
  for (int run = 0; run < 7; ++run) {
    SnapshotInput input = honest();
    const double begin = cpu_ms();
    if (list != nullptr) list->add(n, input);
    const scheduling::ClusterSnapshot snapshot(std::move(input));
    const auto plan = planner::plan_cycle({.spec = kSpec, .cluster = snapshot, .leaving = {}, .now = builders::kNoon});
    benchmark::DoNotOptimize(plan.moves.size());
    best = std::min(best, cpu_ms() - begin);
  }
  return best;
}

constexpr double kMaxRatio = 12;
constexpr double kNoticeable = 100;

/// Names of the lists that exceed the limits.
std::vector<std::string>& too_steep() {
  static std::vector<std::string> names;
  return names;
}

struct Growth {
  double small;
  double large;
  double without;

  double ratio() const { return large / small; }
  /// Compares the additional time of the list. Returns 0 if it is too short to be measured.
  double own_ratio() const { return small - without < 2 ? 0 : (large - without) / (small - without); }
  /// Growth below kNoticeable ms is harmless, whatever its shape: a quadratic term is bounded there.
  bool is_too_steep() const {
    return ratio() > kMaxRatio || (own_ratio() > kMaxRatio && large - without > kNoticeable);
  }
};

Growth growth_of(const TenantList& list) {
  static const double kWithout = time_with(nullptr, 0);
  Growth growth{time_with(&list, list.n), time_with(&list, 10 * list.n), kWithout};
  if (growth.is_too_steep()) {  // repeated in case the machine was busy
    growth.small = time_with(&list, list.n);
    growth.large = std::min(growth.large, time_with(&list, 10 * list.n));
  }
  return growth;
}

void measure(benchmark::State& state, const TenantList& list) {
  for (auto _ : state) {
    const Growth growth = growth_of(list);
    state.counters["n"] = static_cast<double>(list.n);
    state.counters["none_ms"] = growth.without;
    state.counters["small_ms"] = growth.small;
    state.counters["large_ms"] = growth.large;
    state.counters["ratio"] = growth.ratio();
    state.counters["own_ratio"] = growth.own_ratio();
    if (growth.is_too_steep()) too_steep().emplace_back(list.name);
  }
}

void add_benchmarks(const std::vector<TenantList>& lists) {
  for (const TenantList& list : lists) {
    benchmark::RegisterBenchmark(("BM_Growth/" + std::string(list.name)).c_str(),
                                 [&list](benchmark::State& state) { measure(state, list); })
        ->Iterations(1)
        ->Unit(benchmark::kMillisecond);
  }
}

}  // namespace

int main(int argc, char** argv) {
  const std::vector<TenantList> of_pods = lists_of_pods();
  add_benchmarks(tenant_lists());
  add_benchmarks(of_pods);
  benchmark::Initialize(&argc, argv);
  benchmark::RunSpecifiedBenchmarks();
  for (const std::string& name : too_steep())
    std::cerr << name << ": ten times the list takes more than " << kMaxRatio << " times the time\n";
  return too_steep().empty() ? 0 : 1;
}
