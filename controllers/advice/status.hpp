#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "advisor/requests.hpp"
#include "api/advice/resource_advice.hpp"
#include "controllers/advice/advice_store.hpp"

namespace controllers::advice {

/// Of all sketches of a workload together.
inline constexpr std::size_t kMaxSketchBytes = 32 * 1024;

/// What is said about the workload now, by the days before `now`: the rules are those of `advise requests`
/// (advisor/requests.hpp). Pure. Texts are bounded as the CRD has it, and the sketches of all containers together by
/// kMaxSketchBytes: one that does not fit is left out, and that container's past begins anew with the next leader.
api::ResourceAdviceStatus advice_status(const advising::WorkloadKey& key, const StoredAdvice& kept,
                                        advising::Rules rules, base::TimePoint now);

/// Takes the histories of an earlier leader out of its status. Returns why those are begun anew that could not be read,
/// for people: such a text is nobody's who may write there.
std::vector<std::string> load_histories(const api::ResourceAdviceStatus& status, StoredAdvice& kept,
                                        base::TimePoint now);

}  // namespace controllers::advice
