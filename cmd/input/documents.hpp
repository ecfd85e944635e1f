#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "api/json/json.hpp"
#include "base/result.hpp"

namespace cmd {

/// A key that stands twice in one object.
enum class RepeatedKeys { kRefuse, kLastWins };

/// The values of a text as shells and kubectl make them: YAML documents; JSON values one after the other, on lines of
/// their own or not; outputs of several `kubectl get -o yaml` without "---" between them; and JSON behind YAML or the
/// other way round. Empty documents are left out. With kLastWins JSON is read faster; YAML always refuses. Errors say
/// at which line.
base::Result<std::vector<api::Json>> parse_documents(std::string_view text, RepeatedKeys keys);

/// The same of a file (read_text_file); errors name it.
base::Result<std::vector<api::Json>> read_documents(const std::string& path, std::size_t limit,
                                                    RepeatedKeys keys = RepeatedKeys::kRefuse);

}  // namespace cmd
