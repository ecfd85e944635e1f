#include <fmt/format.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <fstream>
#include <mutex>
#include <random>
#include <thread>

#include "base/backoff.hpp"
#include "base/metrics.hpp"
#include "base/sleep.hpp"
#include "base/steady_clock.hpp"
#include "cmd/commands.hpp"
#include "cmd/input/files.hpp"
#include "cmd/once/watch.hpp"
#include "cmd/output.hpp"
#include "cmd/signals.hpp"
#include "cmd/version/version.hpp"
#include "controllers/config/audit_config.hpp"
#include "controllers/config/operator_config.hpp"
#include "controllers/http_services.hpp"
#include "controllers/memory.hpp"
#include "controllers/notifications/http_post.hpp"
#include "controllers/notifications/notifier.hpp"
#include "controllers/operator.hpp"
#include "controllers/ops/access_reviews.hpp"
#include "controllers/ops/cluster_claim.hpp"
#include "controllers/ops/health_server.hpp"
#include "controllers/ops/metered_transport.hpp"
#include "controllers/ops/metrics_server.hpp"
#include "controllers/ops/process_metrics.hpp"
#include "controllers/ops/webhook_server.hpp"
#include "controllers/signing/keys.hpp"
#include "controllers/tracing/exporter.hpp"
#include "controllers/tracing/otlp_post.hpp"
#include "controllers/webhooks/certificates.hpp"
#include "kube/client.hpp"
#include "kube/config/config.hpp"
#include "kube/config/process_environment.hpp"
#include "kube/http/transport.hpp"
#include "kube/rate_limiter.hpp"
#include "kube/runtime/discovery_watch.hpp"
#include "kube/runtime/events.hpp"
#include "kube/runtime/leader_election.hpp"
#include "usage/sources/make_source.hpp"

