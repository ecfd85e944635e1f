#pragma once

/// The records of an Evacuation's life. Pure.

#include <optional>
#include <string>
#include <vector>

#include "api/evacuation.hpp"
#include "evictors/evictor.hpp"
#include "telemetry/audit/record.hpp"

namespace controllers::evacuation {

/// What a stored status change means, in the order in which it is to be read: a call that is about to be made
/// (CallIntended), a cancel accepted or refused, what holds it up while it waits (Held, once for each blocker), and the
/// transition (PhaseChanged; EvacuationFinished for the verdict).
std::vector<audit::Record> records_of_status(const api::Evacuation& before, const api::Evacuation& after);

/// CallAnswered: Allowed, Refused, or Failed when no answer came.
audit::Record record_of_answer(const api::Evacuation& evacuation, const evictors::Action& action,
                               const evictors::CallResult& answer, const std::optional<api::LastResponse>& meaning);

/// EvacuationStuck: the server refuses to store what becomes of it.
audit::Record record_of_refused_write(const api::Evacuation& evacuation, const std::string& problem);

/// EvacuationTakenOver: how it stands when another process goes on with it, and the newest transition whole: a crash
/// between its being stored and its being recorded takes only a line, not what it would have said.
audit::Record record_of_takeover(const api::Evacuation& evacuation);

}  // namespace controllers::evacuation
