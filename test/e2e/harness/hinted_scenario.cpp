#include "test/e2e/harness/hinted_scenario.hpp"

namespace e2e {
namespace {

const std::string kConfiguration =
    "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations/evacuator-placement";

Json webhook_configuration(std::uint16_t port) {
  return {{"apiVersion", "admissionregistration.k8s.io/v1"},
          {"kind", "MutatingWebhookConfiguration"},
          {"metadata", {{"name", "evacuator-placement"}}},
          {"webhooks",
           Json::array({{{"name", "placement.evacuator.dev"},
                         {"admissionReviewVersions", Json::array({"v1"})},
                         {"clientConfig", {{"url", "https://127.0.0.1:" + std::to_string(port) + "/place-pod"}}},
                         {"rules", Json::array({{{"operations", Json::array({"CREATE"})},
                                                 {"apiGroups", Json::array({""})},
                                                 {"apiVersions", Json::array({"v1"})},
                                                 {"resources", Json::array({"pods"})}}})},
                         {"failurePolicy", "Ignore"},
                         {"sideEffects", "None"},
                         {"reinvocationPolicy", "Never"},
                         {"timeoutSeconds", 1}}})}};
}

}  // namespace

HintedScenario::HintedScenario() {
  if (cluster().has_rbac()) kubectl()({"apply", "-f", role()});
}

HintedScenario::~HintedScenario() {
  api().remove(kConfiguration);
  if (!cluster().has_rbac()) return;
  const Finished done = kubectl().attempt({"delete", "-f", role(), "--ignore-not-found"});
  if (!done.ok()) note("taking the role of the webhook back: " + done.err);
}

Operator& HintedScenario::start_hinting_operator(std::uint16_t called) {
  const std::uint16_t served = free_port();
  Operator::Settings settings;
  settings.webhook = "{enabled: true, address: '127.0.0.1:" + std::to_string(served) + "'}";
  Operator& op = start_operator(settings);
  kubectl().apply(webhook_configuration(called == 0 ? served : called));
  await("the operator to be trusted", [&](std::string& seen) {
    const Json now = api().get(kConfiguration);
    seen = now.dump() + "\n" + op.log_tail();
    return !text_at(now, "/webhooks/0/clientConfig/caBundle").empty();
  });
  return op;
}

std::string HintedScenario::role() { return std::string(EVACUATOR_SOURCE_DIR) + "/config/placement-webhook/role.yaml"; }

}  // namespace e2e
