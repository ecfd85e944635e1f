#include "cmd/run/process.hpp"

#include <fmt/format.h>

#include <utility>

#include "base/sleep.hpp"
#include "cmd/output.hpp"
#include "cmd/run/threads.hpp"
#include "cmd/version/version.hpp"
#include "controllers/operator/audit_config.hpp"
#include "kube/runtime/discovery_watch.hpp"
#include "usage/sources/make_source.hpp"

namespace cmd {
namespace {

using base::kv;
using base::Status;
using controllers::Operator;
using controllers::webhooks::ServingState;

constexpr base::milliseconds kTick{200};

Status server_changed() {
  return base::unavailable("the API server serves other kinds than at startup; exiting, so that a restart uses them");
}

}  // namespace

Process::Process(controllers::OperatorConfig config, std::string identity, kube::Config cluster, base::Log log,
                 std::optional<OnceWatch> once)
    : once_(once),
      config_(std::move(config)),
      identity_(std::move(identity)),
      log_(std::move(log)),
      audit_(controllers::open_audit_log(config_.audit, identity_, clock_, metrics_, log_, &steady_)),
      api_(context_, std::move(cluster)) {}

Status Process::run(const Interrupted& interrupted) {
  auto services = controllers::HttpServices::create(config_.services, clock_);
  if (!services) return services.error();
  services_ = *std::move(services);
  warn_of_unusable_services();
  const std::jthread auditor(
      [this](std::stop_token stop) { audit_->run(std::move(stop)); });  // declared first so that it is joined last
  if (auto serving = serve(); !serving) return serving;
  if (auto connected = connect(interrupted); !connected) return connected;
  build();
  outlets_->start();
  std::jthread caches([this](std::stop_token stop) { operator_->run_caches(std::move(stop)); });
  std::jthread surroundings([this](std::stop_token stop) { watch_environment(std::move(stop)); });
  const Status ended = leadership_ ? lead(interrupted) : act_alone(interrupted);
  stop_and_join(surroundings);
  outlets_->stop_messages();
  shut_down(caches);
  return ended;
}

/// Warns about services without namespaces or uses, which deny every call. An older configuration lists neither after
/// an upgrade.
void Process::warn_of_unusable_services() const {
  for (const controllers::ServiceConfig& each : config_.services) {
    if (!each.namespaces.empty() && !each.uses.empty()) continue;
    log_.warning("the service cannot be called: it lists no namespaces or no uses", {kv("service", each.name)});
  }
}

/// Serves health and metrics before waiting for the API server, because a waiting process is alive.
Status Process::serve() {
  controllers::publish_build_info(metrics_, EVACUATOR_VERSION, build_commit());
  if (auto opened = api_.open([this] { return may_act(); }); !opened) return opened;
  servers_.emplace(
      context_, api_.client(),
      Servers::Handlers{.checks = {.alive = [this] { return alive(); }, .ready = [this] { return ready(); }},
                        .refresh_metrics =
                            [this] {
                              process_metrics_.refresh();
                              api_.publish();
                            },
                        .webhooks = webhooks()});
  return servers_->start();
}

std::map<std::string, controllers::WebhookServer::Answer> Process::webhooks() const {
  using Review = std::optional<std::string> (Operator::*)(std::string_view) const;
  const auto answer_by = [this](Review review) {
    return [this, review](std::string_view body) -> std::optional<std::string> {
      const auto* started = running_.load();  // nullptr until the operator is constructed
      return started ? (started->*review)(body) : std::nullopt;
    };
  };
  std::map<std::string, controllers::WebhookServer::Answer> answers;
  if (config_.webhook.enabled) answers.emplace("/place-pod", answer_by(&Operator::review_pod));
  if (!config_.webhook.admission.enabled) return answers;
  answers.emplace("/validate", answer_by(&Operator::validate_object));
  answers.emplace("/record-creator", answer_by(&Operator::record_creator));
  return answers;
}

Status Process::connect(const Interrupted& interrupted) {
  auto found = api_.connect(interrupted, [this] { return once_ && once_->is_out_of_time(steady_.now()); });
  if (!found) return found.error();
  discovery_ = *std::move(found);
  return base::Done{};
}

void Process::build() {
  outlets_.emplace(context_, api_.client());
  if (config_.leader_election.enabled) {
    leadership_.emplace(context_, api_.client(), outlets_->plain_events());
    deciding_leadership_ = &*leadership_;
  }
  keys_ = std::make_unique<controllers::SecretKeys>(
      api_.acting_client(), clock_,
      controllers::SecretKeyOptions{.ns = config_.leader_election.ns,
                                    .name = config_.signing.secret,
                                    .rotate_after = config_.signing.rotate_after},
      log_, &steady_);
  make_certificates();
  make_stand_aside();
  operator_ = std::make_unique<Operator>(operator_dependencies());
  running_ = operator_.get();
  audit_->sign_heads([this]() -> std::optional<crypto::Key> {
    const auto keys = keys_->keys();
    return keys ? std::optional(keys->current) : std::nullopt;
  });
}

void Process::make_certificates() {
  if (!servers_->serve_webhooks()) return;
  const controllers::OperatorConfig::Webhook& webhook = config_.webhook;
  certificates_ = std::make_unique<controllers::webhooks::Certificates>(
      api_.acting_client(), clock_, steady_,
      controllers::webhooks::CertificateOptions{
          .ns = config_.leader_election.ns,
          .secret = webhook.secret,
          .configuration = webhook.enabled ? webhook.configuration : "",
          .admission_configuration = webhook.admission.enabled ? webhook.admission.configuration : "",
          .rules = {.names = webhook_names(config_), .rotate_after = webhook.rotate_after},
          .cert_file = webhook.cert_file,
          .key_file = webhook.key_file},
      [this](const http_server::ServerIdentity& identity) { return servers_->serve_webhooks_as(identity); }, log_);
}

void Process::make_stand_aside() {
  const auto& admission = config_.webhook.admission;
  if (!admission.enabled) return;
  admission_failover_.emplace(api_.client(), steady_,
                              controllers::webhooks::StandAside::Options{.configuration = admission.configuration,
                                                                         .names = webhook_names(config_)},
                              log_);
}

ServingState Process::serving_state() const {
  if (leadership_ && leadership_->other_installation_active()) return ServingState::kStaysOut;
  return may_act() ? ServingState::kServes : ServingState::kUnknown;
}

Operator::Dependencies Process::operator_dependencies() {
  return {.client = api_.acting_client(),
          .clock = clock_,
          .discovery = discovery_,
          .config = config_,
          .identity = identity_,
          .may_act = [this] { return may_act(); },
          .events = outlets_->events(),
          .metrics = metrics_,
          .log = log_,
          .audit = *audit_,
          .services = services_.get(),
          .keys = *keys_,
          .steady = &steady_,
          .usage_sources =
              [this](const api::UsageSource& source) {
                return usage::make_source(
                    source,
                    {.api = &api_.client(), .clock = &clock_, .operator_namespace = config_.leader_election.ns});
              },
          .gates = controllers::http_gate_clients(
              {.api = &api_.client(), .clock = &steady_, .operator_namespace = config_.leader_election.ns}),
          .hints_in_force = [this] { return certificates_ && certificates_->in_force(); },
          .once = once_.has_value(),
          .spans = outlets_->spans()};
}

Status Process::alive() const {
  const auto* started = running_.load();
  return started ? started->alive() : Status(base::Done{});
}

Status Process::ready() const {
  if (const auto* leadership = deciding_leadership_.load()) {
    if (auto ours = leadership->installation_status(); !ours) return ours;
  }
  if (const auto* started = running_.load()) return started->ready();
  return base::unavailable(api_.waiting_for());
}

bool Process::may_act() const {
  if (!config_.leader_election.enabled) return true;
  const auto* leadership = deciding_leadership_.load();
  return leadership && leadership->may_act();
}

/// Watches for changes of the kinds that the API server serves, since versions are chosen at startup, and for renewed
/// certificates.
void Process::watch_environment(std::stop_token stop) {
  kube::DiscoveryWatch watch(api_.client(), steady_, discovery_, log_);
  for (int turn = 1; base::sleep_unless_stopped(base::seconds(1), stop); ++turn) {
    if (turn % 30 == 0) servers_->reload_certificate();
    if (certificates_) certificates_->refresh(may_act());
    if (admission_failover_) admission_failover_->refresh(serving_state());
    auto change = watch.step();
    if (!change) continue;
    log_.error("the API server serves other kinds than at startup", {kv("change", *change)});
    server_changed_ = true;
    return;
  }
}

std::jthread Process::begin_to_act() {
  leader_gauge().set(1);
  audit_->record(controllers::record_of_leadership(config_, true));
  return std::jthread([this](std::stop_token stop) { operator_->run_workers(std::move(stop)); });
}

Status Process::act_alone(const Interrupted& interrupted) {
  const std::jthread workers = begin_to_act();
  while (!server_changed_ && !interrupted.wait(kTick)) {
  }
  return server_changed_ ? server_changed() : Status(base::Done{});
}

/// Acts while this replica leads. The process exits once it stops leading, because a restart discards all cached state.
Status Process::lead(const Interrupted& interrupted) {
  leader_gauge().set(0);
  leadership_->start();
  std::jthread workers;
  bool owns_cluster = true;
  if (once_) once_->start_lease_timeout(steady_.now());
  while (owns_cluster && !leadership_->is_lost() && !server_changed_ && !interrupted.wait(kTick)) {
    if (once_ && is_over(workers.joinable())) break;
    if (workers.joinable()) {
      owns_cluster = leadership_->owns_cluster();
    } else if (leadership_->may_act()) {
      workers = begin_to_act();
    }
  }
  const bool was_lost = !owns_cluster || leadership_->is_lost();
  const bool was_leader = workers.joinable();
  leader_gauge().set(0);
  stop_and_join(workers);  // another replica may act only after all workers have stopped
  if (was_leader) audit_->record(controllers::record_of_leadership(config_, false));
  leadership_->end();  // releases the Lease
  if (was_lost)
    return base::unavailable(
        "lost the Lease or the installation Lease; exiting, so that a restart begins with a clean state");
  if (server_changed_) return server_changed();
  return once_ ? end_of_once(was_leader) : Status(base::Done{});
}

bool Process::is_over(bool leads) {
  if (leads) report_ = operator_->once_report();
  step_ = once_->look(steady_.now(), leads ? &report_ : nullptr);
  return step_ != OnceWatch::Step::kGoOn;
}

Status Process::end_of_once(bool was_leader) const {
  const auto& lease = config_.leader_election;
  if (!was_leader && !leadership_->owns_cluster())
    return leadership_->installation_status().error().during("nothing was done");
  const std::string holder = leadership_->holder();
  if (!was_leader)
    return base::unavailable(fmt::format("nothing was done: the Lease {}/{} is held by {}", lease.ns, lease.name,
                                         holder.empty() ? "an unresponsive holder" : holder));
  print_err("{}", controllers::to_text(report_));  // standard output may be the audit log
  return once_status(report_, step_, once_->timeout());
}

void Process::shut_down(std::jthread& caches) {
  log_.info("shutting down");
  servers_->stop();
  stop_and_join(caches);
  outlets_->stop_events();
  api_.shut_down();
  services_->shut_down();
  log_.flush();
}

}  // namespace cmd
