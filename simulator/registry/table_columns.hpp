#pragma once

/// kubectl's columns of the built-in kinds.

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
  int priority;  ///< above 0: only with -o wide
  Cell cell;
};
using Columns = std::vector<Column>;

/// By name and age, if we know no more of the kind.
const Columns& columns_of(const ServedResource& resource);

/// How long ago an RFC 3339 time was, "<unknown>" for anything else.
std::string age_text(const std::string& time, base::TimePoint now);

}  // namespace simulator