namespace cmd {
namespace {

using base::kv;
using base::Status;
using controllers::OperatorConfig;

constexpr const char* kServiceAccountNamespace = "/var/run/secrets/kubernetes.io/serviceaccount/namespace";

Status read_duration(const std::optional<std::string>& flag, const char* name, base::Duration& target) {
  if (!flag) return base::Done{};
  const auto duration = base::parse_duration(*flag);
  if (!duration || *duration <= base::Duration::zero()) {
    return base::invalid(fmt::format("{}: \"{}\" is no duration such as 15s", name, *flag));
  }
  target = *duration;
  return base::Done{};
}

Status apply_log_flags(const RunOptions& options, OperatorConfig& config) {
  if (options.log_level) {
    const auto level = controllers::parse_log_level(*options.log_level);
    if (!level) return base::invalid("--log-level: must be debug, info, warning or error");
    config.log_level = *level;
  }
  if (options.log_format) {
    const auto format = controllers::parse_log_format(*options.log_format);
    if (!format) return base::invalid("--log-format: must be text or json");
    config.log_format = *format;
  }
  return base::Done{};
}

Status apply_election_flags(const RunOptions& options, OperatorConfig& config) {
  auto& election = config.leader_election;
  if (options.leader_elect) election.enabled = *options.leader_elect;
  if (!options.ns.empty()) election.ns = options.ns;
  if (auto read = read_duration(options.lease_duration, "--lease-duration", election.lease_duration); !read)
    return read;
  if (auto read = read_duration(options.renew_deadline, "--renew-deadline", election.renew_deadline); !read)
    return read;
  if (auto read = read_duration(options.retry_period, "--retry-period", election.retry_period); !read) return read;
  if (election.ns.empty()) std::getline(std::ifstream(kServiceAccountNamespace), election.ns);
  if (election.ns.empty()) election.ns = "evacuator-system";
  return base::Done{};
}

/// The configuration file with the flags over it. `file_text` gets what the file said.
base::Result<OperatorConfig> load_operator_config(const RunOptions& options, std::string& file_text) {
  OperatorConfig config;
  if (!options.config_file.empty()) {
    auto text = read_file(options.config_file, std::size_t{1} << 20);
    if (!text) return text.error();
    file_text = *std::move(text);
    auto parsed = controllers::parse_operator_config(file_text);
    if (!parsed) return parsed.error().during(options.config_file);
    config = *std::move(parsed);
  }
  if (auto applied = apply_log_flags(options, config); !applied) return applied.error();
  if (auto applied = apply_election_flags(options, config); !applied) return applied.error();
  if (options.health_address) config.server.health_address = *options.health_address;
  if (options.metrics_address) config.server.metrics_address = *options.metrics_address;
  if (options.qps) config.qps = *options.qps;
  if (options.burst) config.burst = *options.burst;
  if (options.workers) config.workers = *options.workers;
  if (const auto errors = controllers::validate(config); !errors.empty()) return api::to_error(errors);
  return config;
}

/// nullopt: not --once.
base::Result<std::optional<OnceWatch>> read_once(const RunOptions& options, const OperatorConfig& config) {
  base::Duration timeout = std::chrono::hours(1);
  if (auto read = read_duration(options.once_timeout, "--once-timeout", timeout); !read) return read.error();
  if (!options.once) {
    if (options.once_timeout) return base::invalid("--once-timeout: only with --once");
    return std::optional<OnceWatch>();
  }
  const auto& election = config.leader_election;
  if (!election.enabled)
    return base::invalid(
        "--once needs the Lease: leaderElection.enabled must be true, or it might act beside a leader");
  const OnceWatch::Limits limits{.timeout = timeout,
                                 .patience = election.lease_duration + 2 * election.retry_period + base::seconds(2),
                                 .quiet = base::seconds(1),
                                 .tidying = base::seconds(15)};
  return std::optional<OnceWatch>(std::in_place, limits, base::SteadyClock().now());
}

std::string identity_of(const RunOptions& options) {
  if (!options.identity.empty()) return options.identity;
  char host[256] = "evacuator";
  gethostname(host, sizeof host - 1);
  return fmt::format("{}_{:08x}", host, std::random_device()());
}

/// The operator's process: everything in the order of dependency, taken down in the opposite one.
class Process {
 public:
  /// `once`: as long as that says; nullopt: until somebody stops it.
  Process(OperatorConfig config, std::string identity, kube::Config cluster, base::Log log,
          std::optional<OnceWatch> once)
      : once_(once),
        config_(std::move(config)),
        identity_(std::move(identity)),
        cluster_(std::move(cluster)),
        log_(std::move(log)),
        audit_(controllers::open_audit_log(config_.audit, identity_, clock_, metrics_, log_, &steady_)),
        limiter_(steady_, {.qps = config_.qps, .burst = config_.burst}) {}

  audit::Recorder& audit() { return *audit_; }

  Status run(const Interrupted& interrupted) {
    auto services = controllers::HttpServices::create(config_.services, clock_);
    if (!services) return services.error();
    services_ = *std::move(services);
    warn_of_idle_services();
    const std::jthread auditor([this](std::stop_token stop) { audit_->run(stop); });  // joined last
    if (auto serving = serve(); !serving) return serving;
    if (auto connected = connect(interrupted); !connected) return connected;
    build();
    std::jthread recorder([this](std::stop_token stop) { events_->run(stop); });
    std::jthread messenger;
    if (notifier_) messenger = std::jthread([this](std::stop_token stop) { notifier_->run(stop); });
    std::jthread tracer;
    if (exporter_) tracer = std::jthread([this](std::stop_token stop) { exporter_->run(stop); });
    std::jthread caches([this](std::stop_token stop) { operator_->run_caches(stop); });
    std::jthread surroundings([this](std::stop_token stop) { watch_surroundings(stop); });
    const Status ended = config_.leader_election.enabled ? lead(interrupted) : work_until(interrupted);
    join(surroundings);
    join(messenger);
    join(tracer);
    shut_down(caches, recorder);
    return ended;
  }

 private:
  static constexpr base::milliseconds kTick{200};
  static constexpr base::Backoff kReconnect{base::milliseconds(500), base::seconds(10)};

