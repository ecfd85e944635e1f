#pragma once

#include <string>

#include "cmd/convert/policy.hpp"

namespace cmd {

struct ConvertOptions {
  std::string file{};           ///< "-" is standard input
  std::string output = "yaml";  ///< yaml, json
  std::string mode = "DryRun";
  std::string compatibility = "Upstream";
  std::string interval{};       ///< between cycles; empty: what the input says, else the default
  std::string chart_version{};  ///< of the Helm chart that values are for; empty: what the input says, else the newest
  bool strict = false;          ///< write nothing when something has no equal
};

/// The strategies that this build has, for api::convert_upstream.
api::StrategyCatalogue strategy_catalogue();

/// The policies as YAML documents, each under comments that say where it came from and what was not converted, or as
/// one JSON object (a List when there are several). REQUIRES: no errors.
std::string render_conversion(const api::Conversion& conversion, const std::string& file, const std::string& output);

/// Policies to standard output, the report to standard error. 1: the input is wrong, nothing of it could be converted,
/// or, with strict, something has no equal. Nothing is written to standard output then.
int run_convert(const ConvertOptions& options);

}  // namespace cmd
