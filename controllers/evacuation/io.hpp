#pragma once

#include <string>
#include <string_view>

#include "api/evacuation.hpp"
#include "base/result.hpp"
#include "controllers/evacuation/phases/decide.hpp"
#include "kube/client.hpp"

namespace controllers::evacuation {

/// Evacuation as stored by the server. Writes are patches of known fields, so that unknown fields survive.
struct StoredEvacuation {
  api::Evacuation evacuation;
  std::string raw{};  ///< original JSON, set only where it is printed
};

/// Fails only if the text is not an object with metadata. An invalid spec is reported in Evacuation::spec_problem.
base::Result<StoredEvacuation> parse_stored_evacuation(std::string_view raw);

/// Decoder for an informer of Evacuations: parse_stored_evacuation() and trim().
base::Result<api::Evacuation> decode_observed_evacuation(std::string_view json);
/// Decodes without trim(), for callers that need the whole object first, e.g. to verify its creator.
base::Result<api::Evacuation> decode_whole_evacuation(std::string_view json);
/// Drops what no reader of the cache needs, since tenants control its number and size: foreign labels and annotations,
/// and all but one foreign finalizer. If is_trimmed(), drops parameters, refs, messages and most of the history as
/// well.
void trim(api::Evacuation& evacuation);

/// Whether the object has finalizers of other components. A cached object lists only one of them, so its finalizers
/// must not be written back.
bool has_foreign_finalizers(const api::Evacuation& evacuation);

/// Whether trim() dropped fields of spec and status, because the object is terminal and without the operator's
/// finalizer. Do not base a write on such an object.
bool is_trimmed(const api::Evacuation& cached);

base::Result<StoredEvacuation> read_evacuation(kube::Client& client, const api::ObjectKey& key);

/// Sends a merge patch of …/status with the changes in `status`, guarded by uid and resourceVersion. Returns kConflict
/// if the object changed meanwhile or `stored` came from a stale cache, kInvalid if the server refuses the resulting
/// object, which is permanent (RefusedWrites).
base::Result<StoredEvacuation> write_status(kube::Client& client, const StoredEvacuation& stored,
                                            const api::EvacuationStatus& status);

/// Sends the part of `decision` that concerns the main object as one patch, with the guard and errors of
/// write_status(). REQUIRES: `decision` changes the main object.
base::Result<StoredEvacuation> write_main(kube::Client& client, const StoredEvacuation& stored,
                                          const Decision& decision);

}  // namespace controllers::evacuation
