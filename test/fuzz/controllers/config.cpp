/// Any text as the operator's configuration: no crash, an accepted configuration is valid, calls only allowed services,
/// and can be written to the audit log.

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "api/meta/service_uses.hpp"
#include "controllers/operator/audit_config.hpp"
#include "controllers/operator/operator_config.hpp"

namespace {

void require(bool holds) {
  if (!holds) std::abort();
}

bool lists(const std::vector<std::string>& values, std::string_view wanted) {
  return std::ranges::find(values, wanted) != values.end();
}

/// Only listed uses and namespaces are allowed.
void check_service(const controllers::ServiceConfig& service) {
  for (const std::string_view use : api::kServiceUses) {
    for (const std::string_view ns : {"shop", "bank"}) {
      const bool has_namespace = lists(service.namespaces, ns) || lists(service.namespaces, "*");
      require(controllers::refusal(service, use, ns).empty() == (has_namespace && lists(service.uses, use)));
    }
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  const auto config = controllers::parse_operator_config(text);
  if (!config) {
    require(!config.error().message.empty());
    return 0;
  }
  require(controllers::validate(*config).empty());
  require(config->qps > 0 && config->workers >= 1 && config->burst >= 1);
  require(config->leader_election.lease_duration > config->leader_election.renew_deadline);
  for (const auto& service : config->services) check_service(service);
  static_cast<void>(controllers::record_of_configuration(*config, "/etc/evacuator/config.yaml", text));
  return 0;
}
