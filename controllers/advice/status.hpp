#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "advisor/requests.hpp"
#include "api/advice/resource_advice.hpp"
#include "controllers/advice/advice_store.hpp"

namespace controllers::advice {

/// Maximum total size of all sketches of a workload.
inline constexpr std::size_t kMaxSketchBytes = 32 * 1024;

/// Returns the advice for the workload, based on the days before `now`, by the rules of `advise requests`
/// (advisor/requests.hpp). Pure. Texts are cut to the CRD's limits, and the sketches of all containers to
/// kMaxSketchBytes in total. A sketch that does not fit is omitted, and that container's history starts again with the
/// next leader.
api::ResourceAdviceStatus advice_status(const advisor::WorkloadKey& key, const StoredAdvice& kept, advisor::Rules rules,
                                        base::TimePoint now);

/// Loads the histories that an earlier leader stored in the status. Returns a human-readable problem for each history
/// that cannot be decoded and starts again; it indicates a write by another client than the operator.
std::vector<std::string> load_histories(const api::ResourceAdviceStatus& status, StoredAdvice& kept,
                                        base::TimePoint now);

}  // namespace controllers::advice
