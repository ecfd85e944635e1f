#pragma once

/// Text and JSON output of `advise requests`. Pure functions.

#include <string>
#include <vector>

#include "advisor/requests.hpp"
#include "advisor/waste.hpp"
#include "api/json/json.hpp"

namespace cmd::advise {

/// Input of the output functions.
struct RequestsReport {
  std::vector<advisor::Advice> advice;
  std::vector<advisor::Waste> waste;
  std::vector<std::string> problems;
  advisor::Rules rules;
  advisor::Prices prices;
  std::string currency;
};

/// Returns the table of advice, its notes, the containers without advice, and the waste.
std::string requests_text(const RequestsReport& report);
api::Json requests_json(const RequestsReport& report);

}  // namespace cmd::advise