  /// What a service does not list is denied: after an upgrade an older configuration lists nothing.
  void warn_of_idle_services() const {
    for (const controllers::ServiceConfig& each : config_.services) {
      if (!each.namespaces.empty() && !each.uses.empty()) continue;
      log_.warning("nobody may call this service: it lists no namespaces or no uses", {kv("service", each.name)});
    }
  }

  /// Health and metrics, before anything is waited for: a process that waits for its API server is alive.
  Status serve() {
    controllers::publish_build_info(metrics_, EVACUATOR_VERSION, build_commit());
    auto transport = kube::HttpTransport::create(cluster_);
    if (!transport) return transport.error();
    transport_ = *std::move(transport);
    metered_.emplace(*transport_, metrics_, steady_, clock_);
    client_.emplace(*metered_, &limiter_);
    acting_client_.emplace(*metered_, &limiter_, [this] { return may_act(); });
    reviews_.emplace(*client_, steady_, log_);
    health_.emplace(config_.server.health_address,
                    controllers::HealthChecks{.alive = [this] { return alive(); }, .ready = [this] { return ready(); }},
                    log_);
    metrics_server_.emplace(
        controllers::MetricsServerOptions{.address = config_.server.metrics_address,
                                          .cert_file = config_.server.cert_file,
                                          .key_file = config_.server.key_file,
                                          .names = metrics_names(),
                                          .refresh = [this] { refresh_metrics(); }},
        metrics_,
        [this](const std::string& token, const std::string& peer) {
          return reviews_->may_get("/metrics", token, peer);
        },
        clock_, log_);
    if (auto serving = health_->start(); !serving) return serving.error().during("serving health");
    if (auto serving = metrics_server_->start(); !serving) return serving.error().during("serving metrics");
    if (auto serving = serve_webhook(); !serving) return serving.error().during("serving the webhook");
    log_.info("serving", {kv("healthPort", static_cast<int>(health_->port())),
                          kv("metricsPort", static_cast<int>(metrics_server_->port())),
                          kv("metrics", metrics_server_->is_plain() ? "plain, loopback only" : "HTTPS")});
    return base::Done{};
  }

  Status serve_webhook() {
    if (!config_.webhook.is_served()) return base::Done{};
    webhook_server_.emplace(config_.webhook.address, webhook_names(), webhooks(), log_);
    if (auto serving = webhook_server_->start(clock_.now()); !serving) return serving;
    log_.info("serving the webhook", {kv("port", static_cast<int>(webhook_server_->port()))});
    return base::Done{};
  }

  using Review = std::optional<std::string> (controllers::Operator::*)(std::string_view) const;
  /// No answer before there is an operator.
  controllers::WebhookServer::Answer answer_by(Review review) const {
    return [this, review](std::string_view body) -> std::optional<std::string> {
      const auto* started = running_.load();
      return started ? (started->*review)(body) : std::nullopt;
    };
  }

  std::map<std::string, controllers::WebhookServer::Answer> webhooks() const {
    std::map<std::string, controllers::WebhookServer::Answer> answers;
    if (config_.webhook.enabled) answers.emplace("/place-pod", answer_by(&controllers::Operator::review_pod));
    if (!config_.webhook.admission.enabled) return answers;
    answers.emplace("/validate", answer_by(&controllers::Operator::validate_object));
    answers.emplace("/record-creator", answer_by(&controllers::Operator::record_creator));
    return answers;
  }

  /// The Services of config/placement-webhook and config/admission-webhook, and this machine.
  std::vector<std::string> webhook_names() const {
    std::vector<std::string> names;
    const auto add = [&](const std::string& service) {
      const std::string name = service + "." + config_.leader_election.ns + ".svc";
      names.insert(names.end(), {name, name + ".cluster.local"});
    };
    if (config_.webhook.enabled) add(config_.webhook.service);
    if (config_.webhook.admission.enabled) add(config_.webhook.admission.service);
    names.insert(names.end(), {"localhost", "127.0.0.1"});
    return names;
  }

