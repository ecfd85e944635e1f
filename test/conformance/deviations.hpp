#pragma once

/// Deliberate differences from upstream, listed in deviations.yaml.

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/result.hpp"

namespace conformance {

struct Deviation {
  std::string name;
  std::string arg;                   ///< JSON pointer into the args
  std::vector<std::string> none_of;  ///< If not empty, the list at `arg` must contain another element
  std::string reason;

  /// Returns whether the arg is set. null and [] count as not set, so that they hide no failure.
  bool applies(const nlohmann::json& args) const;
};

/// Reads and validates the file. It may have at most a dozen rules, each with a condition, a reason and a page that
/// exists below `root`.
base::Result<std::vector<Deviation>> read_deviations(const std::string& path, const std::string& root);

}  // namespace conformance
