// kube-scheduler with the extender compared with a stock one: new pods go to nodes with low measured load, and
// scheduling continues when the extender is killed. The second scheduler is a separate process, because extenders apply
// to all profiles of a process.

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <fstream>

#include "test/e2e/harness/meter.hpp"
#include "test/e2e/harness/process.hpp"
#include "test/e2e/harness/scenario.hpp"

namespace e2e {
namespace extender_test {

constexpr int kMinNodes = 12;
constexpr int kPods = 200;
constexpr int kMorePods = 60;
constexpr double kUse = 0.02;     ///< usage and request of a pod as a share of a node
constexpr double kHotBase = 0.5;  ///< additional usage of half of the nodes, without requests
constexpr double kCoolBase = 0.05;
constexpr const char* kScheduler = "load-aware-scheduler";

double deviation_of(const std::map<std::string, double>& loads) {
  const auto count = static_cast<double>(loads.size());
  double mean = 0;
  for (const auto& [node, load] : loads) mean += load / count;
  double squares = 0;
  for (const auto& [node, load] : loads) squares += (load - mean) * (load - mean) / count;
  return std::sqrt(squares);
}

double sum_of(const std::map<std::string, double>& loads) {
  double sum = 0;
  for (const auto& [node, load] : loads) sum += load;
  return sum;
}

std::string percents(const std::map<std::string, double>& loads) {
  std::string text;
  for (const auto& [node, load] : loads) text += " " + std::to_string(std::lround(load * 100));
  return text;
}

class Extender : public Scenario {
 protected:
  double cores() const { return cpu_of_nodes() / 1000.0; }

  /// Returns a high base load for every other node.
  std::function<double(const std::string&)> base() const {
    std::set<std::string> hot;
    const std::vector<std::string> all = nodes();
    for (std::size_t i = 0; i < all.size(); i += 2) hot.insert(all[i]);
    return [hot](const std::string& node) { return hot.contains(node) ? kHotBase : kCoolBase; };
  }

  void create(const std::string& name, int replicas, const std::string& scheduler) const {
    Json object = manifest::deployment({.ns = ns(), .name = name, .replicas = replicas});
    Json& pod = object["spec"]["template"]["spec"];
    if (!scheduler.empty()) pod["schedulerName"] = scheduler;
    const long cpu = std::lround(kUse * cores() * 1000);
    pod["containers"][0]["resources"]["requests"]["cpu"] = std::to_string(cpu) + "m";
    kubectl().apply(object);
  }
  void remove(const std::string& name) const {
    kubectl()({"delete", "deployment", name, "-n", ns(), "--wait=true"});
    await_pods(ns(), name, 0);
  }
  /// Waits until `count` pods are part of the measured loads. `before` contains the loads without any.
  std::map<std::string, double> loads_with(Meter& meter, int count, const std::map<std::string, double>& before) const {
    std::map<std::string, double> loads;
    await(std::to_string(count) + " pods to be measured", [&](std::string& seen) {
      loads = meter.measure();
      const long measured = std::lround((sum_of(loads) - sum_of(before)) / kUse);
      seen = std::to_string(measured) + " are measured";
      return measured == count;
    });
    return loads;
  }

  void start_extender() {
    port_ = free_port();
    health_ = free_port();
    metrics_ = free_port();
    const auto at = [](std::uint16_t port) { return "127.0.0.1:" + std::to_string(port); };
    const Json source = {
        {"name", "metrics"}, {"type", "MetricsServer"}, {"interval", "5s"}, {"smoothing", {{"method", "Latest"}}}};
    const Json config = {
        {"server", {{"address", at(port_)}, {"healthAddress", at(health_)}, {"metricsAddress", at(metrics_)}}},
        {"usageSources", Json::array({source})}};
    write_file(folder() / "extender.yaml", config.dump());
    Process::Options options;
    options.argv = {EVACUATOR_BINARY,           "extender",     "--config",
                    folder() / "extender.yaml", "--kubeconfig", cluster().operator_kubeconfig().string()};
    options.log = folder() / "extender.log";
    extender_ = std::make_unique<Process>(options);
  }
  void await_extender(Meter& meter) const {
    await("the extender to know every node", [&](std::string& seen) {
      meter.measure();
      seen = Api(metrics_).request("GET", "/metrics").body;
      return Api(health_).request("GET", "/readyz").code == 200 &&
             seen.find("evacuator_extender_known_nodes " + std::to_string(nodes().size())) != std::string::npos;
    });
  }
  double counted(const std::string& series) const {
    const std::string text = Api(metrics_).request("GET", "/metrics").body;
    const std::size_t at = text.find("\n" + series + " ");
    return at == std::string::npos ? 0 : std::atof(text.c_str() + at + series.size() + 2);
  }