  void make_certificates() {
    if (!webhook_server_) return;
    const OperatorConfig::Webhook& webhook = config_.webhook;
    certificates_ = std::make_unique<controllers::webhooks::Certificates>(
        *acting_client_, clock_, steady_,
        controllers::webhooks::CertificateOptions{
            .ns = config_.leader_election.ns,
            .secret = webhook.secret,
            .configuration = webhook.enabled ? webhook.configuration : "",
            .admission_configuration = webhook.admission.enabled ? webhook.admission.configuration : "",
            .rules = {.names = webhook_names(), .rotate_after = webhook.rotate_after},
            .cert_file = webhook.cert_file,
            .key_file = webhook.key_file},
        [this](const serving::ServerIdentity& identity) { return webhook_server_->serve(identity); }, log_);
  }

  /// What nobody tells the metrics when it changes.
  void refresh_metrics() {
    process_metrics_.refresh();
    const kube::RateLimiter::Stats stats = limiter_.stats();
    metrics_.gauge("evacuator_client_waiting", "Requests that wait for their turn by client.qps.")
        .set(static_cast<double>(stats.waiting));
    metrics_.gauge("evacuator_client_in_flight", "Requests that were sent and not answered yet.")
        .set(static_cast<double>(stats.in_flight));
    const double waited = std::chrono::duration<double>(stats.waited).count();
    metrics_.counter("evacuator_client_wait_seconds_total", "How long requests waited for their turn by client.qps.")
        .increment(std::max(0.0, waited - std::exchange(told_wait_, waited)));
  }

  /// The Service of config/manager, and this machine.
  std::vector<std::string> metrics_names() const {
    const std::string service = "evacuator-metrics." + config_.leader_election.ns + ".svc";
    return {service, service + ".cluster.local", "localhost", "127.0.0.1"};
  }

  Status alive() const {
    const auto* started = running_.load();
    return started ? started->alive() : Status(base::Done{});
  }
  Status ready() const {
    if (const auto* claim = claiming_.load()) {
      if (auto ours = claim->ready(); !ours) return ours;
    }
    if (const auto* started = running_.load()) return started->ready();
    const std::scoped_lock lock(waiting_mutex_);
    return base::unavailable(waiting_for_);
  }
  void wait_for(std::string what) {
    const std::scoped_lock lock(waiting_mutex_);
    waiting_for_ = std::move(what);
  }

  /// Waits for a server that can be talked to: an operator that starts before its API server is ordinary.
  Status connect(const Interrupted& interrupted) {
    const std::string where = cluster_.source;
    for (int failures = 1; !interrupted.yet(); ++failures) {
      if (once_ && once_->is_out_of_time(steady_.now())) return ready().error().during("nothing was done");
      auto found = kube::discover(*client_);
      if (found && found->has_evacuations && found->has_policies) {
        discovery_ = *std::move(found);
        log_.info("connected", {kv("server", cluster_.server), kv("version", discovery_.server_version),
                                kv("config", where), kv("evictionVersion", discovery_.eviction_version)});
        return base::Done{};
      }
      if (found) {
        wait_for("the custom resources are not installed");
        log_.error("the custom resources are not installed: kubectl apply -k config/crd",
                   {kv("server", cluster_.server)});
      } else if (!may_heal(found.error())) {
        return found.error().during("connecting to " + cluster_.server + " (" + where + ")");
      } else {
        wait_for("the API server cannot be reached: " + found.error().message);
        log_.error("the API server cannot be reached", {kv("server", cluster_.server), kv("error", found.error())});
      }
      interrupted.wait(std::chrono::duration_cast<base::milliseconds>(base::backoff_delay(kReconnect, failures)));
    }
    return base::Error{base::ErrorCode::kCancelled, "stopped before the API server answered"};
  }

  bool may_act() const { return !config_.leader_election.enabled || (elector_ && leads()); }

  /// Of the replicas of this installation, and this installation of those on the cluster.
  bool leads() const { return elector_->is_leading() && (!claim_ || claim_->may_act()); }

