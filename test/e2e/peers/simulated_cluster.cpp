/// The simulator as a separate process for the end-to-end suite: four nodes, real time, HTTPS for kubectl and the
/// operator, plain HTTP for the journal. Writes admin.kubeconfig and operator.kubeconfig into --folder and prints
/// "ready: journal on PORT". Then it executes the lines of its stdin, "stop-apiserver" and "start-apiserver", which
/// close and open the HTTPS port only; the state is kept. Answers "done: <line>". Exits at the end of stdin.

#include <cstdio>
#include <cstring>
#include <fstream>
#include <iostream>
#include <nlohmann/json.hpp>
#include <thread>

#include "base/clock.hpp"
#include "http_server/certificates.hpp"
#include "simulator/cluster.hpp"
#include "simulator/http_server.hpp"
#include "simulator/kubevirt/kubevirt.hpp"
#include "simulator/objects.hpp"

namespace {

constexpr int kNodes = 4;
const char* const kAdminToken = "admin-token";
const char* const kOperatorToken = "operator-token";

std::string take_argument(int argc, char** argv, const char* name) {
  for (int i = 1; i + 1 < argc; ++i) {
    if (std::strcmp(argv[i], name) == 0) return argv[i + 1];
  }
  return {};
}

/// The server and its two listeners.
class Service {
 public:
  explicit Service(simulator::Store& store) : server_(store), records_(server_, {}) {}

  simulator::ApiServer& server() { return server_; }

  base::Status start(const base::Clock& clock, const std::string& folder) {
    auto identity = http_server::make_server_identity({"127.0.0.1", "localhost"}, clock.now());
    if (!identity) return identity.error();
    options_.identity = *std::move(identity);
    options_.tokens = {
        {kAdminToken, {"kubernetes-admin", {"system:masters"}, {}}},
        {kOperatorToken, {"system:serviceaccount:evacuator-system:evacuator", {"system:serviceaccounts"}, {}}}};
    if (auto started = records_.start(); !started) return started;
    if (auto opened = open(); !opened) return opened;
    options_.port = http_->port();
    std::ofstream(folder + "/admin.kubeconfig") << http_->kubeconfig(kAdminToken);
    std::ofstream(folder + "/operator.kubeconfig") << http_->kubeconfig(kOperatorToken);
    std::cout << "ready: journal on " << records_.port() << std::endl;
    return base::Done{};
  }

  base::Status obey(const std::string& line) {
    if (line == "stop-apiserver") {
      http_.reset();
      return base::Done{};
    }
    if (line == "start-apiserver") return open();
    return base::invalid("unknown command '" + line + "'");
  }

 private:
  base::Status open() {
    http_ = std::make_unique<simulator::HttpServer>(server_, options_);
    return http_->start();
  }

  simulator::ApiServer server_;
  simulator::HttpServer records_;
  simulator::HttpServerOptions options_;
  std::unique_ptr<simulator::HttpServer> http_;
};

int fail(const base::Error& error) {
  std::cerr << "evacuator_simulated_cluster: " << error.message << std::endl;
  return 1;
}

}  // namespace

int main(int argc, char** argv) {
  const std::string folder = take_argument(argc, argv, "--folder");
  if (folder.empty()) return fail(base::invalid("usage: evacuator_simulated_cluster --folder FOLDER"));
  const base::SystemClock clock;
  simulator::Cluster cluster(clock);
  for (int i = 1; i <= kNodes; ++i) {
    if (auto added = cluster.add(simulator::objects::node("node-" + std::to_string(i), "4", "16Gi")); !added)
      return fail(added.error());
  }
  Service service(cluster.store());
  if (auto installed = simulator::kubevirt::install(cluster, service.server()); !installed)
    return fail(installed.error());
  const std::jthread actors([&](std::stop_token stop) { cluster.run(stop); });
  if (auto started = service.start(clock, folder); !started) return fail(started.error());
  for (std::string line; std::getline(std::cin, line);) {
    if (auto done = service.obey(line); !done) return fail(done.error());
    std::cout << "done: " << line << std::endl;
  }
  return 0;
}
