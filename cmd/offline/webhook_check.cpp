#include "cmd/offline/webhook_check.hpp"

#include <fmt/format.h>

#include <array>
#include <nlohmann/json.hpp>
#include <random>
#include <thread>

#include "api/json/strict_object.hpp"
#include "api/meta/service_uses.hpp"
#include "cmd/commands.hpp"
#include "cmd/output.hpp"
#include "controllers/operator/http_services.hpp"

namespace cmd {
namespace {

using Outcome = WebhookRule::Outcome;

constexpr std::array kOutcomes = {api::WireName{Outcome::kPassed, "passed"}, api::WireName{Outcome::kFailed, "failed"},
                                  api::WireName{Outcome::kSkipped, "skipped"}};

void print_rules(const std::vector<WebhookRule>& rules) {
  for (const WebhookRule& rule : rules) {
    print_out("{:<8}{:<24}{}\n", api::name_of(kOutcomes, rule.outcome), rule.name, rule.says);
    if (!rule.detail.empty()) print_out("{:<8}{:<24}  {}\n", "", "", rule.detail);
  }
  print_out("{}\n", all_hold(rules) ? "The service conforms to the contract." : "The service violates the contract.");
}

void print_rules_as_json(const std::vector<WebhookRule>& rules) {
  api::Json list = api::Json::array();
  for (const WebhookRule& rule : rules) {
    list.push_back({{"rule", rule.name}, {"says", rule.says}, {"verdict", api::name_of(kOutcomes, rule.outcome)}});
    if (!rule.detail.empty()) list.back()["detail"] = rule.detail;
  }
  const api::Json document = {{"conforms", all_hold(rules)}, {"rules", std::move(list)}};
  print_out("{}\n", document.dump(2, ' ', false, api::Json::error_handler_t::replace));
}

/// Converts the options to a service of the operator's configuration and validates it as such.
base::Result<controllers::ServiceConfig> service_of(const WebhookCheckOptions& options) {
  controllers::ServiceConfig service{"webhook-check",   options.url,      options.ca_file,  options.token_file,
                                     options.cert_file, options.key_file, base::seconds(10)};
  service.namespaces = {"*"};
  service.uses = {std::string(api::kServiceAsWebhook)};
  const auto timeout = base::parse_duration(options.timeout);
  if (!timeout) return base::invalid(fmt::format("--timeout: \"{}\" is not a duration such as 10s", options.timeout));
  service.timeout = *timeout;
  if (const auto errors = controllers::validate({service}); !errors.empty()) return api::to_error(errors);
  return service;
}

base::Result<api::ObjectKey> pod_of(const std::string& text) {
  const auto slash = text.find('/');
  if (slash == std::string::npos || slash == 0 || slash + 1 == text.size())
    return base::invalid(fmt::format("--pod: \"{}\" must be NAMESPACE/NAME", text));
  return api::ObjectKey{text.substr(0, slash), text.substr(slash + 1)};
}

base::Result<std::unique_ptr<controllers::HttpServices>> anonymous(controllers::ServiceConfig service,
                                                                   const base::Clock& clock) {
  service.token_file.clear();
  service.cert_file.clear();
  service.key_file.clear();
  return controllers::HttpServices::create({service}, clock);
}

base::Result<std::vector<WebhookRule>> run_check(const WebhookCheckOptions& options) {
  static const base::SystemClock clock;
  const auto service = service_of(options);
  if (!service) return service.error();
  const auto pod = pod_of(options.pod);
  if (!pod) return pod.error();
  const auto patience = base::parse_duration(options.patience);
  if (!patience) return base::invalid(fmt::format("--patience: \"{}\" is not a duration such as 1m", options.patience));
  const auto ours = controllers::HttpServices::create({*service}, clock, controllers::HttpServices::Trust::kCaller);
  if (!ours) return ours.error();
  const auto nobodys = anonymous(*service, clock);
  if (!nobodys) return nobodys.error();
  const controllers::evacuation::ServiceCall call{service->name, std::string(api::kServiceAsWebhook), pod->ns};
  WebhookUnderTest target{[&](const kube::Request& request) { return (*ours)->send(call, request); },
                          {},
                          [](base::Duration pause) { std::this_thread::sleep_for(pause); },
                          clock,
                          *pod,
                          options.pod_uid,
                          options.node,
                          fmt::format("{:08x}", std::random_device()()),
                          *patience};
  const bool identifies = !service->token_file.empty() || !service->cert_file.empty();
  if (identifies)
    target.call_anonymously = [&](const kube::Request& request) { return (*nobodys)->send(call, request); };
  return check_webhook(target);
}

}  // namespace

int run_webhook_check(const WebhookCheckOptions& options) {
  const auto rules = run_check(options);
  if (!rules) {
    print_err("evacuator webhook-check: {}\n", rules.error().message);
    return 2;
  }
  options.output == "json" ? print_rules_as_json(*rules) : print_rules(*rules);
  return all_hold(*rules) ? 0 : 1;
}

}  // namespace cmd
