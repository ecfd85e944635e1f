#pragma once

/// Everything that a decoded object says, as text: what two decoders must agree on.

#include <string>

#include "api/core/kinds.hpp"

namespace api {

std::string described(const Pod& pod);
std::string described(const Node& node);
std::string described(const PodDisruptionBudget& pdb);
std::string described(const Namespace& ns);
std::string described(const PriorityClass& priority_class);
std::string described(const PersistentVolumeClaim& claim);
std::string described(const PersistentVolume& volume);
std::string described(const StorageClass& storage_class);
std::string described(const CsiNode& node);
/// Without the kind, which items of a List say in protobuf only.
std::string described(const Workload& workload);

}  // namespace api
