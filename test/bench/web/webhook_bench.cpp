#include <benchmark/benchmark.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <thread>

#include "base/clock.hpp"
#include "base/metrics.hpp"
#include "controllers/evacuation/origin/keys.hpp"
#include "controllers/evacuation/origin/spec_hash.hpp"
#include "controllers/policy/decide.hpp"
#include "controllers/webhooks/placement/hints.hpp"
#include "controllers/webhooks/placement/webhook.hpp"
#include "controllers/webhooks/validation/webhook.hpp"
#include "controllers/webhooks/webhook_server.hpp"
#include "evictors/registry.hpp"
#include "test/bench/web/kept_connection.hpp"

namespace {

using api::Json;
using controllers::placement::Hints;

constexpr int kClients = 4;
constexpr int kOwners = 200;
constexpr int kPods = 30'000;
constexpr int kReviews = 2'000;

/// Hints of many owners and many pods, as the caches provide them.
struct World {
  World() {
    controllers::placement::add_placement_indexes(evacuations, pods);
    for (int i = 0; i < kOwners; ++i) {
      api::Evacuation each;
      each.meta.ns = "shop";
      each.meta.name = "e" + std::to_string(i);
      each.meta.uid = "uid-" + std::to_string(i);
      each.spec.placement = api::PlacementHint{{"node-b"}, api::PlacementPolicy::kPreferred, base::seconds(3600)};
      each.status.phase = api::EvacuationPhase::kEvicting;
      each.status.started_at = clock.now();
      each.status.pod_owner = api::OwnerReference{"apps/v1", "ReplicaSet", "web", "rs-" + std::to_string(i), true};
      each.status.spec_hash = controllers::spec_hash(each.spec);
      evacuations.put(std::make_shared<const api::Evacuation>(std::move(each)));
    }
    for (int i = 0; i < kPods; ++i) {
      api::Pod pod;
      pod.meta.ns = "shop";
      pod.meta.name = "p" + std::to_string(i);
      pods.put(std::make_shared<const api::Pod>(std::move(pod)));
    }
  }

