#pragma once

/// Reads objects from a dump or from the live cluster.

#include <functional>
#include <string>
#include <vector>

#include "api/json/json.hpp"
#include "base/result.hpp"
#include "cmd/advise/commands.hpp"
#include "kube/resource.hpp"

namespace cmd::advise {

/// A kind to read. An optional kind may be absent or forbidden, which is reported as a problem.
struct RequestedKind {
  kube::ResourceType type;
  bool is_optional = false;
};

/// Calls each(object) for every object of these kinds, with kind and apiVersion set. A dump yields every object it
/// contains, of any kind. Error messages are complete for the user.
base::Status read_objects(const ClusterOptions& options, plugin::Io& io, const std::vector<RequestedKind>& kinds,
                          const std::function<void(const api::Json&)>& each, std::vector<std::string>& problems);

}  // namespace cmd::advise
