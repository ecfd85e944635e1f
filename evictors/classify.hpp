#pragma once

#include <array>
#include <span>
#include <string_view>

#include "evictors/evictor.hpp"

namespace evictors {

/// Words in a refusal whose meaning is known.
struct KnownText {
  int code = 0;           ///< HTTP status it comes with; 0: any
  std::string_view text;  ///< substring of the message
  ResponseClass answer = ResponseClass::kRefusedByWebhook;
  base::seconds retry_after{0};
};

/// Upstream's mark of an eviction accepted in the background; only trusted on pods that announce it.
inline constexpr std::string_view kEvacuationTriggered = "Eviction triggered evacuation";

/// What KubeVirt's eviction webhook says beside the texts that concern everybody (wire-protocols.md#kubevirt-webhook).
inline constexpr std::array kKubeVirtTexts = {
    KnownText{429, "Eviction triggered evacuation of VMI", ResponseClass::kAcceptedInBackground},
    KnownText{429, "kubevirt failed getting the vmi", ResponseClass::kRetryLater, base::seconds(10)},
    KnownText{429, "kubevirt failed marking the vmi for eviction", ResponseClass::kRetryLater, base::seconds(10)},
    KnownText{429, "failed to parse the eviction object", ResponseClass::kPermanent},
};
/// What its webhook for new migrations says (wire-protocols.md#kubevirt-migration).
inline constexpr std::array kMigrationTexts = {
    KnownText{400, "in-flight migration detected", ResponseClass::kRetryLater, base::seconds(30)},
    KnownText{400, "Cannot migrate VMI in finalized state", ResponseClass::kRetryLater, base::seconds(10)},
    KnownText{400, "Cannot migrate VMI, Reason", ResponseClass::kNotEvictable},
    KnownText{400, "unknown field \"spec.addedNodeSelector\"", ResponseClass::kNotEvictable},  // before 1.6
};

/// The meaning of every answer to POST …/pods/<name>/eviction (wire-protocols.md#eviction-answers, row by row in
/// test/unit/evictors/classify_test.cpp). `accepted_texts` are what this pod's owner is known to say when it takes the
/// eviction over; without them a refusal is a refusal.
Classification classify_eviction(const CallResult& answer, std::span<const KnownText> accepted_texts = {});

/// The meaning of every answer to a guarded PATCH of a pod.
Classification classify_patch(const CallResult& answer);

/// The meaning of every answer to a POST or DELETE of an object, or to a PUT of a subresource; a success may have an
/// empty body. `texts` are what that API's webhooks are known to say.
Classification classify_call(const CallResult& answer, std::span<const KnownText> texts = {});

/// "; services[NAME] of …: what to look at" where the answer's status says so, else "".
std::string service_setting(std::string_view service, int status);
/// A human-readable answer of a service outside 2xx: its code, the start of its body, and service_setting().
std::string service_refusal(std::string_view service, const kube::Response& answer);

/// How long to wait before the same call again (state-machine.md#delays): grows with `consecutive` blocked answers
/// (1 = first). `seed` spreads evacuations of one PDB by up to 20 %; equal seeds give equal delays.
base::Duration blocked_delay(const Classification& meaning, int consecutive, std::uint64_t seed);

}  // namespace evictors
