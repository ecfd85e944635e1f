#pragma once

/// How `advise requests` is shown. Pure.

#include <string>
#include <vector>

#include "advisor/requests.hpp"
#include "advisor/waste.hpp"
#include "api/json/json.hpp"

namespace cmd::advise {

/// All that there is to show.
struct RequestsReport {
  std::vector<advising::Advice> advice;
  std::vector<advising::Waste> waste;
  std::vector<std::string> problems;
  advising::Rules rules;
  advising::Prices prices;
  std::string currency;
};

/// The table, what is to be known of its rows, containers without advice, and the waste.
std::string requests_text(const RequestsReport& report);
api::Json requests_json(const RequestsReport& report);

}  // namespace cmd::advise
