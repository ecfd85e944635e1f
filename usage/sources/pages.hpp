#pragma once

#include <functional>
#include <string>

#include "base/result.hpp"
#include "kube/client.hpp"

namespace usage {

/// Lists all objects of a kind, in pages if the API server supports it. read(page) returns the continue token. Errors
/// name the kind. Errors for an unserved kind and for missing permissions include the fix.
base::Status read_pages(kube::Client& client, const kube::ResourceType& type,
                        const std::function<base::Result<std::string>(std::string& page)>& read);

}  // namespace usage