  /// What the server serves may change under us, where the versions of kinds are chosen at the start; and somebody may
  /// renew our certificate.
  void watch_surroundings(std::stop_token stop) {
    kube::DiscoveryWatch watch(*client_, steady_, discovery_, log_);
    for (int turn = 1; base::sleep_unless_stopped(base::seconds(1), stop); ++turn) {
      if (turn % 30 == 0) reload_certificate();
      if (certificates_) certificates_->refresh(may_act());
      auto change = watch.step();
      if (!change) continue;
      log_.error("the server serves other kinds than at the start", {kv("change", *change)});
      server_changed_ = true;
      return;
    }
  }

  void reload_certificate() {
    if (const auto done = metrics_server_->reload(); !done)
      log_.error("the certificate of /metrics cannot be renewed", {kv("error", done.error())});
  }

  static bool may_heal(const base::Error& error) { return base::is_retriable(error.code); }

  void build() {
    events_ = std::make_unique<kube::EventRecorder>(*client_, clock_, kube::EventOptions{.instance = identity_}, log_);
    make_notifier();
    make_exporter();
    make_claim();
    keys_ = std::make_unique<controllers::SecretKeys>(
        *acting_client_, clock_,
        controllers::SecretKeyOptions{.ns = config_.leader_election.ns,
                                      .name = config_.signing.secret,
                                      .rotate_after = config_.signing.rotate_after},
        log_, &steady_);
    make_certificates();
    operator_ = std::make_unique<controllers::Operator>(controllers::Operator::Dependencies{
        .client = *acting_client_,
        .clock = clock_,
        .discovery = discovery_,
        .config = config_,
        .identity = identity_,
        .may_act = [this] { return may_act(); },
        .events = notifier_ ? static_cast<kube::EventSink&>(*notifier_) : *events_,
        .metrics = metrics_,
        .log = log_,
        .audit = *audit_,
        .services = services_.get(),
        .keys = *keys_,
        .steady = &steady_,
        .usage_sources =
            [this](const api::UsageSource& source) {
              return usage::make_source(
                  source, {.api = &*client_, .clock = &clock_, .operator_namespace = config_.leader_election.ns});
            },
        .gates = controllers::http_gate_clients(
            {.api = &*client_, .clock = &steady_, .operator_namespace = config_.leader_election.ns}),
        .hints_in_force = [this] { return certificates_ && certificates_->in_force(); },
        .once = once_.has_value(),
        .spans = exporter_ ? &*exporter_ : nullptr});
    running_ = operator_.get();
    audit_->sign_heads([this]() -> std::optional<signing::Key> {
      const auto keys = keys_->keys();
      return keys ? std::optional(keys->current) : std::nullopt;
    });
  }

  void make_notifier() {
    if (config_.notifications.empty()) return;
    notifier_.emplace(
        controllers::Notifier::Dependencies{
            .inner = *events_,
            .clock = clock_,
            .steady = steady_,
            .metrics = metrics_,
            .log = log_,
            .instance = identity_,
            .post = [this](const auto& channel, const auto& body) { return notification_post_(channel, body); }},
        config_.notifications);
  }

  void make_exporter() {
    if (!config_.tracing.is_on()) return;
    trace_post_.emplace(config_.tracing, clock_);
    exporter_.emplace(controllers::SpanExporter::Dependencies{
        .steady = steady_,
        .metrics = metrics_,
        .log = log_,
        .resource = {.version = EVACUATOR_VERSION, .ns = config_.leader_election.ns, .instance = identity_},
        .post = [this](const std::string& body) { return (*trace_post_)(body); },
        .sampling_percent = config_.tracing.sampling_percent});
  }

  Status work_until(const Interrupted& interrupted) {
    leader_gauge().set(1);
    audit_->record(controllers::record_of_leadership(config_, true));
    std::jthread workers([this](std::stop_token stop) { operator_->run_workers(stop); });
    while (!server_changed_ && !interrupted.wait(kTick)) {
    }
    return server_changed_ ? server_changed() : Status(base::Done{});
  }