  base::SystemClock clock;
  kube::Store<api::Evacuation> evacuations;
  kube::Store<api::Pod> pods;
  kube::Store<api::Node> nodes;
  Hints hints{evacuations, pods, nodes, clock, clock};
  base::Metrics metrics;
  controllers::placement::Webhook webhook{hints, {"kube-system"}, metrics, {}};
};

/// Returns a review of about 8 KiB, a typical size, or one of the maximum size that the server accepts.
std::string review(int number, bool is_hostile) {
  Json env = Json::array();
  const int variables = is_hostile ? 4'500 : 80;
  for (int i = 0; i < variables; ++i)
    env.push_back({{"name", "VARIABLE_" + std::to_string(i)}, {"value", std::string(40, 'x')}});
  const Json pod = {{"apiVersion", "v1"},
                    {"kind", "Pod"},
                    {"metadata",
                     {{"generateName", "web-"},
                      {"namespace", "shop"},
                      {"labels", {{"app", "web"}}},
                      {"ownerReferences", Json::array({{{"apiVersion", "apps/v1"},
                                                        {"kind", "ReplicaSet"},
                                                        {"name", "web"},
                                                        {"uid", "rs-" + std::to_string(number % kOwners)},
                                                        {"controller", true}}})}}},
                    {"spec", {{"containers", Json::array({{{"name", "c"}, {"image", "i"}, {"env", env}}})}}}};
  return Json({{"apiVersion", "admission.k8s.io/v1"},
               {"kind", "AdmissionReview"},
               {"request",
                {{"uid", "r" + std::to_string(number)},
                 {"operation", "CREATE"},
                 {"namespace", "shop"},
                 {"resource", {{"group", ""}, {"version", "v1"}, {"resource", "pods"}}},
                 {"object", pod}}}})
      .dump();
}

struct Load {
  int per_second;
  bool is_hostile;  ///< whether every twentieth pod is enormous
};

/// Returns the body of review number n. The second argument requests an enormous one.
using ReviewOf = std::function<std::string(int, bool)>;

/// Returns the milliseconds of each ordinary review, sent by several connections at a constant rate.
std::vector<double> played(std::uint16_t port, const std::string& ca, const Load& load, std::string_view path,
                           const ReviewOf& review_of = review) {
  std::vector<std::vector<double>> times(kClients);
  std::vector<std::jthread> clients;
  const auto pause = std::chrono::microseconds(1'000'000 * kClients / load.per_second);
  for (int client = 0; client < kClients; ++client) {
    clients.emplace_back([&, client] {
      bench::KeptConnection connection(port, ca);
      auto due = std::chrono::steady_clock::now();
      for (int i = client; i < kReviews; i += kClients) {
        const bool is_huge = load.is_hostile && i % 20 == 0;
        const std::string body = review_of(i, is_huge);
        due += pause;
        std::this_thread::sleep_until(due);
        const auto answer = connection.post(path, body);
        if (!is_huge && i >= kClients) times[static_cast<std::size_t>(client)].push_back(answer.took.count());
      }
    });
  }
  clients.clear();
  std::vector<double> all;
  for (const auto& each : times) all.insert(all.end(), each.begin(), each.end());
  return all;
}

/// The placement webhook over TLS. Arguments: reviews per second; 1 if every twentieth pod has almost 1 MiB. The
/// baseline sends the same bodies at the same rate to a path that is not served.
void BM_PlacementWebhook(benchmark::State& state) {
  const Load load{static_cast<int>(state.range(0)), state.range(1) == 1};
  World world;
  controllers::WebhookServer server("127.0.0.1:0", {"127.0.0.1"},
                                    {{"/place-pod", [&](std::string_view body) { return world.webhook.answer(body); }}},
                                    {});
  if (!server.start(world.clock.now())) return state.SkipWithError("the server does not start");
  const auto identity = http_server::make_server_identity({"127.0.0.1"}, world.clock.now());
  if (!server.serve(*identity)) return state.SkipWithError("the certificate does not serve");
  for (auto _ : state) {
    const auto times = played(server.port(), identity->ca, load, "/place-pod");
    const auto baseline = played(server.port(), identity->ca, load, "/nobody");
    state.counters["p50_ms"] = bench::percentile(times, 0.5);
    state.counters["p99_ms"] = bench::percentile(times, 0.99);
    state.counters["max_ms"] = bench::percentile(times, 1);
    state.counters["p99_nobody_ms"] = bench::percentile(baseline, 0.99);
  }
}
BENCHMARK(BM_PlacementWebhook)->Args({200, 0})->Args({200, 1})->Iterations(1)->Unit(benchmark::kSecond)->UseRealTime();

/// Returns a review of an Evacuator object: a policy with two strategies and their args, or an Evacuation.
std::string object_review(const Json& object, const char* resource, int number) {
  return Json({{"apiVersion", "admission.k8s.io/v1"},
               {"kind", "AdmissionReview"},
               {"request",
                {{"uid", "r" + std::to_string(number)},
                 {"operation", "CREATE"},
                 {"namespace", object["metadata"].value("namespace", "")},
                 {"resource", {{"group", "evacuator.dev"}, {"version", "v1alpha1"}, {"resource", resource}}},
                 {"userInfo", {{"username", "alice"}, {"uid", "u"}, {"groups", {"system:authenticated"}}}},
                 {"object", object}}}})
      .dump();
}

Json policy_object(int number) {
  const Json low = {{"name", "LowNodeUtilization"},
                    {"args",
                     {{"thresholds", {{"cpu", 20}, {"memory", 20}, {"pods", 20}}},
                      {"targetThresholds", {{"cpu", 60}, {"memory", 60}, {"pods", 60}}}}}};
  const Json old = {{"name", "PodLifeTime"}, {"args", {{"maxPodLifeTimeSeconds", 86400}}}};
  return {
      {"apiVersion", "evacuator.dev/v1alpha1"},
      {"kind", "DeschedulerPolicy"},
      {"metadata", {{"name", "p" + std::to_string(number)}, {"uid", "uid-" + std::to_string(number)}}},
      {"spec", {{"mode", "Automatic"}, {"schedule", {{"interval", "5m"}}}, {"strategies", Json::array({low, old})}}}};
}

Json evacuation_object(int number) {
  return {{"apiVersion", "evacuator.dev/v1alpha1"},
          {"kind", "Evacuation"},
          {"metadata", {{"name", "e" + std::to_string(number)}, {"namespace", "shop"}}},
          {"spec", {{"podRef", {{"name", "web-1"}, {"uid", "pod-uid"}}}, {"reason", "maintenance"}}}};
}

/// The admission webhook over TLS with 200 policies. Arguments: reviews per second; 0: /validate of a policy, 1:
/// /validate of an Evacuation, 2: /record-creator of an Evacuation. The baseline is the one of BM_PlacementWebhook.
void BM_AdmissionWebhook(benchmark::State& state) {
  const Load load{static_cast<int>(state.range(0)), false};
  const bool is_policy = state.range(1) == 0;
  const base::SystemClock clock;
  base::Metrics metrics;
  const auto registry = evictors::EvictorRegistry::builtin();
  std::vector<std::shared_ptr<const api::DeschedulerPolicy>> policies;
  for (int i = 0; i < 200; ++i) {
    auto decoded = controllers::decode_observed_policy(policy_object(100'000 + i).dump());
    if (!decoded) return state.SkipWithError("a policy cannot be read");
    policies.push_back(std::make_shared<const controllers::ObservedPolicy>(*std::move(decoded)));
  }
  controllers::validation::Webhook webhook({.registry = registry,
                                            .keys = controllers::process_keys(),
                                            .clock = clock,
                                            .look =
                                                [&] {
                                                  controllers::validation::InputIndex around;
                                                  around.policies = policies;
                                                  return around;
                                                },
                                            .metrics = metrics,
                                            .log = {}});
  const std::string path = state.range(1) == 2 ? "/record-creator" : "/validate";
  controllers::WebhookServer server("127.0.0.1:0", {"127.0.0.1"},
                                    {{path,
                                      [&](std::string_view body) {
                                        return path == "/validate" ? webhook.validate(body)
                                                                   : webhook.record_creator(body);
                                      }}},
                                    {});
  if (!server.start(clock.now())) return state.SkipWithError("the server does not start");
  const auto identity = http_server::make_server_identity({"127.0.0.1"}, clock.now());
  if (!server.serve(*identity)) return state.SkipWithError("the certificate is not taken");
  const ReviewOf body = [&](int number, bool) {
    return is_policy ? object_review(policy_object(number), "deschedulerpolicies", number)
                     : object_review(evacuation_object(number), "evacuations", number);
  };
  for (auto _ : state) {
    const auto times = played(server.port(), identity->ca, load, path, body);
    const auto baseline = played(server.port(), identity->ca, load, "/nobody", body);
    state.counters["p50_ms"] = bench::percentile(times, 0.5);
    state.counters["p99_ms"] = bench::percentile(times, 0.99);
    state.counters["max_ms"] = bench::percentile(times, 1);
    state.counters["p99_nobody_ms"] = bench::percentile(baseline, 0.99);
  }
}
BENCHMARK(BM_AdmissionWebhook)
    ->Args({200, 0})
    ->Args({200, 1})
    ->Args({200, 2})
    ->Iterations(1)
    ->Unit(benchmark::kSecond)
    ->UseRealTime();

}  // namespace
