#pragma once

/// What an input in which no policy was found may be, for its error. Internal to api/upstream.

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>

#include "api/json/field_path.hpp"
#include "api/json/json.hpp"

namespace api::upstream {

/// Behind an error about a text that is no object.
inline constexpr std::string_view kHowToGet =
    "; give it YAML or JSON, such as `kubectl get configmap NAME -o yaml` or `helm get values --all RELEASE` prints";

/// What is wrong because it is not rendered yet, or no manifest at all; "" when nothing looks so.
std::string template_hint(std::string_view text);

/// The command that makes manifests of an object that is none itself; "": it is none of these.
std::string renderer_of(const Json& json);

/// Where inside of `json` a policy, values of the chart or a KubeDescheduler seem to stand, the first; nullopt:
/// nowhere. Looks 32 levels deep.
std::optional<FieldPath> deeper_policy(const Json& json, const FieldPath& at);

}  // namespace api::upstream
