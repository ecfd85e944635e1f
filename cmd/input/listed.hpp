#pragma once

#include <functional>
#include <string>

#include "api/json/field_path.hpp"
#include "api/json/json.hpp"
#include "base/result.hpp"

namespace cmd {

/// One object of a document, with the type that it has or that the list around it gives.
struct Listed {
  const api::Json& object;  ///< whatever stands there
  std::string kind;         ///< "" when neither says one
  std::string version;      ///< apiVersion; the same
  api::FieldPath at;
};

/// Calls `each` for the items of a list or of a bare array, else for the document itself. The items of a typed list
/// (PodList) do not say their type. Ends with the first error, which says at which item; a Status of the API server is
/// one.
base::Status for_each_object(const api::Json& document, const api::FieldPath& at,
                             const std::function<base::Status(const Listed&)>& each);

}  // namespace cmd
