#pragma once

/// Files that the tests of the CRDs read.

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <string>

#include "api/json/yaml.hpp"
#include "test/unit/api/api_reference.hpp"

namespace crd_test {

using api::Json;

inline const std::filesystem::path kRoot = EVACUATOR_SOURCE_DIR;

inline std::string file_text(const std::filesystem::path& path) {
  std::ifstream in(path);
  EXPECT_TRUE(in) << path;
  return {std::istreambuf_iterator<char>(in), {}};
}

/// `index` 0 is Evacuation, 1 is DeschedulerPolicy.
inline Json crd_at(std::size_t index) {
  return api::parse_yaml(file_text(kRoot / "crds" / api_reference::kCrdFiles[index]))->at(0);
}

inline bool is_refused(const Json& schema) {
  const auto rules = schema.find("x-kubernetes-validations");
  return rules != schema.end() && rules->at(0).at("rule") == "false";
}

}  // namespace crd_test
