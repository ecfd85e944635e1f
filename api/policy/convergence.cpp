#include "api/policy/convergence.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "api/json/lenient.hpp"
#include "api/policy/bounds.hpp"

namespace api {
namespace {

Imbalance imbalance_of(const Json& row, std::string_view name) {
  const Json* json = lenient::object(row, name);
  if (json == nullptr) return {};
  return {lenient::number(*json, "deviation").value_or(0), lenient::number(*json, "peakToMean").value_or(0)};
}

Json encode_imbalance(const Imbalance& imbalance) {
  return {{"deviation", imbalance.deviation}, {"peakToMean", imbalance.peak_to_mean}};
}

}  // namespace

void read_convergence(StrictObject& object, ConvergenceSettings& settings) {
  object.read("patience", settings.patience);
  object.read("minScore", settings.min_score);
}

void validate_convergence(const ConvergenceSettings& settings, const FieldPath& at, FieldErrors& errors) {
  check_number(errors, at.field("patience"), settings.patience, 0, 100);
  check_number(errors, at.field("minScore"), settings.min_score, 0, 100);
}

Json encode_convergence(const ConvergenceSettings& settings) {
  return {{"patience", settings.patience}, {"minScore", settings.min_score}};
}

std::vector<BalanceRow> balance_rows_of(const Json& status) {
  std::vector<BalanceRow> rows;
  const Json* list = lenient::array(status, "balance");
  if (list == nullptr) return rows;
  for (const Json& item : *list) {
    if (!item.is_object() || rows.size() == kMaxBalanceRows) continue;
    rows.push_back({lenient::text(item, "strategy"), lenient::text(item, "resource"), imbalance_of(item, "before"),
                    imbalance_of(item, "after"), lenient::text(item, "state"),
                    lenient::small_integer(item, "withoutGain"), lenient::number(item, "best").value_or(0)});
  }
  return rows;
}

void put_balance_rows(Json& status, const std::vector<BalanceRow>& rows) {
  for (std::size_t i = 0; i < std::min(rows.size(), kMaxBalanceRows); ++i) {
    const BalanceRow& row = rows[i];
    status["balance"].push_back({{"strategy", row.strategy},
                                 {"resource", row.resource},
                                 {"before", encode_imbalance(row.before)},
                                 {"after", encode_imbalance(row.after)},
                                 {"state", row.state},
                                 {"withoutGain", row.without_gain},
                                 {"best", row.best}});
  }
}

}  // namespace api
