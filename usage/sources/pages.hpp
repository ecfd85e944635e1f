#pragma once

#include <functional>
#include <string>

#include "base/result.hpp"
#include "kube/client.hpp"

namespace usage {

/// Asks the API server for all objects of a kind, page by page where it makes pages; read(page) returns the continue
/// token. Errors name the kind; a kind that is not served and missing rights come with what to do about it.
base::Status read_pages(kube::Client& client, const kube::ResourceType& type,
                        const std::function<base::Result<std::string>(std::string& page)>& read);

}  // namespace usage
