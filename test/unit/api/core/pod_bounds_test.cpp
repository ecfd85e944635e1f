#include "api/core/terms/pod_bounds.hpp"

#include <gtest/gtest.h>

#include <functional>
#include <string>

#include "api/core/codec.hpp"

namespace api {
namespace pod_bounds_test {

std::string list_of(std::size_t count, const std::function<std::string(std::size_t)>& entry) {
  std::string list = "[";
  for (std::size_t i = 0; i < count; ++i) list += (i == 0 ? "" : ",") + entry(i);
  return list + "]";
}

/// Returns a list with `count` copies of `text`, in which "#" is replaced by the index.
std::string repeated(std::size_t count, const std::string& text) {
  return list_of(count, [&](std::size_t i) {
    std::string entry = text;
    for (auto at = entry.find('#'); at != std::string::npos; at = entry.find('#'))
      entry.replace(at, 1, std::to_string(i));
    return entry;
  });
}

Pod pod_with(const std::string& spec) {
  auto pod = decode_pod(R"({"metadata":{"namespace":"shop","name":"web"},"spec":{)" + spec + "}}");
  EXPECT_TRUE(pod) << spec.substr(0, 200);
  return pod ? *std::move(pod) : Pod{};
}

constexpr const char* kTerm = R"({"labelSelector":{"matchLabels":{"app":"a#"}},"topologyKey":"zone"})";
constexpr const char* kWeighted =
    R"({"weight":1,"podAffinityTerm":{"labelSelector":{"matchLabels":{"app":"a#"}},"topologyKey":"zone"}})";
constexpr const char* kNodeTerm = R"({"matchExpressions":[{"key":"k#","operator":"Exists"}]})";

std::string pod_terms(const char* sort, const char* list, const std::string& terms) {
  return std::string(R"("affinity":{")") + sort + R"(":{")" + list + "\":" + terms + "}}";
}

struct LongList {
  std::string name;
  std::function<std::string(std::size_t)> spec;  ///< Returns a spec with the given number of entries
  std::string want;                              ///< Pod::oversized if the list has one entry too many
  std::size_t max = kMaxPodTerms;
};

constexpr const char* kRequired = "requiredDuringSchedulingIgnoredDuringExecution";
constexpr const char* kPreferred = "preferredDuringSchedulingIgnoredDuringExecution";

const std::vector<LongList> kLongLists = {
    {"RequiredAffinity", [](auto n) { return pod_terms("podAffinity", kRequired, repeated(n, kTerm)); },
     "spec.affinity.podAffinity"},
    {"PreferredAffinity", [](auto n) { return pod_terms("podAffinity", kPreferred, repeated(n, kWeighted)); },
     "spec.affinity.podAffinity"},
    {"RequiredAntiAffinity", [](auto n) { return pod_terms("podAntiAffinity", kRequired, repeated(n, kTerm)); },
     "spec.affinity.podAntiAffinity"},
    {"PreferredAntiAffinity", [](auto n) { return pod_terms("podAntiAffinity", kPreferred, repeated(n, kWeighted)); },
     "spec.affinity.podAntiAffinity"},
    {"RequiredNodeTerms",
     [](auto n) {
       return pod_terms("nodeAffinity", kRequired, R"({"nodeSelectorTerms":)" + repeated(n, kNodeTerm) + "}");
     },
     "spec.affinity.nodeAffinity"},
    {"PreferredNodeTerms",
     [](auto n) {
       return pod_terms("nodeAffinity", kPreferred,
                        repeated(n, std::string(R"({"weight":1,"preference":)") + kNodeTerm + "}"));
     },
     "spec.affinity.nodeAffinity"},
    {"Tolerations", [](auto n) { return "\"tolerations\":" + repeated(n, R"({"key":"k#","operator":"Exists"})"); },
     "spec.tolerations"},
    {"SpreadConstraints",
     [](auto n) { return "\"topologySpreadConstraints\":" + repeated(n, R"({"maxSkew":1,"topologyKey":"k#"})"); },
     "spec.topologySpreadConstraints"},
    {"Containers", [](auto n) { return "\"containers\":" + repeated(n, R"({"name":"c#"})"); }, "spec.containers"},
    {"InitContainers", [](auto n) { return "\"initContainers\":" + repeated(n, R"({"name":"c#"})"); },
     "spec.initContainers"},
    {"Volumes", [](auto n) { return "\"volumes\":" + repeated(n, R"({"name":"v#","emptyDir":{}})"); }, "spec.volumes"},
    {"ResourceClaims",
     [](auto n) { return "\"resourceClaims\":" + repeated(n, R"({"name":"c#","resourceClaimName":"r#"})"); },
     "spec.resourceClaims"},
    {"ValuesOfATerm",
     [](auto n) {
       return pod_terms("podAffinity", kRequired,
                        R"([{"topologyKey":"zone","labelSelector":{"matchExpressions":[{"key":"app","operator":"In",)"
                        R"("values":)" +
                            repeated(n - 1, "\"a#\"") + "}]}}]");
     },
     "spec.affinity", kMaxPodTermParts},
    {"NamespacesOfATerm",
     [](auto n) {
       return pod_terms("podAntiAffinity", kRequired,
                        R"([{"topologyKey":"zone","namespaces":)" + repeated(n, "\"ns#\"") + "}]");
     },
     "spec.affinity", kMaxPodTermParts},
    {"LabelKeysOfATerm",
     [](auto n) {
       return pod_terms("podAntiAffinity", kRequired,
                        R"([{"topologyKey":"zone","matchLabelKeys":)" + repeated(n, "\"k#\"") + "}]");
     },
     "spec.affinity", kMaxPodTermParts},
    {"ExpressionsOfANodeTerm",
     [](auto n) {
       return pod_terms("nodeAffinity", kRequired,
                        R"({"nodeSelectorTerms":[{"matchExpressions":)" +
                            repeated(n, R"({"key":"k#","operator":"Exists"})") + "}]}");
     },
     "spec.affinity.nodeAffinity", kMaxPodTermParts},
    {"LabelKeysOfAConstraint",
     [](auto n) {
       return R"("topologySpreadConstraints":[{"maxSkew":1,"topologyKey":"zone","matchLabelKeys":)" +
              repeated(n, "\"k#\"") + "}]";
     },
     "spec.topologySpreadConstraints", kMaxPodTermParts},
};

class LongLists : public testing::TestWithParam<LongList> {};

TEST_P(LongLists, UpToTheLimitNothingIsDropped) { EXPECT_EQ(pod_with(GetParam().spec(GetParam().max)).oversized, ""); }

TEST_P(LongLists, OneEntryMoreDropsWhatDecidesThePlacement) {
  const std::string toleration = R"("tolerations":[{"operator":"Exists"}])";
  const std::string spec = GetParam().spec(GetParam().max + 1);
  const Pod pod = pod_with(GetParam().name == "Tolerations" ? spec : spec + "," + toleration);
  EXPECT_EQ(pod.oversized, GetParam().want);
  EXPECT_EQ(pod.affinity, nullptr);
  EXPECT_TRUE(pod.tolerations.empty());
  EXPECT_TRUE(pod.topology_spread.empty());
}

INSTANTIATE_TEST_SUITE_P(Lists, LongLists, testing::ValuesIn(kLongLists),
                         [](const auto& test) { return test.param.name; });

/// The capacity left for other pods depends on these fields.
TEST(PodBounds, KeepPortsAndVolumes) {
  std::string ports;
  for (int i = 0; i < 300; ++i)
    ports += (i == 0 ? "" : ",") + (R"({"containerPort":80,"hostPort":)" + std::to_string(i + 1) + "}");
  const std::string container = R"({"name":"c#","resources":{"requests":{"cpu":"1"}},"ports":[)" + ports + "]}";
  const std::size_t many = kMaxPodTerms + 1;
  const Pod pod = pod_with("\"containers\":" + repeated(many, container) + ",\"volumes\":" +
                           repeated(many, R"({"name":"v#","persistentVolumeClaim":{"claimName":"c#"}})"));
  EXPECT_EQ(pod.containers.size(), many);
  EXPECT_EQ(pod.containers[many - 1].requests.size(), 1U);
  EXPECT_EQ(pod.containers[0].host_ports.size(), 300U);
  EXPECT_EQ(pod.volumes.size(), many);
}

TEST(PodBounds, TermsCountAsForeignUnlessLimitedToTheNamespace) {
  Affinity affinity;
  affinity.required_pod_affinity.resize(4);
  affinity.required_pod_affinity[1].namespaces = {"shop"};
  affinity.required_pod_affinity[2].namespaces = {"shop", "db"};
  affinity.required_pod_affinity[3].namespace_selector = LabelSelector{};
  affinity.preferred_pod_anti_affinity.resize(1);
  affinity.preferred_pod_anti_affinity[0].second.namespaces = {"db"};
  EXPECT_EQ(pod_term_weight(affinity), 5U);
  EXPECT_EQ(foreign_term_weight(affinity, "shop"), 3U);
}

TEST(PodBounds, TermsWithManyPartsWeighMore) {
  Affinity affinity;
  affinity.required_pod_affinity.resize(2);
  affinity.required_pod_affinity[0].label_selector.emplace().requirements.push_back(
      {"app", SelectorOperator::kNotIn, std::vector<std::string>(4096, "v")});
  affinity.required_pod_affinity[1].namespaces.assign(15, "db");
  EXPECT_EQ(pod_term_weight(affinity), 257U + 1U);
  EXPECT_EQ(foreign_term_weight(affinity, "shop"), 1U);
}

/// Pods of one workload must share their affinity, or each pod would count separately.
TEST(PodBounds, EqualAffinitiesAreShared) {
  const auto spec = [](int i) {
    return pod_terms("podAffinity", kRequired, R"([{"topologyKey":"k)" + std::to_string(i) + "\"}]");
  };
  std::vector<Pod> pods;
  for (int i = 0; i < 200; ++i) pods.push_back(pod_with(spec(i)));
  int shared = 0;
  for (int i = 0; i < 200; ++i) shared += pod_with(spec(i)).affinity == pods[static_cast<std::size_t>(i)].affinity;
  EXPECT_GE(shared, 190) << "two of them may meet in one slot";
}

TEST(AccessModes, AreDeduplicated) {
  std::string modes;
  for (int i = 0; i < 1000; ++i) modes += R"("ReadWriteOnce","ReadOnlyMany",)";
  const auto claim =
      decode_pvc(R"({"metadata":{"name":"c"},"spec":{"accessModes":[)" + modes + R"("ReadWriteMany"]}})");
  ASSERT_TRUE(claim);
  EXPECT_THAT(claim->access_modes, testing::ElementsAre("ReadWriteOnce", "ReadOnlyMany", "ReadWriteMany"));
}

TEST(ResourceLists, AreSortedForAnyOrderOfTheText) {
  const Pod pod =
      pod_with(R"("containers":[{"resources":{"requests":{"x/c":"3","x/a":"1","cpu":"2","x/a":"4","memory":"5"}}}])");
  const ResourceList want = {{"cpu", Quantity::from_units(2)},
                             {"memory", Quantity::from_units(5)},
                             {"x/a", Quantity::from_units(4)},
                             {"x/c", Quantity::from_units(3)}};
  EXPECT_EQ(pod.containers[0].requests, want);
}

}  // namespace pod_bounds_test
}  // namespace api