  static std::filesystem::path cluster_folder() {
    const char* folder = std::getenv("CLUSTER_DIR");
    return folder == nullptr ? std::filesystem::path(EVACUATOR_SOURCE_DIR) / ".cluster" : folder;
  }
  static std::string scheduler_binary() {
    std::ifstream binaries(cluster_folder() / "binaries");
    for (std::string name, where; binaries >> name >> where;) {
      if (name == "kube-scheduler") return where;
    }
    throw Failure("no kube-scheduler in " + (cluster_folder() / "binaries").string());
  }

  /// Uses the configuration of docs/extender.md.
  void start_scheduler() {
    const bool is_old = cluster().minor() < 25;
    const std::string plain = "127.0.0.1:" + std::to_string(free_port());
    Json config = {
        {"apiVersion", std::string("kubescheduler.config.k8s.io/") + (is_old ? "v1beta1" : "v1")},
        {"kind", "KubeSchedulerConfiguration"},
        {"clientConnection",
         {{"kubeconfig", (cluster_folder() / "pki/kube-scheduler.kubeconfig").string()}, {"qps", 200}, {"burst", 400}}},
        {"leaderElection", {{"leaderElect", false}}},
        {"profiles", Json::array({{{"schedulerName", kScheduler}}})},
        {"extenders", Json::array({{{"urlPrefix", "http://127.0.0.1:" + std::to_string(port_)},
                                    {"filterVerb", "filter"},
                                    {"prioritizeVerb", "prioritize"},
                                    {"weight", 5},
                                    {"httpTimeout", "200ms"},
                                    {"nodeCacheCapable", true},
                                    {"ignorable", true}}})}};
    if (is_old) config.update({{"healthzBindAddress", plain}, {"metricsBindAddress", plain}});
    write_file(folder() / "scheduler.yaml", config.dump());
    Process::Options options;
    options.argv = {scheduler_binary(), "--config", folder() / "scheduler.yaml", "--secure-port=0"};
    options.log = folder() / "scheduler.log";
    scheduler_ = std::make_unique<Process>(options);
  }

  std::uint16_t port_ = 0, health_ = 0, metrics_ = 0;
  std::unique_ptr<Process> extender_;
  std::unique_ptr<Process> scheduler_;
};

TEST_F(Extender, SendsNewPodsWhereLoadIsLowAndIsNotNeededToSchedule) {
  if (!cluster().has_rbac())
    GTEST_SKIP() << "the simulator has no kube-scheduler; test/integration/extender has the rest";
  if (static_cast<int>(nodes().size()) < kMinNodes) GTEST_SKIP() << "wants " << kMinNodes << " nodes";
  grant("usage-metrics-server");
  await_quiet();
  Meter meter(api(), kubectl(),
              {.ns = ns(), .cores = cores(), .use = [](const Json&) { return kUse; }, .base = base()});
  const auto before = meter.measure();

  create("stock", kPods, "");
  const auto stock = loads_with(meter, kPods, before);
  remove("stock");
  await_quiet();
  loads_with(meter, 0, before);  // the first data of the extender

  start_extender();
  await_extender(meter);
  start_scheduler();
  create("aware", kPods, kScheduler);
  const auto aware = loads_with(meter, kPods, before);
  const double answered = counted(R"(evacuator_extender_requests_total{result="answered",verb="prioritize"})");
  note("load of the nodes in percent, before:" + percents(before) + "; stock:" + percents(stock) +
       "; with the extender:" + percents(aware));
  note("standard deviation, stock " + std::to_string(deviation_of(stock) * 100) + ", with the extender " +
       std::to_string(deviation_of(aware) * 100) + " points");
  EXPECT_LE(deviation_of(aware), deviation_of(stock) / 2);
  EXPECT_GE(answered, kPods);

  create("orphans", kMorePods, kScheduler);
  await("some of them to have nodes", [&](std::string&) {
    int bound = 0;
    for (const Json& pod : api().list(path::pods(ns())))
      bound += text_at(pod, "/metadata/labels/app") == "orphans" && !text_at(pod, "/spec/nodeName").empty();
    return bound >= 5;
  });
  extender_->kill();
  await_pods(ns(), "orphans", kMorePods);
  EXPECT_TRUE(scheduler_->running());
}

}  // namespace extender_test
}  // namespace e2e
