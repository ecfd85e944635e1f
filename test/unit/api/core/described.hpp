#pragma once

/// Complete contents of a decoded object as text, for comparison of two decoders.

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
/// Omits the kind, which items of a List contain only in protobuf.
std::string described(const Workload& workload);

}  // namespace api
