#pragma once

/// The cluster's objects, from a dump or from the live cluster.

#include <functional>
#include <string>
#include <vector>

#include "api/json/json.hpp"
#include "base/result.hpp"
#include "cmd/advise/commands.hpp"
#include "kube/resource.hpp"

namespace cmd::advise {

/// A kind to read. Optional ones may be absent or forbidden: then a problem says so.
struct WantedKind {
  kube::ResourceType type;
  bool is_optional = false;
};

/// each(object) for every object of these kinds, with its kind and apiVersion. A dump gives all that it holds, of any
/// kind. Errors are complete for the user.
base::Status read_objects(const ClusterOptions& options, plugin::Io& io, const std::vector<WantedKind>& kinds,
                          const std::function<void(const api::Json&)>& each, std::vector<std::string>& problems);

}  // namespace cmd::advise
