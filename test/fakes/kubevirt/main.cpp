/// Fake of KubeVirt's VM migration for a real API server: the rules of simulator/kubevirt/*.hpp behind real
/// definitions, real webhooks over TLS and an aggregated API. Needs an administrator's kubeconfig. Prints "ready" once
/// all APIs answer. Exits when its stdin is closed.
///
///   evacuator_fake_kubevirt --kubeconfig FILE [--version v1.7.0]

#include <atomic>
#include <cstring>
#include <iostream>
#include <string>
#include <thread>

#include <nlohmann/json.hpp>

#include "base/clock.hpp"
#include "http_server/certificates.hpp"
#include "kube/config/config.hpp"
#include "kube/http/transport.hpp"
#include "simulator/kubevirt/controllers.hpp"
#include "test/fakes/kubevirt/client_port.hpp"
#include "test/fakes/kubevirt/installation.hpp"
#include "test/fakes/kubevirt/virt_api.hpp"

namespace {

constexpr std::chrono::milliseconds kBetweenRounds{300};

std::string take_argument(int argc, char** argv, const char* name, const char* otherwise) {
  for (int i = 1; i + 1 < argc; ++i) {
    if (std::strcmp(argv[i], name) == 0) return argv[i + 1];
  }
  return otherwise;
}

base::Status complain(const base::Error& error) {
  std::cerr << "evacuator_fake_kubevirt: " << error.message << std::endl;
  return error;
}

/// Loop of the controllers. A failed round is logged once and retried.
void run_controllers(simulator::kubevirt::Port& port, const base::Clock& clock, const std::stop_token& stop) {
  std::string last;
  while (!stop.stop_requested()) {
    const auto round = simulator::kubevirt::run_round(port, clock.now());
    const std::string problem = round ? "" : round.error().message;
    if (problem != last && !problem.empty()) std::cerr << "round: " << problem << std::endl;
    last = problem;
    if (!round || !round->changed) std::this_thread::sleep_for(kBetweenRounds);
  }
}

base::Status run(const std::string& kubeconfig, const std::string& version) {
  const base::SystemClock clock;
  auto config = kube::load_config({kubeconfig, ""}, {}, clock);
  if (!config) return complain(config.error());
  auto transport = kube::HttpTransport::create(*std::move(config));
  if (!transport) return complain(transport.error());
  kube::Client client(**transport, nullptr);
  fake_kubevirt::ClientPort port(client);
  auto identity = http_server::make_server_identity({"127.0.0.1", "localhost"}, clock.now());
  if (!identity) return complain(identity.error());
  http_server::ServerOptions options;
  options.certificate = http_server::Certificate{identity->certificate, identity->key};
  http_server::Server server(options, fake_kubevirt::virt_api(port));
  if (auto started = server.start(); !started) return complain(started.error());
  if (auto installed = fake_kubevirt::install(client, version, server.port(), identity->ca); !installed)
    return complain(installed.error());
  const std::jthread controllers([&](const std::stop_token& stop) { run_controllers(port, clock, stop); });
  std::cout << "ready on " << server.port() << std::endl;
  for (std::string line; std::getline(std::cin, line);) continue;
  return base::Done{};
}

}  // namespace

int main(int argc, char** argv) {
  const std::string kubeconfig = take_argument(argc, argv, "--kubeconfig", "");
  if (kubeconfig.empty()) {
    std::cerr << "usage: evacuator_fake_kubevirt --kubeconfig FILE [--version v1.7.0]" << std::endl;
    return 2;
  }
  return run(kubeconfig, take_argument(argc, argv, "--version", "v1.7.0")) ? 0 : 1;
}
