#include "kube/runtime/discovery_watch.hpp"

#include <fmt/format.h>

namespace kube {
namespace {

std::string name_of(const std::optional<ResourceType>& type) { return type ? type->api_version() : "none"; }

std::string name_of(bool served) { return served ? "served" : "not served"; }

}  // namespace

std::string relevant_change(const Discovery& before, const Discovery& now) {
  std::string text;
  const auto compare = [&](const char* what, const std::string& was, const std::string& is) {
    if (was != is) text += fmt::format("{}{}: {} before, {} now", text.empty() ? "" : "; ", what, was, is);
  };
  compare("Eviction", before.eviction_version, now.eviction_version);
  compare("PodDisruptionBudgets", before.pdbs.api_version(), now.pdbs.api_version());
  compare("ResourceClaims", name_of(before.resource_claims), name_of(now.resource_claims));
  compare("PodGroups", name_of(before.pod_groups), name_of(now.pod_groups));
  compare("the EvictionRequest API", name_of(before.has_native_evictions), name_of(now.has_native_evictions));
  return text;
}

DiscoveryWatch::DiscoveryWatch(Client& client, const base::Clock& clock, Discovery known, base::Log log)
    : client_(client),
      clock_(clock),
      known_(std::move(known)),
      log_(std::move(log)),
      next_check_(clock.now() + kInterval) {}

std::optional<std::string> DiscoveryWatch::step() {
  if (clock_.now() < next_check_) return std::nullopt;
  next_check_ = clock_.now() + kInterval;
  const auto found = discover(client_);
  if (!found) {
    log_.debug("cannot read which APIs the server serves", {base::kv("error", found.error())});
    return std::nullopt;
  }
  std::string change = relevant_change(known_, *found);
  if (!change.empty() && change == seen_) return change;
  seen_ = std::move(change);
  if (!seen_.empty()) next_check_ = clock_.now() + kSecondLook;
  return std::nullopt;
}

}  // namespace kube
