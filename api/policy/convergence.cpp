#include "api/policy/convergence.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "api/json/fields.hpp"
#include "api/policy/bounds.hpp"

namespace api {
template <>
inline constexpr auto kFields<ConvergenceSettings> =
    std::tuple{always("patience", &ConvergenceSettings::patience), always("minScore", &ConvergenceSettings::min_score)};

void read_convergence(StrictObject& object, ConvergenceSettings& settings) { read_fields(object, settings); }
Json encode_convergence(const ConvergenceSettings& settings) { return encode_fields(settings); }

void validate_convergence(const ConvergenceSettings& settings, const FieldPath& at, FieldErrors& errors) {
  check_number(errors, at.field("patience"), settings.patience, 0, 100);
  check_number(errors, at.field("minScore"), settings.min_score, 0, 100);
}

}  // namespace api
