#pragma once

/// Advice as files that people review, merge and apply with the tools they have. Pure: nothing is written here.

#include <string>
#include <vector>

#include "advisor/requests.hpp"

namespace advising {

/// A file by its path below the folder of patches.
struct PatchFile {
  std::string path;
  std::string text;
};

struct Patches {
  std::vector<PatchFile> files;       ///< kustomization.yaml first, if there are any
  std::vector<std::string> left_out;  ///< "shop/Deployment/web app: cpu: HPA web scales …", for people
};

/// A strategic merge patch for each workload whose template is known, and a kustomize component that names them all.
/// What conflicts is left out unless `include_conflicts`. Names that are none of Kubernetes' make no file.
Patches patches_of(const Inventory& inventory, const std::vector<Advice>& advice, bool include_conflicts);

/// "250m", "128Mi": as recommendations are written.
std::string cpu_quantity(double cores);
std::string memory_quantity(double bytes);

}  // namespace advising
