#pragma once

#include <string>
#include <string_view>

#include "api/evacuation.hpp"
#include "base/result.hpp"
#include "controllers/evacuation/phases/decide.hpp"
#include "kube/client.hpp"

namespace controllers::evacuation {

/// An Evacuation as the server has it. Writes are patches of what we know about, so fields we do not know survive.
struct StoredEvacuation {
  api::Evacuation evacuation;
  std::string raw{};  ///< the text that it was read as; only where somebody prints it
};

/// Never fails on a bad spec (Evacuation::spec_problem says so), only on text that is no object with metadata.
base::Result<StoredEvacuation> parse_stored_evacuation(std::string_view raw);

/// Decoder for an informer of Evacuations, as parse_stored_evacuation(), trimmed.
base::Result<api::Evacuation> decode_observed_evacuation(std::string_view json);
/// The same for whoever asks the whole object something before it trims it, such as who made it.
base::Result<api::Evacuation> decode_whole_evacuation(std::string_view json);
/// Drops what nobody reads of a cached one: foreign labels, annotations and all but one of the foreign finalizers, and,
/// once it has ended and is let go by us (is_trimmed()), its parameters, refs, texts and most of its history. Tenants
/// decide how many there are and how big.
void trim(api::Evacuation& evacuation);

/// Somebody else's finalizers are on it: those of a cached one are not all, so none are written back from it.
bool has_foreign_finalizers(const api::Evacuation& evacuation);

/// The cached one is not what is stored: no write may be based on it.
bool is_trimmed(const api::Evacuation& cached);

base::Result<StoredEvacuation> read_evacuation(kube::Client& client, const api::ObjectKey& key);

/// Merge patch of …/status with what `status` changes, guarded by uid and resourceVersion: kConflict when the object
/// changed meanwhile, also when `stored` came from a cache that lags. kInvalid: the server refuses the object as it
/// would be, and always will (RefusedWrites).
base::Result<StoredEvacuation> write_status(kube::Client& client, const StoredEvacuation& stored,
                                            const api::EvacuationStatus& status);

/// What of `decision` concerns the main object, as one patch guarded in the same way, with the same errors. REQUIRES:
/// there is something.
base::Result<StoredEvacuation> write_main(kube::Client& client, const StoredEvacuation& stored,
                                          const Decision& decision);

}  // namespace controllers::evacuation
