#pragma once

#include <chrono>
#include <cmath>
#include <ctime>
#include <functional>
#include <map>
#include <string>
#include <utility>

#include "test/e2e/harness/api.hpp"
#include "test/e2e/harness/await.hpp"
#include "test/e2e/harness/kubectl.hpp"

namespace e2e {

/// Replaces metrics-server: serves metrics.k8s.io as custom resources of that group, which needs no aggregation layer.
class Meter {
 public:
  static constexpr const char* kGroup = "metrics.k8s.io";
  struct Settings {
    std::string ns;    ///< namespace whose running pods are measured
    double cores = 4;  ///< cores of a node
    /// Returns a pod's usage as a share of a node.
    std::function<double(const Json& pod)> use;
    /// Returns a node's usage without these pods.
    std::function<double(const std::string& node)> base = [](const std::string&) { return 0.0; };
  };

  Meter(const Api& api, const Kubectl& kubectl, Settings settings)
      : api_(api), kubectl_(kubectl), settings_(std::move(settings)) {
    kubectl_.apply(definition("nodes", "NodeMetrics", "Cluster"));
    kubectl_.apply(definition("pods", "PodMetrics", "Namespaced"));
    kubectl_({"wait", "--for=condition=Established", "--timeout=60s", "crd/nodes.metrics.k8s.io",
              "crd/pods.metrics.k8s.io"});
    // A CRD is Established shortly before its objects are served.
    await("metrics.k8s.io to be served", [&](std::string& seen) {
      const HttpAnswer nodes = api_.request("GET", std::string("/apis/") + kGroup + "/v1beta1/nodes");
      const HttpAnswer pods = api_.request("GET", std::string("/apis/") + kGroup + "/v1beta1/pods");
      seen = nodes.body + pods.body;
      return nodes.code == 200 && pods.code == 200;
    });
  }
  ~Meter() { kubectl_.attempt({"delete", "crd", "nodes.metrics.k8s.io", "pods.metrics.k8s.io", "--wait=true"}); }
  Meter(const Meter&) = delete;
  Meter& operator=(const Meter&) = delete;

  /// Measures again if the last measurement is old. Returns each node's load as a share of the node.
  const std::map<std::string, double>& measure() {
    const auto now = std::chrono::steady_clock::now();
    if (now < next_) return loads_;
    next_ = now + std::chrono::seconds(2);
    measured_at_ = std::time(nullptr);  // time of reading, not of publishing
    loads_.clear();
    for (const Json& node : api_.list(path::nodes())) {
      const std::string name = text_at(node, "/metadata/name");
      loads_[name] = settings_.base(name);
    }
    for (const Json& pod : api_.list(path::pods(settings_.ns))) {
      if (text_at(pod, "/status/phase") == "Running") publish_pod(pod);
    }
    for (const auto& [node, load] : loads_)
      publish("nodes/" + node, sample("NodeMetrics", node, {{"usage", usage(load)}}));
    return loads_;
  }

 private:
  static Json definition(const std::string& plural, const std::string& kind, const std::string& scope) {
    const Json schema = {{"openAPIV3Schema", {{"type", "object"}, {"x-kubernetes-preserve-unknown-fields", true}}}};
    const Json version = {{"name", "v1beta1"}, {"served", true}, {"storage", true}, {"schema", schema}};
    return {{"apiVersion", "apiextensions.k8s.io/v1"},
            {"kind", "CustomResourceDefinition"},
            {"metadata",
             {{"name", plural + "." + kGroup},
              {"annotations", {{"api-approved.kubernetes.io", "https://github.com/kubernetes/metrics"}}}}},
            {"spec",
             {{"group", kGroup},
              {"scope", scope},
              {"names", {{"plural", plural}, {"kind", kind}}},
              {"versions", Json::array({version})}}}};
  }
  Json usage(double share) const {
    return {{"cpu", std::to_string(std::lround(share * settings_.cores * 1e6)) + "u"}, {"memory", "64Mi"}};
  }
  Json sample(const char* kind, const std::string& name, Json object) const {
    char time[32];
    std::strftime(time, sizeof time, "%Y-%m-%dT%H:%M:%SZ", std::gmtime(&measured_at_));
    object.update({{"apiVersion", std::string(kGroup) + "/v1beta1"},
                   {"kind", kind},
                   {"metadata", {{"name", name}}},
                   {"timestamp", time},
                   {"window", "1s"}});  // an instantaneous value, not a mean
    return object;
  }
  void publish_pod(const Json& pod) {
    const double use = settings_.use(pod);
    loads_[text_at(pod, "/spec/nodeName")] += use;
    const Json container = {{"name", "main"}, {"usage", usage(use)}};
    const std::string name = text_at(pod, "/metadata/name");
    publish("namespaces/" + settings_.ns + "/pods/" + name,
            sample("PodMetrics", name, {{"containers", Json::array({container})}}));
  }
  void publish(const std::string& target, const Json& object) const {
    const HttpAnswer answer =
        api_.request("PATCH", std::string("/apis/") + kGroup + "/v1beta1/" + target + "?fieldManager=meter&force=true",
                     object.dump(), "application/apply-patch+yaml");
    if (answer.code != 200 && answer.code != 201) throw Failure("cannot publish " + target + ": " + answer.body);
  }

  const Api& api_;
  const Kubectl& kubectl_;
  const Settings settings_;
  std::map<std::string, double> loads_;
  std::chrono::steady_clock::time_point next_{};
  std::time_t measured_at_ = 0;
};

}  // namespace e2e
