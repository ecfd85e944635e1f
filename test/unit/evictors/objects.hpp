#pragma once

#include <string>
#include <utility>
#include <vector>

#include "api/core/kinds.hpp"
#include "api/evacuation.hpp"
#include "evictors/evictor.hpp"

namespace evictors_test {

inline const base::TimePoint kNoon = *base::parse_time("2026-11-21T12:00:00Z");
inline constexpr const char* kUid = "7c1a8c1e-0000-4000-8000-000000000001";
inline constexpr const char* kToken = "e5b3.1";

inline api::Pod pod(std::vector<std::pair<std::string, std::string>> annotations = {}) {
  api::Pod result;
  result.meta.ns = "shop";
  result.meta.name = "web-1";
  result.meta.uid = kUid;
  result.meta.resource_version = "41";
  result.meta.annotations = api::StringMap(std::move(annotations));
  result.phase = api::PodPhase::kRunning;
  return result;
}

inline api::Evacuation evacuation(api::EvacuationPhase phase = api::EvacuationPhase::kRequesting) {
  api::Evacuation result;
  result.meta.ns = "shop";
  result.meta.name = "web-1-7c1a8c1e";
  result.meta.uid = "e5b3";
  result.spec.pod_ref = {"web-1", {kUid}};
  result.status.phase = phase;
  result.status.attempt = 1;
  result.status.token = kToken;
  return result;
}

/// Annotation of the handoff protocol with the full key.
inline std::pair<std::string, std::string> handoff(const std::string& key, std::string value) {
  return {"handoff.evacuator.dev/" + key, std::move(value)};
}

inline evictors::EvictorContext context(const api::Evacuation& of, const api::Pod& pod, base::TimePoint now = kNoon) {
  return {of, &pod, now, {}, "v1"};
}

}  // namespace evictors_test
