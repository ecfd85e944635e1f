#include "test/bench/bench_world.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "api/json/json_access.hpp"
#include "api/json/yaml.hpp"
#include "cmd/demo/embedded_crds.hpp"
#include "cmd/demo/validators.hpp"
#include "kube/config/config.hpp"
#include "simulator/behaviour.hpp"
#include "simulator/objects.hpp"

namespace bench {
namespace {

constexpr int kHandlers = 72;  // 32 delayed evictions and enough for all other requests

void check(const base::Status& status) {
  if (!status) throw std::runtime_error(status.error().message);
}

std::string node_name(int number) { return fmt::format("node-{:03}", number); }

simulator::ClusterOptions quick_cluster() {
  simulator::ClusterOptions options;
  options.kubelet = {.start = {}, .ready = {}, .stop = {}};
  options.events = false;
  options.scheduler = false;
  return options;
}

}  // namespace

void install_kinds(simulator::ApiServer& server) {
  for (const std::string_view yaml : cmd::embedded_crds()) {
    for (const api::Json& document : must(api::parse_yaml(yaml))) check(server.install_crd(document));
  }
  cmd::add_validators(server);
}

api::Json quick_pod(const std::string& name, int node, const std::string& handoff) {
  api::Json pod = simulator::objects::pod("default", name, "10m", "16Mi");
  pod["spec"]["nodeName"] = node_name(node);
  pod["spec"]["terminationGracePeriodSeconds"] = 1;
  api::Json annotations = {{std::string(simulator::behaviour::kStopSeconds), "0"}};
  if (!handoff.empty()) {
    annotations["handoff.evacuator.dev/mode"] = "required";
    annotations[std::string(simulator::behaviour::kHandoff)] = handoff;
  }
  pod["metadata"]["annotations"] = std::move(annotations);
  return pod;
}

api::Evacuation evacuation_of(const std::string& pod) {
  api::Evacuation evacuation;
  evacuation.meta.ns = "default";
  evacuation.meta.name = pod;
  evacuation.spec.pod_ref.name = pod;
  evacuation.spec.reason = "benchmark";
  return evacuation;
}

void await(const char* what, base::seconds limit, const std::function<bool()>& holds) {
  const auto give_up = std::chrono::steady_clock::now() + limit;
  while (!holds()) {
    if (std::chrono::steady_clock::now() > give_up)
      throw std::runtime_error(fmt::format("waited {} s in vain for {}", limit.count(), what));
    std::this_thread::sleep_for(base::milliseconds(20));
  }
}

World::World()
    : cluster_(clock_, quick_cluster()),
      server_(cluster_.store()),
      http_(server_, {.handler_threads = kHandlers}),
      transport_(server_, {}),
      admin_(transport_, nullptr) {
  install_kinds(server_);
  for (int i = 0; i < kNodes; ++i)
    (void)must(cluster_.add(simulator::objects::node(node_name(i), "64", "256Gi", {}, 1000)));
  check(http_.start());
  actors_ = std::jthread([this](std::stop_token stop) { cluster_.run(stop); });
}

World::~World() { http_.stop(); }

std::vector<std::string> World::add_pods(const std::string& prefix, int count, const std::string& handoff) {
  std::vector<std::string> names;
  for (int i = 0; i < count; ++i) {
    names.push_back(fmt::format("{}-{:05}", prefix, i));
    (void)must(admin_.create(kube::kPods, "default", quick_pod(names.back(), i % kNodes, handoff)));
  }
  await("the pods to run", base::seconds(120), [&] {
    const auto last = cluster_.store().get(kube::kPods, {"default", names.back()});
    return last && api::text_at(*last, {"status", "phase"}) == "Running";
  });
  return names;
}

void World::add_evacuation(const std::string& pod) {
  (void)must(admin_.create(kube::kEvacuations, "default", api::encode_evacuation(evacuation_of(pod))));
}

void World::delay_evictions(base::milliseconds delay) {
  simulator::FaultRule rule;
  rule.effect = simulator::FaultEffect::kDelay;
  rule.verb = "create";
  rule.resource = "pods";
  rule.subresource = "eviction";
  rule.delay = delay;
  server_.faults().set({rule});
}

std::int64_t World::evictions() { return server_.faults().rules().at(0).hits; }

std::size_t World::evacuations_in(const std::string& phase) {
  const auto all = cluster_.store().list(kube::kEvacuations);
  return static_cast<std::size_t>(std::ranges::count_if(all, [&](const auto& each) {
    return api::text_at(*each, {"status", "phase"}) == phase;
  }));
}

std::vector<std::pair<std::string, base::TimePoint>> World::calls(const std::string& resource,
                                                                  const std::string& subresource) {
  std::vector<std::pair<std::string, base::TimePoint>> found;
  std::set<std::string> known;
  for (const simulator::JournalEntry& entry : server_.journal().entries()) {
    const bool fits =
        entry.verb == "create" && entry.resource == resource && entry.subresource == subresource && entry.code == 201;
    if (fits && known.insert(entry.key.name).second) found.emplace_back(entry.key.name, entry.time);
  }
  return found;
}

std::string World::uid_of(const std::string& pod) {
  const auto object = cluster_.store().get(kube::kPods, {"default", pod});
  return object ? api::text_at(*object, {"metadata", "uid"}) : std::string();
}

kube::Config World::config() const { return must(kube::config_from_text(http_.kubeconfig(), "bench", "", clock_)); }

RunningOperator::RunningOperator(const kube::Config& cluster, controllers::OperatorConfig config)
    : limiter_(clock_, {.qps = config.qps, .burst = config.burst}),
      transport_(must(kube::HttpTransport::create(cluster))),
      client_(*transport_, &limiter_),
      events_(std::make_unique<kube::EventRecorder>(client_, clock_, kube::EventOptions{.instance = "bench"},
                                                    base::Log())) {
  operator_ = std::make_unique<controllers::Operator>(
      controllers::Operator::Dependencies{.client = client_,
                                          .clock = clock_,
                                          .discovery = must(kube::discover(client_)),
                                          .config = config,
                                          .identity = "bench",
                                          .may_act = [] { return true; },
                                          .events = *events_,
                                          .metrics = metrics_,
                                          .log = {}});
}

RunningOperator::~RunningOperator() {
  for (std::jthread* thread : {&workers_, &caches_, &recorder_}) {
    thread->request_stop();
    if (thread->joinable()) thread->join();
  }
  limiter_.shut_down();
  transport_->shut_down();
}

void RunningOperator::fill_caches() {
  recorder_ = std::jthread([this](std::stop_token stop) { events_->run(stop); });
  caches_ = std::jthread([this](std::stop_token stop) { operator_->run_caches(stop); });
  await("the caches", base::seconds(60), [this] { return operator_->has_synced(); });
}

void RunningOperator::start_workers() {
  workers_ = std::jthread([this](std::stop_token stop) { operator_->run_workers(stop); });
}

double RunningOperator::reconciles() const {
  constexpr std::string_view kSeries = "evacuator_reconciles_total{queue=\"evacuations\",result=\"succeeded\"} ";
  const std::string text = metrics_.render();
  const std::size_t at = text.find(kSeries);
  return at == std::string::npos ? 0 : std::stod(text.substr(at + kSeries.size()));
}

void RunningOperator::await_rest() {
  double seen = -1;
  auto since = std::chrono::steady_clock::now();
  await("the operator to rest", base::seconds(300), [&] {
    const double now = reconciles();
    if (now != seen) since = std::chrono::steady_clock::now();
    seen = now;
    return std::chrono::steady_clock::now() - since > base::seconds(3);  // published once per second
  });
}

}  // namespace bench
