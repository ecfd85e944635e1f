#include "test/soak/world/world.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "api/evacuation.hpp"

namespace soak {
namespace {

const base::TimePoint kNoon = *base::parse_time("2026-11-21T12:00:00Z");
constexpr int kDisturbances = 70;
/// Exceeds the sum of all deadlines of a run's Evacuations over all attempts.
constexpr base::Duration kPatience = std::chrono::hours(72);
/// Maximum time after a fault until every watch is open again.
constexpr base::minutes kHealing{20};
/// Maximum number of rounds at one instant. More rounds indicate an endless loop.
constexpr int kMaxRounds = 3000;
constexpr int kMaxCalls = 20'000;

}  // namespace

World::World(std::uint64_t seed, std::function<void(const std::string&)> tell)
    : dice_(seed), tell_(std::move(tell)), clock_(kNoon) {
  cluster_ = std::make_unique<simulator::Cluster>(clock_, simulator::ClusterOptions{.seed = seed});
  // Field managers are not needed, since nothing uses server-side apply.
  simulator::ApiServerOptions options{.seed = seed, .track_fields = false};
  options.call_webhook = [this](const simulator::WebhookCall& call) { return answer_webhook(call); };
  server_ = std::make_unique<simulator::ApiServer>(cluster_->store(), std::move(options));
  // Most servers support both. Derived from the seed itself, so that the random sequence does not change.
  server_->abilities().protobuf = seed % 5 != 0;
  server_->abilities().streamed_lists = seed % 3 != 0;
  invariants_ = std::make_unique<Invariants>(*server_);
  mover_ = std::make_unique<Mover>(clock_);
  gate_ = std::make_unique<Gate>(clock_);
  invariants_->policies().ask_gates_with([this](const std::string& policy) {
    return replicas_.empty() ? std::nullopt : gate_->held_since(replicas_.back()->identity(), policy);
  });
  mover_->before_each_call = [this](const kube::Request& request) {
    invariants_->check();
    invariants_->calls().before_service(request);
  };
  furnish();
}

World::~World() = default;

std::vector<std::string> World::run() {
  start_replica();
  for (int i = 0; i < kDisturbances && invariants_->violations().empty(); ++i) {
    disturb();
    advance(base::milliseconds(dice_.between(0, dice_.one_in(10) ? 900'000 : 60'000)));
  }
  calm();
  const base::TimePoint end = clock_.now() + kPatience;
  while (!at_rest() && clock_.now() < end && invariants_->violations().empty()) advance(base::minutes(10));
  // Turns of EvictionRequests and taints end after the Evacuations.
  if (invariants_->violations().empty()) advance(base::minutes(30));
  // after a violation the run was aborted in the middle
  if (invariants_->violations().empty()) invariants_->check_end();
  std::vector<std::string> all = invariants_->violations();
  for (const std::string& failure : cluster_->failures()) all.push_back("simulator: " + failure);
  return all;
}

void World::tell(const std::string& line) const {
  if (tell_) tell_(base::format_micro_time(clock_.now()) + " " + line);
}

bool World::at_rest() const {
  return std::ranges::all_of(cluster_->store().list(kube::kEvacuations), [](const auto& object) {
    const auto evacuation = api::decode_evacuation(*object);
    return evacuation && api::is_terminal(evacuation->status.phase) && evacuation->meta.finalizers.empty();
  });
}

void World::start_replica() {
  for (auto& other : replicas_) other->leads = false;
  invariants_->calls().leader_changed();
  if (replicas_.size() > 1) replicas_.erase(replicas_.begin());
  const std::string identity = fmt::format("replica-{}", ++started_);
  const Neighbours neighbours{*mover_, gate_->clients_of(identity), native_served_, places_pods_, allows_required_};
  replicas_.push_back(std::make_unique<Replica>(*server_, clock_, identity, neighbours));
  replicas_.back()->transport.before_each_call = [this,
                                                  replica = replicas_.back().get()](const kube::Request& request) {
    count_call(*replica);
    invariants_->check();
    invariants_->calls().before(request);
    invariants_->policies().before(request);
  };
  replicas_.back()->transport.after_each_call = [this] {
    invariants_->calls().after();
    invariants_->policies().after();
  };
  restart_at_.reset();
  tell(identity + " starts");
}

/// Ends a replica that makes too many calls at one instant, because virtual time would never advance.
void World::count_call(Replica& replica) {
  if (std::exchange(called_at_, clock_.now()) != clock_.now()) calls_now_ = 0;
  if (++calls_now_ < kMaxCalls) return;
  invariants_->violated("the operator goes in circles at " + base::format_time(clock_.now()));
  replica.transport.die();
}

void World::bury_the_dead() {
  const bool had_leader = std::ranges::any_of(replicas_, [](const auto& each) { return each->leads; });
  std::erase_if(replicas_, [](const auto& each) { return each->transport.dead(); });
  const bool has_leader = std::ranges::any_of(replicas_, [](const auto& each) { return each->leads; });
  if (had_leader && !has_leader && !restart_at_) {
    // The successor starts at least one second after the leader's crash, so that no answer to the leader is still in
    // flight.
    restart_at_ = clock_.now() + base::seconds(dice_.one_in(4) ? dice_.between(60, 1200) : dice_.between(1, 30));
    tell("the leader is dead");
  }
  if (!has_leader && restart_at_ && clock_.now() >= *restart_at_) start_replica();
}

bool World::step_everybody() {
  bool busy = !cluster_->run_until_quiet();
  invariants_->look_at_pods(is_told_all() && placer_.follows());
  invariants_->policies().before_step(is_told_all());
  for (auto& replica : replicas_) busy |= replica->step();
  bury_the_dead();
  invariants_->check();
  return busy;
}

bool World::is_told_all() const {
  return server_->faults().rules().empty() && (!recovered_at_ || clock_.now() - *recovered_at_ > kHealing);
}

/// The API server calls the webhook while the cluster works, never within a call of the operator.
base::Result<std::string> World::answer_webhook(const simulator::WebhookCall& call) {
  if (replicas_.empty() || replicas_.back()->transport.dead()) return base::unavailable("connection refused");
  Replica& asked = *replicas_.back();
  return placer_.answer(
      call.body, [&] { asked.follow(); }, [&](auto review) { return asked.review_pod(review); });
}

void World::settle() {
  for (int i = 0; i < kMaxRounds; ++i) {
    if (!step_everybody()) return;
  }
  throw std::runtime_error("somebody goes in circles at " + base::format_time(clock_.now()));
}

void World::advance(base::Duration by) {
  const base::TimePoint end = clock_.now() + by;
  for (;;) {
    settle();
    if (clock_.now() >= end || !invariants_->violations().empty()) return;
    base::TimePoint next = std::min(end, clock_.now() + base::seconds(30));
    const auto consider = [&](const std::optional<base::TimePoint>& due) {
      if (due && *due > clock_.now()) next = std::min(next, *due);
    };
    for (const auto& replica : replicas_) consider(replica->next_due());
    consider(cluster_->next_due());
    consider(restart_at_);
    cluster_->advance(next - clock_.now());
  }
}

void World::add(api::Json object) {
  const auto added = cluster_->add(std::move(object));
  if (!added) throw std::runtime_error(added.error().message);
}

std::optional<api::ObjectKey> World::any(const kube::ResourceType& type, const std::string& ns) {
  const auto all = cluster_->store().list(type, ns);
  if (all.empty()) return std::nullopt;
  const api::Json& meta = (*all[dice_.below(all.size())])["metadata"];
  return api::ObjectKey{meta.value("namespace", ""), meta.value("name", "")};
}

void World::as_user(const kube::Request& request) { (void)server_->handle(request, {"alice", {}, "kubectl"}); }

void World::edit(const kube::ResourceType& type, const api::ObjectKey& key,
                 const std::function<void(api::Json&)>& change) {
  (void)cluster_->store().mutate(type, key, simulator::Part::kAll, [&](api::Json& object) -> base::Status {
    change(object);
    return base::Done{};
  });
}

}  // namespace soak
