#include "simulator/cluster.hpp"

#include <algorithm>
#include <exception>
#include <utility>

#include <nlohmann/json.hpp>

#include "api/json/json_access.hpp"
#include "simulator/objects.hpp"
#include "simulator/operators/background_protocol.hpp"
#include "simulator/operators/handoff_script.hpp"
#include "simulator/scheduler/scheduler.hpp"

namespace simulator {
namespace {

constexpr int kMaxRounds = 10'000;
constexpr base::milliseconds kMaxSleep{100};  // also the maximum delay before a stop request is noticed

std::optional<HandoffScript> script_of(const std::string& text) {
  if (text.empty()) return std::nullopt;
  auto parsed = HandoffScript::parse(text);
  return parsed ? std::optional(*std::move(parsed)) : std::nullopt;
}

/// Returns the actors in the order in which changes propagate: controllers create pods, the scheduler binds them,
/// kubelets run them, budgets count them.
std::vector<std::unique_ptr<Actor>> controllers(Store& store, EventRecorder& events, const ClusterOptions& options) {
  std::vector<std::unique_ptr<Actor>> actors;
  actors.push_back(make_node_lifecycle(store, events));
  actors.push_back(make_deployment_controller(store, events));
  actors.push_back(make_replica_set_controller(store, events));
  actors.push_back(make_stateful_set_controller(store, events));
  actors.push_back(make_daemon_set_controller(store, events));
  actors.push_back(make_job_controller(store, events));
  if (options.scheduler) actors.push_back(make_scheduler(store, events, options.scoring));
  actors.push_back(make_volume_binder(store));
  actors.push_back(make_kubelet(store, events, options.kubelet));
  actors.push_back(make_handoff_operator(store, events, script_of(options.handoff_script)));
  actors.push_back(make_background_mover(store));
  actors.push_back(make_garbage_collector(store));
  actors.push_back(make_pod_garbage_collector(store));
  actors.push_back(make_namespace_controller(store));
  actors.push_back(make_disruption_controller(store, events));
  return actors;
}

}  // namespace

Cluster::Cluster(base::ManualClock& clock, ClusterOptions options)
    : Cluster(static_cast<const base::Clock&>(clock), std::move(options)) {
  manual_ = &clock;
}

Cluster::Cluster(const base::Clock& clock, ClusterOptions options)
    : clock_(clock),
      store_(clock, options.seed),
      events_(store_, options.events),
      actors_(controllers(store_, events_, options)) {
  create_namespaces();
}

Cluster::~Cluster() = default;

void Cluster::create_namespaces() {
  for (const char* ns : {"default", "kube-system"}) (void)add(objects::name_space(ns));
}

void Cluster::add_actor(std::unique_ptr<Actor> actor) { actors_.push_back(std::move(actor)); }

base::Result<Object> Cluster::add(api::Json object) {
  const auto type = resource_type_of(object);
  if (!type) {
    return base::invalid("the simulated cluster knows no kind \"" + api::text_at(object, {"kind"}) + "\" in \"" +
                         api::text_at(object, {"apiVersion"}) + "\"");
  }
  complete(store_, *type, object);
  return store_.create(*type, std::move(object));
}

bool Cluster::tick_all(base::TimePoint now) {
  bool changed = false;
  for (const auto& actor : actors_) {
    try {
      changed = actor->tick(now) || changed;
    } catch (const std::exception& error) {
      std::string failure = std::string(actor->name()) + ": " + error.what();
      if (std::ranges::find(failures_, failure) == failures_.end()) failures_.push_back(std::move(failure));
    }
  }
  return changed;
}

bool Cluster::run_until_quiet() {
  for (int round = 0; round < kMaxRounds; ++round) {
    if (!tick_all(clock_.now())) return true;
  }
  return false;
}

std::optional<base::TimePoint> Cluster::next_due() const {
  std::optional<base::TimePoint> next;
  for (const auto& actor : actors_) next = earliest(next, actor->next_due());
  return next;
}

bool Cluster::advance(base::Duration by) {
  run_until([] { return false; }, by);
  return run_until_quiet();
}

bool Cluster::run_until(const std::function<bool()>& condition, base::Duration limit) {
  const base::TimePoint end = clock_.now() + limit;
  while (run_until_quiet()) {
    if (condition()) return true;
    const auto next = next_due();
    if (!next || *next > end) break;
    // an actor that is due but idle must not stop virtual time
    manual_->set(std::max(*next, clock_.now() + base::milliseconds(1)));
  }
  if (clock_.now() < end) manual_->set(end);
  return run_until_quiet() && condition();
}

void Cluster::run(std::stop_token stop) {
  while (!stop.stop_requested()) {
    const std::uint64_t seen = store_.revision();
    (void)run_until_quiet();
    const auto next = next_due();
    base::Duration nap = kMaxSleep;
    if (next) nap = std::clamp<base::Duration>(*next - clock_.now(), base::milliseconds(1), kMaxSleep);
    (void)store_.wait_past(seen, std::chrono::ceil<base::milliseconds>(nap));
  }
}

}  // namespace simulator