  static Status server_changed() {
    return base::unavailable(
        "the server serves other kinds than at the start; ending, so that a fresh start uses them");
  }

  /// None without leader election, or where the configuration names no namespace for it.
  void make_claim() {
    const auto& chosen = config_.leader_election;
    if (!chosen.enabled || chosen.claim_ns.empty()) return;
    const auto patience = [](base::Duration of) { return std::chrono::duration_cast<base::milliseconds>(4 * of); };
    claim_ = std::make_unique<controllers::ClusterClaim>(
        *client_, clock_, *events_, metrics_, log_,
        controllers::ClusterClaimOptions{.ns = chosen.claim_ns,
                                         .lease = {chosen.ns, chosen.name},
                                         .lease_duration = patience(chosen.lease_duration),
                                         .renew_deadline = patience(chosen.renew_deadline),
                                         .period = patience(chosen.retry_period)});
    claiming_ = claim_.get();
  }

  /// Leads when it can, ends the process when it no longer does: a restart is the cleanest way to forget what it knew.
  Status lead(const Interrupted& interrupted) {
    const auto& chosen = config_.leader_election;
    std::atomic<bool> lost = false;
    elector_ = std::make_unique<kube::LeaderElector>(
        *client_, clock_,
        kube::LeaderOptions{.ns = chosen.ns,
                            .name = chosen.name,
                            .identity = identity_,
                            .lease_duration = std::chrono::duration_cast<base::milliseconds>(chosen.lease_duration),
                            .renew_deadline = std::chrono::duration_cast<base::milliseconds>(chosen.renew_deadline),
                            .retry_period = std::chrono::duration_cast<base::milliseconds>(chosen.retry_period)},
        kube::LeaderElector::Callbacks{.started = [] {}, .stopped = [&] { lost = true; }}, log_);
    leader_gauge().set(0);
    std::jthread claim;
    if (claim_) claim = std::jthread([this](std::stop_token stop) { claim_->run(stop); });
    std::jthread election([&](std::stop_token stop) { elector_->run(stop); });
    std::jthread workers;
    if (once_) once_->await_lease(steady_.now());
    while (!lost && !server_changed_ && !interrupted.wait(kTick)) {
      if (once_ && is_over(workers.joinable())) break;
      if (workers.joinable() && claim_ && !claim_->may_act()) lost = true;
      if (workers.joinable() || !leads()) continue;
      leader_gauge().set(1);
      audit_->record(controllers::record_of_leadership(config_, true));
      workers = std::jthread([this](std::stop_token stop) { operator_->run_workers(stop); });
    }
    const bool was_lost = lost;
    const bool was_leader = workers.joinable();
    leader_gauge().set(0);
    join(workers);  // nobody acts any more; only then may another replica:
    if (was_leader) audit_->record(controllers::record_of_leadership(config_, false));
    join(election);  // this releases the Lease
    if (was_lost)
      return base::unavailable(
          "the Lease, or the claim on the cluster, is lost; ending, so that a fresh start begins with a clean memory");
    if (server_changed_) return server_changed();
    return once_ ? end_of_once(was_leader) : Status(base::Done{});
  }

  bool is_over(bool leads) {
    if (leads) report_ = operator_->once_report();
    step_ = once_->look(steady_.now(), leads ? &report_ : nullptr);
    return step_ != OnceWatch::Step::kGoOn;
  }

  Status end_of_once(bool was_leader) {
    const auto& lease = config_.leader_election;
    if (!was_leader && claim_ && !claim_->may_act()) return claim_->ready().error().during("nothing was done");
    if (!was_leader)
      return base::unavailable(fmt::format("nothing was done: the Lease {}/{} is held by {}", lease.ns, lease.name,
                                           elector_->leader().empty() ? "nobody that answers" : elector_->leader()));
    print_err("{}", controllers::to_text(report_));  // the audit log may be on standard output
    return once_status(report_, step_, once_->timeout());
  }

  static void join(std::jthread& thread) {
    thread.request_stop();
    if (thread.joinable()) thread.join();
  }

