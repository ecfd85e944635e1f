#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "api/json/json.hpp"
#include "base/result.hpp"

namespace cmd {

/// Handling of duplicate keys in an object.
enum class RepeatedKeys { kRefuse, kLastWins };

/// Parses text in the forms that shells and kubectl produce: YAML documents; concatenated JSON values, with or without
/// line breaks; concatenated outputs of `kubectl get -o yaml` without "---"; and mixtures of JSON and YAML. Empty
/// documents are skipped. kLastWins makes JSON parsing faster; YAML always rejects duplicate keys. Errors contain the
/// line.
base::Result<std::vector<api::Json>> parse_documents(std::string_view text, RepeatedKeys keys);

/// Parses the documents of a file (read_text_file). Errors name the file.
base::Result<std::vector<api::Json>> read_documents(const std::string& path, std::size_t limit,
                                                    RepeatedKeys keys = RepeatedKeys::kRefuse);

}  // namespace cmd
