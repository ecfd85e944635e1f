#include "cmd/commands.hpp"

#include <fmt/format.h>

#include <atomic>
#include <optional>
#include <thread>

#include "api/core/codec.hpp"
#include "base/allocator.hpp"
#include "base/backoff.hpp"
#include "base/sleep.hpp"
#include "base/time/steady_clock.hpp"
#include "cmd/extender/hint_giver.hpp"
#include "cmd/extender/service.hpp"
#include "cmd/input/files.hpp"
#include "cmd/output.hpp"
#include "cmd/signals.hpp"
#include "controllers/evacuation/io.hpp"
#include "controllers/observability/access_reviews.hpp"
#include "controllers/observability/metrics_server.hpp"
#include "controllers/operator/health_server.hpp"
#include "controllers/policy/usage/collector.hpp"
#include "http_server/address.hpp"
#include "http_server/certificates.hpp"
#include "kube/client.hpp"
#include "kube/config/config.hpp"
#include "kube/config/process_environment.hpp"
#include "kube/http/transport.hpp"
#include "kube/rate_limiter.hpp"
#include "kube/runtime/informer.hpp"
#include "kube/runtime/worker_pool.hpp"
#include "usage/presets.hpp"
#include "usage/sources/make_source.hpp"

namespace cmd {
namespace {

using base::kv;
using base::Status;
using extender::ExtenderConfig;

constexpr const char* kConsumer = "extender";  ///< name of this consumer in the usage collector
constexpr base::milliseconds kTick{1'000};
/// Interval, in ticks, of rebuilding the load model from node sizes and workload usage, even without new measurements.
constexpr int kRebuildTicks = 30;
constexpr base::Backoff kReconnect{base::milliseconds(500), base::seconds(10)};

base::Result<ExtenderConfig> load_extender_config(const std::string& file) {
  const auto text = read_file(file, std::size_t{1} << 20);
  if (!text) return text.error();
  auto config = extender::parse_extender_config(*text);
  if (!config) return config.error().during(file);
  api::FieldErrors errors;
  for (std::size_t i = 0; i < config->usage_sources.size(); ++i) {
    for (const api::FieldError& each : usage::problems(config->usage_sources[i]))
      errors.push_back({fmt::format("usageSources[{}].{}", i, each.path), each.message});
  }
  for (const auto& [field, address] :
       {std::pair("server.address", config->address), std::pair("server.healthAddress", config->health_address),
        std::pair("server.metricsAddress", config->metrics_address)}) {
    if (auto problem = http_server::address_problem(address); !problem.empty()) errors.push_back({field, problem});
  }
  if (!errors.empty()) return api::to_error(errors).during(file);
  return config;
}

/// Certificate of the scheduler's port, loaded from files or generated.
class ExtenderCertificate {
 public:
  ExtenderCertificate(const ExtenderConfig& config, const base::Clock& clock) : config_(config), clock_(clock) {}

  bool is_plain() const { return config_.cert_file.empty() && http_server::is_loopback(config_.address); }

  base::Result<http_server::Certificate> load() const {
    if (config_.cert_file.empty()) {
      const auto made =
          http_server::make_server_identity({"localhost", "127.0.0.1"}, clock_.now(), "evacuator-extender");
      if (!made) return made.error();
      return http_server::Certificate{made->certificate + made->ca, made->key};
    }
    http_server::Certificate loaded;
    for (const auto& [file, target] :
         {std::pair(&config_.cert_file, &loaded.chain_pem), std::pair(&config_.key_file, &loaded.key_pem),
          std::pair(&config_.client_ca_file, &loaded.client_ca_pem)}) {
      if (file->empty()) continue;
      auto text = read_file(*file, std::size_t{1} << 20);
      if (!text) return text.error();
      if (text->empty() && file == &config_.client_ca_file) return base::invalid(*file + ": is empty");
      *target = *std::move(text);
    }
    return loaded;
  }

  /// Reloads the certificate if its files changed.
  Status follow(http_server::Server& server) {
    if (config_.cert_file.empty()) return base::Done{};
    auto now = load();
    if (!now) return now.error();
    if (*now == served_) return base::Done{};
    if (auto taken = server.reload(*now); !taken) return taken;
    served_ = *std::move(now);
    return base::Done{};
  }
  void serves(http_server::Certificate certificate) { served_ = std::move(certificate); }

 private:
  const ExtenderConfig& config_;
  const base::Clock& clock_;
  http_server::Certificate served_;
};

kube::ReflectorOptions reflector_options(std::uint64_t seed, bool is_core) {
  kube::ReflectorOptions chosen;
  chosen.jitter_seed = seed;
  chosen.list.protobuf = is_core;
  chosen.starts_from_cache = is_core;
  if (!is_core) chosen.list.limit = 100;
  return chosen;
}

/// Drops fields that the extender does not use, which would take most of the memory with 150,000 pods.
void drop_unused_fields(api::Pod& pod) {
  pod.meta.labels = {};
  pod.node_selector = {};
  pod.affinity.reset();
  pod.tolerations.clear();
  pod.topology_spread.clear();
  pod.volumes.clear();
  pod.conditions.clear();
  pod.container_statuses.clear();
  for (auto* containers : {&pod.containers, &pod.init_containers}) {
    for (api::Container& each : *containers) {
      each.image.clear();
      each.host_ports.clear();
    }
  }
  pod.share_parts();
}

/// Components of the extender process in order of dependency. Destroyed in reverse order.
class ExtenderProcess {
 public:
  ExtenderProcess(ExtenderConfig config, kube::Config cluster, base::Log log)
      : config_(std::move(config)),
        cluster_(std::move(cluster)),
        log_(std::move(log)),
        limiter_(steady_, {.qps = config_.qps, .burst = config_.burst}),
        poller_(config_.resources()),
        certificate_(config_, clock_),
        usage_queue_(steady_) {}

  Status run(const Interrupted& interrupted) {
    auto transport = kube::HttpTransport::create(cluster_);
    if (!transport) return transport.error();
    transport_ = *std::move(transport);
    client_.emplace(*transport_, &limiter_);
    make_caches();
    if (auto serving = serve(); !serving) return serving;
    const bool has_evacuations = config_.placement_hints && connect(interrupted);
    std::vector<std::jthread> threads;
    follow(threads, pods_->reflector(), "pods");
    follow(threads, nodes_->reflector(), "nodes");
    if (has_evacuations) follow(threads, evacuations_->reflector(), "evacuations");
    std::jthread measuring([this](std::stop_token stop) { measure(stop); });
    while (!interrupted.wait(kTick)) tick();
    measuring.request_stop();
    for (std::jthread& each : threads) each.request_stop();
    shut_down();
    return base::Done{};
  }

 private:
  void make_caches() {
    pods_.emplace(*client_, steady_, kube::kPods, api::decode_pod, reflector_options(1, true), log_);
    nodes_.emplace(*client_, steady_, kube::kNodes, api::decode_node, reflector_options(2, true), log_);
    evacuations_.emplace(*client_, steady_, kube::kEvacuations, controllers::evacuation::decode_whole_evacuation,
                         reflector_options(3, false), log_);
    hints_.emplace(evacuations_->store(), pods_->store(), nodes_->store(), clock_, steady_);
    collector_.emplace(
        controllers::UsageCollector::Dependencies{
            .make_source =
                [this](const api::UsageSource& source) {
                  return usage::make_source(
                      source, {.api = &*client_, .clock = &clock_, .operator_namespace = config_.operator_namespace});
                },
            .clock = clock_,
            .log = log_,
            .metrics = metrics_,
            .nodes = [this] { return nodes_->store().list(); }},
        usage_queue_);
    pods_->complete_with(drop_unused_fields);
    pods_->add_handler([this](const auto& before, const auto& after) {
      poller_.on_pod(before.get(), after.get(), clock_.now());
      collector_->on_pod(before.get(), after.get());
    });
    service_.emplace(
        config_, poller_,
        [this](const api::Pod& pod) {
          return config_.placement_hints && evacuations_->has_synced() ? hints_->hint_for(pod) : std::nullopt;
        },
        clock_, metrics_, log_);
  }

  /// Starts the server before waiting for any input. Until usage is known every score is neutral.
  Status serve() {
    http_server::ServerOptions options = extender_server_options(config_);
    if (!certificate_.is_plain()) {
      auto loaded = certificate_.load();
      if (!loaded) return loaded.error().during("server.certFile");
      options.certificate = *loaded;
      certificate_.serves(*std::move(loaded));
    }
    server_.emplace(
        std::move(options), [this](const http_server::Request& request) { return service_->answer(request); }, log_);
    reviews_.emplace(*client_, steady_, log_);
    health_.emplace(
        config_.health_address,
        controllers::HealthChecks{.alive = [] { return Status(base::Done{}); }, .ready = [this] { return ready(); }},
        log_);
    metrics_server_.emplace(
        controllers::MetricsServerOptions{.address = config_.metrics_address, .names = {"localhost", "127.0.0.1"}},
        metrics_,
        [this](const std::string& token, const std::string& peer) {
          return reviews_->may_get("/metrics", token, peer);
        },
        clock_, log_);
    if (auto started = server_->start(); !started) return started.error().during("serving the scheduler");
    if (auto started = health_->start(); !started) return started.error().during("serving health");
    if (auto started = metrics_server_->start(); !started) return started.error().during("serving metrics");
    log_.info("serving the scheduler", {kv("port", static_cast<int>(server_->port())),
                                        kv("transport", certificate_.is_plain() ? "HTTP, loopback only" : "HTTPS"),
                                        kv("healthPort", static_cast<int>(health_->port())),
                                        kv("metricsPort", static_cast<int>(metrics_server_->port()))});
    return base::Done{};
  }

  Status ready() const {
    for (const auto& [name, synced] :
         {std::pair("pods", pods_->has_synced()), std::pair("nodes", nodes_->has_synced())})
      if (!synced) return base::unavailable(fmt::format("the {} are not listed yet", name));
    return base::Done{};
  }

  /// Waits until the API server is reachable. Returns true if Evacuations, and therefore placement hints, are
  /// available.
  bool connect(const Interrupted& interrupted) {
    for (int failures = 1; !interrupted.yet(); ++failures) {
      const auto found = kube::discover(*client_);
      if (found) {
        if (!found->has_evacuations) log_.info("no placement hints: the custom resources are not installed");
        return found->has_evacuations;
      }
      log_.error("the API server cannot be reached", {kv("server", cluster_.server), kv("error", found.error())});
      interrupted.wait(std::chrono::duration_cast<base::milliseconds>(base::backoff_delay(kReconnect, failures)));
    }
    return false;
  }

  void follow(std::vector<std::jthread>& threads, kube::Reflector& reflector, const char* name) {
    threads.emplace_back([&reflector, name](std::stop_token stop) {
      kube::name_this_thread(name);
      reflector.run(stop);
    });
  }

  /// Collects usage once the nodes are known, because the source may identify nodes by address.
  void measure(std::stop_token stop) {
    while (!ready()) {
      if (!base::sleep_unless_stopped(base::milliseconds(100), stop)) return;
    }
    const api::UsageSource& source = *config_.chosen_source();
    collector_->set(kConsumer, {{source.name, source}});
    kube::Worker(
        usage_queue_, [this](const api::ObjectKey& key) { return collector_->collect(key); }, counts_, log_)
        .run(stop);
  }

  void tick() {
    if (const auto done = certificate_.follow(*server_); !done)
      log_.error("the certificate cannot be renewed", {kv("error", done.error())});
    const auto figures = collector_->figures(kConsumer);
    if (figures.measured.empty()) return;
    const auto& measured = figures.measured.front();
    const bool is_due = ++ticks_ % kRebuildTicks == 0;
    if (const auto board = poller_.board(); board && board->measured == measured && !is_due) return publish(*board);
    poller_.replace(
        extender::make_load_model(measured, poller_.resources(), nodes_->store().list(), pods_->store().list()),
        clock_.now());
    publish(*poller_.board());
  }

  void publish(const extender::LoadModel& board) {
    metrics_.gauge("evacuator_extender_known_nodes", "Number of nodes with usable usage data.")
        .set(static_cast<double>(board.nodes.size()));
    metrics_
        .gauge("evacuator_extender_placed_pods", "Number of new pods that are not in all samples of their nodes yet.")
        .set(static_cast<double>(poller_.placed()));
  }

  void shut_down() {
    log_.info("shutting down");
    server_->stop();
    health_->stop();
    metrics_server_->stop();
    limiter_.shut_down();
    transport_->shut_down();
    log_.flush();
  }

  const ExtenderConfig config_;
  const kube::Config cluster_;
  const base::Log log_;
  base::SystemClock clock_;
  base::SteadyClock steady_;
  base::Metrics metrics_;
  kube::RateLimiter limiter_;
  extender::LoadPoller poller_;
  ExtenderCertificate certificate_;
  std::unique_ptr<kube::HttpTransport> transport_;
  std::optional<kube::Client> client_;
  kube::WorkQueue usage_queue_;
  kube::WorkerCounts counts_;
  std::optional<HintAssigner> hints_;  // must precede the stores that it is called from
  std::optional<controllers::UsageCollector> collector_;
  std::optional<kube::Informer<api::Pod>> pods_;
  std::optional<kube::Informer<api::Node>> nodes_;
  std::optional<kube::Informer<api::Evacuation>> evacuations_;
  std::optional<ExtenderService> service_;
  std::optional<controllers::AccessReviews> reviews_;
  std::optional<controllers::HealthServer> health_;
  std::optional<controllers::MetricsServer> metrics_server_;
  std::optional<http_server::Server> server_;
  int ticks_ = 0;
};

Status run(const ExtenderOptions& options) {
  auto config = load_extender_config(options.config_file);
  if (!config) return config.error();
  if (options.check_only) return base::Done{};
  const base::Log log = base::Log::to_stderr(config->log_level, config->log_format);
  static const base::SystemClock clock;
  auto cluster = kube::load_config({options.kubeconfig, options.context}, kube::child_environment(), clock);
  if (!cluster) return cluster.error();
  const Interrupted interrupted;  // must precede all threads
  log.info("starting the extender", {kv("version", EVACUATOR_VERSION)});
  ExtenderProcess process(*std::move(config), *std::move(cluster), log);
  return process.run(interrupted);
}

}  // namespace

int run_extender(const ExtenderOptions& options) {
  base::configure_allocator();
  return exit_code_of("evacuator extender", run(options));
}

}  // namespace cmd
