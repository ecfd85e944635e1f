#pragma once

/// Table columns of the built-in kinds, same as kubectl's.

#include <functional>
#include <string>
#include <vector>

#include "api/json/json.hpp"
#include "base/clock.hpp"
#include "simulator/registry/registry.hpp"

namespace simulator {

struct Column {
  using Cell = std::function<api::Json(const api::Json& object, base::TimePoint now)>;

  const char* name;
  const char* type;
  int priority;  ///< columns above 0 are shown only with -o wide
  Cell cell;
};
using Columns = std::vector<Column>;

/// Returns the columns of the kind, or name and age for kinds without specific columns.
const Columns& columns_of(const ServedResource& resource);

/// Returns the age of an RFC 3339 time, "<unknown>" if invalid.
std::string age_text(const std::string& time, base::TimePoint now);

}  // namespace simulator
