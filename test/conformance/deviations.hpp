#pragma once

/// Differences that are meant: deviations.yaml.

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/result.hpp"

namespace conformance {

struct Deviation {
  std::string name;
  std::string arg;                   ///< JSON pointer into the args
  std::vector<std::string> none_of;  ///< not empty: some element there is none of these
  std::string reason;

  /// The arg is there and asks for something: null and [] are as good as none, and must hide nothing.
  bool applies(const nlohmann::json& args) const;
};

/// Reads the file and checks it: at most a dozen rules, each with a condition, a reason and a page that exists below
/// `root`.
base::Result<std::vector<Deviation>> read_deviations(const std::string& path, const std::string& root);

}  // namespace conformance
