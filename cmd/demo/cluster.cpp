#include "cmd/demo/cluster.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "api/core/codec.hpp"
#include "api/json/yaml.hpp"
#include "cmd/demo/embedded_crds.hpp"
#include "cmd/demo/validators.hpp"
#include "cmd/run/threads.hpp"
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

DemoCluster::DemoCluster(int port)
    : cluster_(clock_),
      server_(cluster_.store()),
      http_(server_, http_options(port)),
      admin_transport_(server_, {}),
      admin_(admin_transport_, nullptr),
      operator_transport_(server_, {kOperatorUser, {}, {}}),
      operator_client_(operator_transport_, nullptr),
      events_(operator_client_, clock_, kube::EventOptions{.instance = "demo"}, {}),
      elector_(operator_client_, clock_, kube::LeaderOptions{.identity = "demo"}, {[] {}, [] {}}, {}) {
  server_.add_webhook(simulator::background_webhook(cluster_.store()));
  add_validators(server_);
}

base::Status DemoCluster::start(const std::string& kubeconfig_out) {
  if (auto installed = install_crds(server_); !installed) return installed;
  if (auto made = cluster_.add(simulator::objects::name_space(kube::LeaderOptions().ns)); !made) return made.error();
  if (auto serving = http_.start(); !serving) return serving.error().during("--port");
  owns_kubeconfig_ = kubeconfig_out.empty();
  kubeconfig_ = owns_kubeconfig_ ? default_kubeconfig_path() : kubeconfig_out;
  if (auto written = write_private_file(kubeconfig_, http_.kubeconfig()); !written) return written;
  cluster_thread_ = std::jthread([this](std::stop_token stop) { cluster_.run(stop); });
  return start_operator();
}

base::Status DemoCluster::start_operator() {
  auto discovery = kube::discover(operator_client_);
  if (!discovery) return discovery.error();
  controllers::OperatorConfig config;
  config.workers = 8;
  config.in_flight.per_namespace.reset();  // the demo has a single tenant
  operator_.emplace(controllers::Operator::Dependencies{.client = operator_client_,
                                                        .clock = clock_,
                                                        .discovery = *discovery,
                                                        .config = config,
                                                        .identity = "demo",
                                                        .may_act = [] { return true; },
                                                        .events = events_,
                                                        .metrics = metrics_,
                                                        .log = {}});
  metrics_server_.emplace(
      controllers::MetricsServerOptions{.address = "127.0.0.1:0"}, metrics_,
      [](const std::string&, const std::string&) { return controllers::Access::kAllowed; }, clock_, base::Log());
  if (auto serving = metrics_server_->start(); !serving) return serving;
  recorder_ = std::jthread([this](std::stop_token stop) { events_.run(stop); });
  // Leader election has no competitor here; the Lease shows clients that an operator is running.
  election_ = std::jthread([this](std::stop_token stop) { elector_.run(stop); });
  caches_ = std::jthread([this](std::stop_token stop) { operator_->run_caches(stop); });
  workers_ = std::jthread([this](std::stop_token stop) { operator_->run_workers(stop); });
  return base::Done{};
}

void DemoCluster::stop() {
  if (std::exchange(stopped_, true)) return;
  stop_and_join(workers_);
  stop_and_join(caches_);
  if (metrics_server_) metrics_server_->stop();
  stop_and_join(recorder_);
  stop_and_join(election_);
  http_.stop();
  stop_and_join(cluster_thread_);
  std::error_code ignored;
  if (owns_kubeconfig_ && !kubeconfig_.empty()) std::filesystem::remove(kubeconfig_, ignored);
}

bool DemoCluster::is_settled() {
  std::size_t pods = 0;
  std::size_t running = 0;
  (void)admin_.list(kube::kPods, {}, [&](std::string_view item) -> base::Status {
    const auto pod = api::decode_pod(item);
    ++pods;
    if (pod && pod->is_ready()) ++running;
    return base::Done{};
  });
  return pods > 0 && pods == running;
}

std::string DemoCluster::metrics_url() const { return fmt::format("http://127.0.0.1:{}", metrics_server_->port()); }

void DemoCluster::wait_until_settled() {
  for (const auto give_up = clock_.now() + base::seconds(30); clock_.now() < give_up && !is_settled();) {
    std::this_thread::sleep_for(base::milliseconds(200));
  }
}

}  // namespace cmd
