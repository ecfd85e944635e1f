/// Amount of data that a live migration copies, by KubeVirt's rules.

#include <algorithm>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

#include "api/json/json_access.hpp"
#include "api/meta/quantity.hpp"
#include "api/meta/well_known.hpp"
#include "evictors/kubevirt/facts.hpp"

namespace evictors::kubevirt {
namespace {

using api::Json;

constexpr std::int64_t kGb = 1'000'000'000;
constexpr std::int64_t kMaxGb = 64 * 1024;
constexpr std::int64_t kMaxBytes = kMaxGb * kGb;
constexpr std::int64_t kUsualPerGib = 150;
constexpr std::int64_t kDisruptionFactor = 2;
constexpr base::seconds kMinTotal{1800};
constexpr base::seconds kSlack{900};
constexpr base::seconds kMaxTotal{7 * 86'400};
constexpr std::size_t kMaxVolumes = 256;

std::int64_t bounded(std::int64_t bytes) { return std::clamp<std::int64_t>(bytes, 0, kMaxBytes); }

/// Returns the quantity at `path` in bytes, or nullopt.
std::optional<std::int64_t> bytes_at(const Json& object, std::initializer_list<std::string_view> path) {
  const auto quantity = api::Quantity::parse(api::text_at(object, path));
  return quantity ? std::optional(bounded(quantity->units())) : std::nullopt;
}

/// Size of a PVC by KubeVirt's rule: the smaller of capacity and request.
std::int64_t claim_size(const Json& volume, std::string_view info) {
  const auto capacity = bytes_at(volume, {info, "capacity", "storage"});
  const auto requested = bytes_at(volume, {info, "requests", "storage"});
  return capacity && requested ? std::min(*capacity, *requested) : 0;
}

std::int64_t migrated_volumes(const Json& vmi) {
  std::int64_t bytes = 0;
  std::size_t count = 0;
  for (const Json& volume : api::items_at(vmi, {"status", "migratedVolumes"})) {
    if (++count > kMaxVolumes) break;
    bytes = bounded(bytes + claim_size(volume, "sourcePVCInfo"));
  }
  return bytes;
}

/// Returns the size in the VMI's status for the volume with that name.
std::int64_t reported_size(const Json& vmi, const std::string& name) {
  for (const Json& status : api::items_at(vmi, {"status", "volumeStatus"})) {
    if (api::text_at(status, {"name"}) != name) continue;
    const auto size = api::number_at(status, {"size"});
    return std::max(bounded(size.value_or(0)), claim_size(status, "persistentVolumeClaimInfo"));
  }
  return 0;
}

std::int64_t ephemeral_disks(const Json& vmi) {
  std::int64_t bytes = 0;
  std::size_t count = 0;
  for (const Json& volume : api::items_at(vmi, {"spec", "volumes"})) {
    if (++count > kMaxVolumes) break;
    const bool ephemeral =
        std::ranges::any_of(std::initializer_list<std::string_view>{"emptyDisk", "ephemeral", "containerDisk"},
                            [&](std::string_view kind) { return api::find_at(volume, {kind}); });
    if (!ephemeral) continue;
    const std::int64_t empty = bytes_at(volume, {"emptyDisk", "capacity"}).value_or(0);
    bytes = bounded(bytes + std::max(empty, reported_size(vmi, api::text_at(volume, {"name"}))));
  }
  return bytes;
}

std::int64_t memory_of_pod(const api::Pod& pod) {
  std::int64_t bytes = 0;
  for (const api::Container& container : pod.containers) {
    for (const auto& [name, amount] : container.requests) {
      if (name == api::well_known::kMemory) bytes = bounded(bytes + bounded(amount.units()));
    }
  }
  return bytes;
}

}  // namespace

std::int64_t disks_to_copy(const Json& vmi) {
  const bool by_blocks = api::text_at(vmi, {"status", "migrationMethod"}) == "BlockMigration";
  return bounded(migrated_volumes(vmi) + (by_blocks ? ephemeral_disks(vmi) : 0));
}

base::seconds migration_timeout(const VmFacts& vmi, const VmSystem& system, const api::Pod* pod, int tries) {
  const std::int64_t memory = vmi.memory_bytes ? bounded(*vmi.memory_bytes) : pod ? memory_of_pod(*pod) : 0;
  const std::int64_t bytes = bounded(memory + vmi.disk_bytes);
  const std::int64_t gb = bytes / kGb + (bytes % kGb > 0 ? 1 : 0);
  const std::int64_t per_gb = vmi.settings.per_gib.value_or(system.settings.per_gib.value_or(kUsualPerGib));
  if (per_gb == 0) return kMaxTotal;
  const bool disrupts = vmi.settings.disrupts.value_or(system.settings.disrupts.value_or(false));
  const std::int64_t factor = vmi.settings.factor.value_or(system.settings.factor.value_or(1));
  const base::seconds copying{per_gb * gb * (disrupts ? kDisruptionFactor : 1) * factor * tries};
  return std::clamp(kSlack + copying, kMinTotal, kMaxTotal);
}

}  // namespace evictors::kubevirt
