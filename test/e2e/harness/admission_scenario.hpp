#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <fstream>
#include <sstream>
#include <string>

#include "api/json/yaml.hpp"
#include "test/e2e/harness/scenario.hpp"

namespace e2e {

/// A scenario in which the API server calls the admission webhook, with the configurations of config/. They and the
/// role are removed at the end.
class AdmissionScenario : public Scenario {
 protected:
  AdmissionScenario() {
    if (cluster().has_rbac()) kubectl()({"apply", "-f", manifest_file("role.yaml")});
  }
  ~AdmissionScenario() override {
    stop_calling();
    if (!cluster().has_rbac()) return;
    const Finished done = kubectl().attempt({"delete", "-f", manifest_file("role.yaml"), "--ignore-not-found"});
    if (!done.ok()) note("taking the role of the webhook back: " + done.err);
  }

  static std::string mutating() { return path_of("mutatingwebhookconfigurations"); }
  static std::string validating() { return path_of("validatingwebhookconfigurations"); }

  void stop_calling() const {
    for (const std::string& each : {mutating(), validating()}) api().remove(each);
  }
  /// Applies the configurations of config/ with a URL instead of the Service, because there is no pod network.
  void call(std::uint16_t port) const {
    std::stringstream text;
    text << std::ifstream(manifest_file("webhook.yaml")).rdbuf();
    const auto documents = api::parse_yaml(text.str());
    ASSERT_TRUE(documents) << documents.error().message;
    for (Json configuration : *documents) {
      for (Json& webhook : configuration["webhooks"]) {
        const std::string path = webhook["clientConfig"]["service"]["path"];
        webhook["clientConfig"] = {{"url", "https://127.0.0.1:" + std::to_string(port) + path}};
      }
      kubectl().apply(configuration);
    }
  }
  /// Returns settings of an operator that serves the webhook on this port.
  static Operator::Settings serving_at(std::uint16_t port) {
    Operator::Settings settings;
    settings.webhook = "{address: '127.0.0.1:" + std::to_string(port) + "', admission: {enabled: true}}";
    return settings;
  }
  void await_trust(const Operator& op) {
    await("the operator to be trusted", [&](std::string& seen) {
      bool all = true;
      for (const std::string& path : {mutating(), validating()}) {
        const Json now = api().get(path);
        seen += now.dump() + "\n";
        for (const Json& webhook : now["webhooks"]) all = all && !text_at(webhook, "/clientConfig/caBundle").empty();
      }
      seen += op.log_tail();
      return all;
    });
  }
  Finished apply(const Json& object) const { return kubectl().attempt({"apply", "-f", "-"}, object.dump()); }

 private:
  static std::string manifest_file(const char* name) {
    return std::string(EVACUATOR_SOURCE_DIR) + "/config/admission-webhook/" + name;
  }
  static std::string path_of(const char* plural) {
    return std::string("/apis/admissionregistration.k8s.io/v1/") + plural + "/evacuator-admission";
  }
};

}  // namespace e2e
