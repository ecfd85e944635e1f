#include "cmd/demo/cluster.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <thread>

#include "api/core/codec.hpp"
#include "api/json/yaml.hpp"
#include "base/metrics.hpp"
#include "cmd/demo/embedded_crds.hpp"
#include "cmd/demo/validators.hpp"
#include "controllers/observability/metrics_server.hpp"
#include "controllers/operator/operator.hpp"
#include "kube/runtime/events.hpp"
#include "kube/runtime/leader_election.hpp"
#include "simulator/api/server.hpp"
#include "simulator/cluster.hpp"
#include "simulator/http_server.hpp"
#include "simulator/objects.hpp"
#include "simulator/operators/background_protocol.hpp"

namespace cmd {
namespace {

constexpr const char* kOperatorUser = "system:serviceaccount:evacuator-system:evacuator";

base::Status install_crds(simulator::ApiServer& server) {
  for (const std::string_view yaml : embedded_crds()) {
    const auto documents = api::parse_yaml(yaml);
    if (!documents) return documents.error().during("the built-in CRDs");
    for (const api::Json& document : *documents) {
      if (auto installed = server.install_crd(document); !installed) return installed;
    }
  }
  return base::Done{};
}

simulator::HttpServerOptions http_options(int port) {
  simulator::HttpServerOptions options;
  options.port = static_cast<std::uint16_t>(port);
  return options;
}

/// Returns the default kubeconfig path, a file private to this process.
std::string default_kubeconfig_path() {
  return (std::filesystem::temp_directory_path() / fmt::format("evacuator-demo-{}.kubeconfig", getpid())).string();
}

base::Status write_private_file(const std::string& path, const std::string& text) {
  std::ofstream file(path, std::ios::trunc);
  if (file)
    std::filesystem::permissions(path, std::filesystem::perms::owner_read | std::filesystem::perms::owner_write);
  file << text;
  file.close();
  if (!file) return base::invalid(fmt::format("cannot write {}: {}", path, std::strerror(errno)));
  return base::Done{};
}

}  // namespace

struct DemoCluster::Impl {
  explicit Impl(int port)
      : cluster(clock),
        server(cluster.store()),
        http(server, http_options(port)),
        admin_transport(server, {}),
        admin(admin_transport, nullptr),
        operator_transport(server, {kOperatorUser, {}, {}}),
        operator_client(operator_transport, nullptr),
        events(operator_client, clock, kube::EventOptions{.instance = "demo"}, {}),
        elector(operator_client, clock, kube::LeaderOptions{.identity = "demo"}, {[] {}, [] {}}, {}) {
    server.add_webhook(simulator::background_webhook(cluster.store()));
    add_validators(server);
  }

  base::Status start(const std::string& kubeconfig_out) {
    if (auto installed = install_crds(server); !installed) return installed;
    if (auto made = cluster.add(simulator::objects::name_space(kube::LeaderOptions().ns)); !made) return made.error();
    if (auto serving = http.start(); !serving) return serving.error().during("--port");
    owns_kubeconfig = kubeconfig_out.empty();
    kubeconfig = owns_kubeconfig ? default_kubeconfig_path() : kubeconfig_out;
    if (auto written = write_private_file(kubeconfig, http.kubeconfig()); !written) return written;
    cluster_thread = std::jthread([this](std::stop_token stop) { cluster.run(stop); });
    return start_operator();
  }

  base::Status start_operator() {
    auto discovery = kube::discover(operator_client);
    if (!discovery) return discovery.error();
    controllers::OperatorConfig config;
    config.workers = 8;
    config.in_flight.per_namespace.reset();  // the demo has a single tenant
    op.emplace(controllers::Operator::Dependencies{.client = operator_client,
                                                   .clock = clock,
                                                   .discovery = *discovery,
                                                   .config = config,
                                                   .identity = "demo",
                                                   .may_act = [] { return true; },
                                                   .events = events,
                                                   .metrics = metrics,
                                                   .log = {}});
    metrics_server.emplace(
        controllers::MetricsServerOptions{.address = "127.0.0.1:0"}, metrics,
        [](const std::string&, const std::string&) { return controllers::Access::kAllowed; }, clock, base::Log());
    if (auto serving = metrics_server->start(); !serving) return serving;
    recorder = std::jthread([this](std::stop_token stop) { events.run(stop); });
    // Leader election has no competitor here; the Lease shows clients that an operator is running.
    election = std::jthread([this](std::stop_token stop) { elector.run(stop); });
    caches = std::jthread([this](std::stop_token stop) { op->run_caches(stop); });
    workers = std::jthread([this](std::stop_token stop) { op->run_workers(stop); });
    return base::Done{};
  }

  static void end(std::jthread& thread) {
    thread.request_stop();
    if (thread.joinable()) thread.join();
  }

  void stop() {
    if (std::exchange(stopped, true)) return;
    end(workers);
    end(caches);
    if (metrics_server) metrics_server->stop();
    end(recorder);
    end(election);
    http.stop();
    end(cluster_thread);
    std::error_code ignored;
    if (owns_kubeconfig && !kubeconfig.empty()) std::filesystem::remove(kubeconfig, ignored);
  }

  bool settled() {
    std::size_t pods = 0;
    std::size_t running = 0;
    (void)admin.list(kube::kPods, {}, [&](std::string_view item) -> base::Status {
      const auto pod = api::decode_pod(item);
      ++pods;
      if (pod && pod->is_ready()) ++running;
      return base::Done{};
    });
    return pods > 0 && pods == running;
  }

  base::SystemClock clock;
  simulator::Cluster cluster;
  simulator::ApiServer server;
  simulator::HttpServer http;
  simulator::SimulatorTransport admin_transport;
  kube::Client admin;
  simulator::SimulatorTransport operator_transport;
  kube::Client operator_client;
  base::Metrics metrics;
  kube::EventRecorder events;
  kube::LeaderElector elector;
  std::optional<controllers::Operator> op;
  std::optional<controllers::MetricsServer> metrics_server;
  std::string kubeconfig;
  bool owns_kubeconfig = false;
  bool stopped = false;
  std::jthread cluster_thread;
  std::jthread caches;
  std::jthread recorder;
  std::jthread election;
  std::jthread workers;
};

DemoCluster::DemoCluster(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
DemoCluster::~DemoCluster() { stop(); }

base::Result<std::unique_ptr<DemoCluster>> DemoCluster::start(int port, const std::string& kubeconfig_out) {
  std::unique_ptr<DemoCluster> cluster(new DemoCluster(std::make_unique<Impl>(port)));
  if (auto started = cluster->impl_->start(kubeconfig_out); !started) return started.error();
  return cluster;
}

kube::Client& DemoCluster::admin() { return impl_->admin; }
std::string DemoCluster::server_url() const { return impl_->http.url(); }
std::string DemoCluster::metrics_url() const {
  return fmt::format("http://127.0.0.1:{}", impl_->metrics_server->port());
}
std::string DemoCluster::kubeconfig_path() const { return impl_->kubeconfig; }
void DemoCluster::stop() { impl_->stop(); }

void DemoCluster::wait_until_settled() {
  for (const auto give_up = impl_->clock.now() + base::seconds(30);
       impl_->clock.now() < give_up && !impl_->settled();) {
    std::this_thread::sleep_for(base::milliseconds(200));
  }
}

}  // namespace cmd
