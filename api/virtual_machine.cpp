#include "api/virtual_machine.hpp"

#include <algorithm>

namespace api {
namespace {

constexpr std::string_view kRoleLabel = "kubevirt.io";
constexpr std::string_view kDomainAnnotation = "kubevirt.io/domain";
constexpr std::size_t kMaxMachineName = 253;

}  // namespace

bool is_launcher(const Pod& pod) { return pod.meta.labels.value(kRoleLabel) == "virt-launcher"; }

const std::string& machine_of(const Pod& pod) {
  static const std::string kNone;
  if (!is_launcher(pod)) return kNone;
  const std::string& name = pod.meta.annotations.value(kDomainAnnotation);
  return name.size() <= kMaxMachineName ? name : kNone;
}

bool is_hotplug_pod(const Pod& pod) { return pod.meta.labels.value(kRoleLabel) == "hotplug-disk"; }

bool loses_empty_dirs(const Pod& pod) {
  const bool has_any =
      std::ranges::any_of(pod.volumes, [](const Volume& volume) { return volume.kind == VolumeKind::kEmptyDir; });
  return has_any && machine_of(pod).empty();
}

}  // namespace api
