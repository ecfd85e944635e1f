#pragma once

/// Renders advice as files to review, merge and apply with common tools. Pure: does not write files.

#include <string>
#include <vector>

#include "advisor/requests.hpp"

namespace advisor {

/// File with its path relative to the folder of patches.
struct PatchFile {
  std::string path;
  std::string text;
};

struct Patches {
  std::vector<PatchFile> files;       ///< kustomization.yaml first, unless there are no files
  std::vector<std::string> left_out;  ///< "shop/Deployment/web app: cpu: HPA web scales …", human-readable
};

/// Returns a strategic merge patch for each workload whose template is known, and a kustomize component that lists
/// them. Conflicting changes are left out unless `include_conflicts`. Names that are not valid Kubernetes names get no
/// file.
Patches patches_of(const Inventory& inventory, const std::vector<Advice>& advice, bool include_conflicts);

/// Format recommendations as quantities: "250m", "128Mi".
std::string cpu_quantity(double cores);
std::string memory_quantity(double bytes);

}  // namespace advisor