  base::Gauge leader_gauge() { return metrics_.gauge("evacuator_leader", "1 while this replica leads."); }

  void shut_down(std::jthread& caches, std::jthread& recorder) {
    log_.info("shutting down");
    health_->stop();
    metrics_server_->stop();
    if (webhook_server_) webhook_server_->stop();
    join(caches);
    join(recorder);
    limiter_.shut_down();
    services_->shut_down();
    transport_->shut_down();
    log_.flush();
  }

  std::optional<OnceWatch> once_;
  OnceWatch::Step step_ = OnceWatch::Step::kGoOn;  ///< of the newest look
  controllers::OnceReport report_;                 ///< the same
  OperatorConfig config_;
  std::string identity_;
  kube::Config cluster_;
  base::Log log_;
  base::SystemClock clock_;
  base::SteadyClock steady_;
  base::Metrics metrics_;
  std::unique_ptr<audit::Log> audit_;
  kube::RateLimiter limiter_;
  std::unique_ptr<kube::HttpTransport> transport_;
  std::optional<controllers::MeteredTransport> metered_;
  controllers::ProcessMetrics process_metrics_{metrics_};
  double told_wait_ = 0;                       ///< of refresh_metrics()
  std::optional<kube::Client> client_;         ///< for everybody: leases, Events, discovery
  std::optional<kube::Client> acting_client_;  ///< changes nothing unless this replica leads
  std::unique_ptr<controllers::HttpServices> services_;
  kube::Discovery discovery_;
  std::atomic<bool> server_changed_ = false;
  std::unique_ptr<kube::EventRecorder> events_;
  controllers::HttpPost notification_post_{clock_};
  std::optional<controllers::Notifier> notifier_;  ///< only with channels
  std::optional<controllers::OtlpPost> trace_post_;
  std::optional<controllers::SpanExporter> exporter_;  ///< only with an endpoint
  std::unique_ptr<kube::LeaderElector> elector_;
  std::unique_ptr<controllers::ClusterClaim> claim_;
  std::atomic<const controllers::ClusterClaim*> claiming_ = nullptr;  ///< once it is made
  std::unique_ptr<controllers::SecretKeys> keys_;
  std::unique_ptr<controllers::webhooks::Certificates> certificates_;  ///< only with the webhook
  std::unique_ptr<controllers::Operator> operator_;
  std::atomic<const controllers::Operator*> running_ = nullptr;  ///< once it is built
  mutable std::mutex waiting_mutex_;
  std::string waiting_for_ = "the API server has not answered yet";  ///< guarded by waiting_mutex_
  std::optional<controllers::AccessReviews> reviews_;
  std::optional<controllers::HealthServer> health_;
  std::optional<controllers::MetricsServer> metrics_server_;
  std::optional<controllers::WebhookServer> webhook_server_;  ///< only when it is on
};

Status run(const RunOptions& options) {
  std::string config_text;
  auto config = load_operator_config(options, config_text);
  if (!config) return config.error();
  const base::Log log = base::Log::to_stderr(config->log_level, config->log_format);
  const auto once = read_once(options, *config);
  if (!once) return once.error();
  static const base::SystemClock clock;
  auto cluster = kube::load_config({options.kubeconfig, options.context}, kube::child_environment(), clock);
  if (!cluster) return cluster.error();
  const Interrupted interrupted;  // before any thread
  const std::string identity = identity_of(options);
  log.info("starting", {kv("version", EVACUATOR_VERSION), kv("commit", build_commit()), kv("identity", identity)});
  const audit::Record loaded = controllers::record_of_configuration(*config, options.config_file, config_text);
  Process process(*std::move(config), identity, *std::move(cluster), log, *once);
  process.audit().record(loaded);
  return process.run(interrupted);
}

}  // namespace

int run_operator(const RunOptions& options) {
  controllers::prepare_allocator();
  if (const auto done = run(options); !done) {
    print_err("evacuator run: {}\n", done.error().message);
    return 1;
  }
  return 0;
}

}  // namespace cmd
