#pragma once

#include <array>
#include <span>
#include <string_view>

#include "evictors/evictor.hpp"

namespace evictors {

/// Substring of an error message, and the class of an answer that contains it.
struct KnownText {
  int code = 0;  ///< HTTP status required for a match, 0 for any
  std::string_view text;
  ResponseClass answer = ResponseClass::kRefusedByWebhook;
  base::seconds retry_after{0};
};

/// Upstream's marker for an eviction accepted in the background. Trusted only for pods that announce the protocol.
inline constexpr std::string_view kEvacuationTriggered = "Eviction triggered evacuation";

/// Texts of KubeVirt's eviction webhook, in addition to those that apply to every pod
/// (wire-protocols.md#kubevirt-webhook).
inline constexpr std::array kKubeVirtTexts = {
    KnownText{429, "Eviction triggered evacuation of VMI", ResponseClass::kAcceptedInBackground},
    KnownText{429, "kubevirt failed getting the vmi", ResponseClass::kRetryLater, base::seconds(10)},
    KnownText{429, "kubevirt failed marking the vmi for eviction", ResponseClass::kRetryLater, base::seconds(10)},
    KnownText{429, "failed to parse the eviction object", ResponseClass::kPermanent},
};
/// Texts of KubeVirt's webhook for new migrations (wire-protocols.md#kubevirt-migration).
inline constexpr std::array kMigrationTexts = {
    KnownText{400, "in-flight migration detected", ResponseClass::kRetryLater, base::seconds(30)},
    KnownText{400, "Cannot migrate VMI in finalized state", ResponseClass::kRetryLater, base::seconds(10)},
    KnownText{400, "Cannot migrate VMI, Reason", ResponseClass::kNotEvictable},
    KnownText{400, "unknown field \"spec.addedNodeSelector\"", ResponseClass::kNotEvictable},  // KubeVirt before 1.6
};

/// Classifies an answer to POST …/pods/<name>/eviction (wire-protocols.md#eviction-answers, tested row by row in
/// test/unit/evictors/classify_test.cpp). `accepted_texts` are the messages by which the owner of this pod reports that
/// it takes over the eviction. A refusal with any other text is a refusal.
Classification classify_eviction(const CallResult& answer, std::span<const KnownText> accepted_texts = {});

/// Classifies an answer to a guarded PATCH of a pod.
Classification classify_patch(const CallResult& answer);

/// Classifies an answer to a POST or DELETE of an object, or to a PUT of a subresource. A success may have an empty
/// body. `texts` are the known messages of the webhooks of that API.
Classification classify_call(const CallResult& answer, std::span<const KnownText> texts = {});

/// Returns "; services[NAME] of the operator's configuration: …" with the settings to check if `status` points to a
/// configuration problem, else "".
std::string service_setting(std::string_view service, int status);
/// Returns a human-readable summary of a service's answer outside 2xx: status code, start of the body,
/// service_setting().
std::string service_refusal(std::string_view service, const kube::Response& answer);

/// Returns the delay before the next attempt of a call (state-machine.md#delays). The delay grows with `consecutive`,
/// the number of blocked answers in a row (1 = first). `seed` adds up to 20 % so that evacuations of one PDB do not
/// retry at the same time. Equal seeds give equal delays.
base::Duration blocked_delay(const Classification& meaning, int consecutive, std::uint64_t seed);

}  // namespace evictors
