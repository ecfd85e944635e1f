#pragma once

#include <string>

#include "cmd/convert/policy.hpp"

namespace cmd {

struct ConvertOptions {
  std::string file{};           ///< "-" is standard input
  std::string output = "yaml";  ///< yaml, json
  std::string mode = "DryRun";
  std::string compatibility = "Upstream";
  std::string interval{};       ///< interval between cycles; if empty, that of the input, else the default
  std::string chart_version{};  ///< version of the Helm chart; if empty, that of the input, else the newest
  bool strict = false;          ///< write nothing if a part of the input has no equivalent
};

/// Returns the strategies of this build, for api::convert_upstream.
api::StrategyCatalogue strategy_catalogue();

/// Returns the policies as YAML documents, each with comments on its source and on what was not converted, or as one
/// JSON object (a List if there are several). REQUIRES: no errors.
std::string render_conversion(const api::Conversion& conversion, const std::string& file, const std::string& output);

/// Writes policies to standard output and the report to standard error. Returns 1, with nothing on standard output, if
/// the input is invalid, if no part of it could be converted, or, with strict, if a part has no equivalent.
int run_convert(const ConvertOptions& options);

}  // namespace cmd
