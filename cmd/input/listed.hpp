#pragma once

#include <functional>
#include <string>

#include "api/json/field_path.hpp"
#include "api/json/json.hpp"
#include "base/result.hpp"

namespace cmd {

/// An object of a document, with its type or that of the surrounding list.
struct Listed {
  const api::Json& object;  ///< any JSON value
  std::string kind;         ///< empty if neither specifies one
  std::string version;      ///< apiVersion, empty if neither specifies one
  api::FieldPath at;
};

/// Calls `each` for the items of a list or of a bare array, else for the document itself. Items of a typed list
/// (PodList) get their type from the list. Stops at the first error, which names the item. A Status object of the API
/// server is an error.
base::Status for_each_object(const api::Json& document, const api::FieldPath& at,
                             const std::function<base::Status(const Listed&)>& each);

}  // namespace cmd
