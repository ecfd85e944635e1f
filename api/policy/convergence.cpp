#include "api/policy/convergence.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "api/json/fields.hpp"
#include "api/policy/bounds.hpp"

namespace api {
template <>
inline constexpr auto kFields<Imbalance> =
    std::tuple{always("deviation", &Imbalance::deviation), always("peakToMean", &Imbalance::peak_to_mean)};

template <>
inline constexpr auto kFields<BalanceRow> =
    std::tuple{always("strategy", &BalanceRow::strategy), always("resource", &BalanceRow::resource),
               always("before", &BalanceRow::before),     always("after", &BalanceRow::after),
               always("state", &BalanceRow::state),       always("withoutGain", &BalanceRow::without_gain),
               always("best", &BalanceRow::best)};

template <>
inline constexpr auto kFields<ConvergenceSettings> =
    std::tuple{always("patience", &ConvergenceSettings::patience), always("minScore", &ConvergenceSettings::min_score)};

void read_convergence(StrictObject& object, ConvergenceSettings& settings) { read_fields(object, settings); }
Json encode_convergence(const ConvergenceSettings& settings) { return encode_fields(settings); }

void validate_convergence(const ConvergenceSettings& settings, const FieldPath& at, FieldErrors& errors) {
  check_number(errors, at.field("patience"), settings.patience, 0, 100);
  check_number(errors, at.field("minScore"), settings.min_score, 0, 100);
}

std::vector<BalanceRow> balance_rows_of(const Json& status) {
  std::vector<BalanceRow> rows;
  lenient::read(status, "balance", rows);
  if (rows.size() > kMaxBalanceRows) rows.resize(kMaxBalanceRows);
  return rows;
}

void put_balance_rows(Json& status, const std::vector<BalanceRow>& rows) {
  if (!rows.empty()) status["balance"] = encode(rows, kMaxBalanceRows);
}

}  // namespace api
