#pragma once

/// Audit records of an Evacuation. Pure.

#include <optional>
#include <string>
#include <vector>

#include "api/evacuation.hpp"
#include "evictors/evictor.hpp"
#include "telemetry/audit/record.hpp"

namespace controllers::evacuation {

/// Records of a stored status change, in reading order: a cancel accepted or refused, the transition (PhaseChanged;
/// EvacuationFinished for the verdict), each new blocker while it waits (EvacuationHeld), and a call that is about to
/// be made (CallIntended).
std::vector<audit::Record> records_of_status(const api::Evacuation& before, const api::Evacuation& after);

/// CallAnswered with decision Allowed, Refused, or Failed if there was no answer.
audit::Record record_of_answer(const api::Evacuation& evacuation, const evictors::Action& action,
                               const evictors::CallResult& answer, const std::optional<api::LastResponse>& meaning);

/// EvacuationStuck: the server refuses to store the Evacuation.
audit::Record record_of_refused_write(const api::Evacuation& evacuation, const std::string& problem);

/// EvacuationTakenOver: the state at which another process resumes, and the full newest transition. If a crash
/// prevented the record of that transition, its content is still in the log.
audit::Record record_of_takeover(const api::Evacuation& evacuation);

}  // namespace controllers::evacuation
