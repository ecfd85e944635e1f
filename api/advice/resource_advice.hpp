#pragma once

/// ResourceAdvice: what the operator says about a workload's requests and limits (docs/advise/resource-advice.md). It
/// has no spec, and nobody but the operator writes its status.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "api/json/json.hpp"
#include "api/meta/condition.hpp"
#include "api/meta/object_meta.hpp"
#include "base/clock.hpp"
#include "base/result.hpp"

namespace api {

/// Containers of a workload that are followed, and notes of one that are kept.
inline constexpr std::size_t kMaxAdvisedContainers = 10;
inline constexpr std::size_t kMaxAdviceNotes = 8;

/// Quantities as text; "": not set.
struct AdvisedResources {
  std::string cpu_request, cpu_limit, memory_request, memory_limit;
  friend bool operator==(const AdvisedResources&, const AdvisedResources&) = default;
};

struct ContainerAdvice {
  std::string name;
  AdvisedResources current;
  std::optional<AdvisedResources> recommended;  ///< absent: there is no advice
  std::string why_not;                          ///< the same, for people
  std::string confidence;                       ///< Low, Medium, High
  std::string risk;                             ///< of following the advice: the same
  std::vector<std::string> notes;               ///< kMaxAdviceNotes at most, for people
  std::int64_t samples = 0;                     ///< of the days that count
  std::int32_t days = 0;                        ///< that count
  std::optional<base::TimePoint> first_sample;
  std::optional<base::TimePoint> last_sample;
  std::string sketch;  ///< the past, for the operator's next leader (advisor/rolling/codec.hpp)
  friend bool operator==(const ContainerAdvice&, const ContainerAdvice&) = default;
};

struct ResourceAdviceStatus {
  struct Workload {
    std::string api_version, kind, name;
    friend bool operator==(const Workload&, const Workload&) = default;
  };
  Workload workload;
  std::string profile;
  std::int32_t replicas = 0;  ///< pods that run
  std::int32_t container_count = 0;
  // For columns: "Deployment/web"; sums over the containers of one pod, "500m → 250m".
  std::string workload_text, cpu_text, memory_text;
  std::string confidence;  ///< the lowest of its containers
  std::vector<ContainerAdvice> containers;
  std::vector<Condition> conditions;
  friend bool operator==(const ResourceAdviceStatus&, const ResourceAdviceStatus&) = default;
};

struct ResourceAdvice {
  ObjectMeta meta;
  ResourceAdviceStatus status;
};

Json encode_status(const ResourceAdviceStatus& status);
/// Lenient: what has another type counts as absent. An error only when it has no name.
base::Result<ResourceAdvice> decode_resource_advice(const Json& object);

}  // namespace api
