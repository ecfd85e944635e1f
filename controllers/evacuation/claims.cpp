/// Whether the end of the pod would cost its data, as its PersistentVolumeClaims tell.

#include <fmt/format.h>

#include "api/core/claim_risk.hpp"
#include "api/core/codec.hpp"
#include "controllers/evacuation/reconciliation.hpp"

namespace controllers::evacuation {
namespace {

/// More claims than a node attaches. Anybody may write a pod with thousands: the others are judged as cached.
constexpr int kMaxClaimReads = 64;

std::string explain(const api::PersistentVolumeClaim& claim, const api::Pod& pod) {
  const api::ClaimRisk risk = api::claim_risk(claim, pod);
  return risk == api::ClaimRisk::kNone ? std::string() : api::explain_claim_risk(risk, claim.meta.name);
}

}  // namespace

/// By the cache. A claim that it does not know says nothing: before a call all are read live.
void Reconciler::Reconciliation::observe_claims() {
  seen_.claim_risk.clear();
  freshness_.claims_from_cache();
  if (!deps_.claims || !seen_.pod || seen_.pod->uid() != seen_.evacuation.spec.pod_ref.uid) return;
  for (const api::Volume& volume : seen_.pod->volumes) {
    const auto claim = api::uses_claim(volume) ? deps_.claims->get({key_.ns, volume.source}) : nullptr;
    if (claim) seen_.claim_risk = explain(*claim, *seen_.pod);
    if (!seen_.claim_risk.empty()) return;
  }
}

/// Right before a call that moves the pod. What is deleted between this and the call is deleted too late to be seen.
base::Result<Reconciler::Reconciliation::Continue> Reconciler::Reconciliation::refresh_claims() {
  int reads = 0;
  for (const api::Volume& volume : seen_.pod->volumes) {
    if (!api::uses_claim(volume) || volume.source.empty() || ++reads > kMaxClaimReads) continue;
    auto body = deps_.client.get(kube::kPersistentVolumeClaims, {key_.ns, volume.source});
    const bool is_missing = !body && base::is_not_found(body.error());
    if (is_missing && volume.kind == api::VolumeKind::kEphemeral) continue;  // the replacement gets another one
    if (!body && !is_missing) return body.error().during("reading PersistentVolumeClaim " + volume.source);
    if (is_missing) {
      seen_.claim_risk = fmt::format("its PersistentVolumeClaim {} does not exist: nobody keeps its volume but the pod",
                                     volume.source);
      break;
    }
    const auto claim = api::decode_pvc(*body);
    if (!claim || claim->meta.uid.empty()) return base::unavailable("the server's answer is no PersistentVolumeClaim");
    seen_.claim_risk = explain(*claim, *seen_.pod);
    if (!seen_.claim_risk.empty()) break;
  }
  freshness_.claims_arrived();
  return Continue::kYes;
}

}  // namespace controllers::evacuation
