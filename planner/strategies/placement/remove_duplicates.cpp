#include "planner/strategies/placement/remove_duplicates.hpp"

#include "planner/strategies/placement/spread_duplicates.hpp"
#include "planner/strategies/placement/spread_duplicates_upstream.hpp"

namespace strategies {

RemoveDuplicates::Args RemoveDuplicates::Args::read(api::StrictObject& args) {
  Args parsed;
  parsed.scope = read_scope(args);
  args.read("excludeOwnerKinds", parsed.exclude_owner_kinds);
  return parsed;
}

base::Status RemoveDuplicates::nominate(const StrategyContext& context, NominationSink& sink) const {
  if (context.is_upstream()) {
    const UnevenCounts before = count_duplicates(context, sink, args_);
    const auto judged = spread_duplicates_upstream(context, sink, args_);
    report_counts(kCountsOfDuplicates, before, explain_duplicates(as_expected(context, sink), sink, args_, judged),
                  sink);
  } else {
    spread_duplicates(context, sink, args_);
  }
  return base::Done{};
}

}  // namespace strategies
