#pragma once

/// ResourceAdvice: recommended requests and limits of a workload (docs/advise/resource-advice.md). The kind has no
/// spec, and only the operator writes its status.

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

/// Maximum number of containers per workload, and of notes per container.
inline constexpr std::size_t kMaxAdvisedContainers = 10;
inline constexpr std::size_t kMaxAdviceNotes = 8;

/// Quantities as text, "" if not set.
struct AdvisedResources {
  std::string cpu_request, cpu_limit, memory_request, memory_limit;
  friend bool operator==(const AdvisedResources&, const AdvisedResources&) = default;
};

struct ContainerAdvice {
  std::string name;
  AdvisedResources current;
  std::optional<AdvisedResources> recommended;  ///< nullopt if there is no advice
  std::string no_advice_reason;                 ///< why there is no advice, human-readable
  std::string confidence;                       ///< Low, Medium, High
  std::string risk;                             ///< of following the advice: Low, Medium, High
  std::vector<std::string> notes;               ///< at most kMaxAdviceNotes, human-readable
  std::int64_t samples = 0;                     ///< number of samples on usable days
  std::int32_t days = 0;                        ///< number of usable days
  std::optional<base::TimePoint> first_sample;
  std::optional<base::TimePoint> last_sample;
  std::string sketch;  ///< encoded history, for the operator's next leader (advisor/rolling/codec.hpp)
  friend bool operator==(const ContainerAdvice&, const ContainerAdvice&) = default;
};

struct ResourceAdviceStatus {
  struct Workload {
    std::string api_version, kind, name;
    friend bool operator==(const Workload&, const Workload&) = default;
  };
  Workload workload;
  std::string profile;
  std::int32_t replicas = 0;  ///< number of running pods
  std::int32_t container_count = 0;
  // Printer columns: "Deployment/web"; sums over the containers of one pod, "500m → 250m".
  std::string workload_text, cpu_text, memory_text;
  std::string confidence;  ///< lowest of all containers
  std::vector<ContainerAdvice> containers;
  std::vector<Condition> conditions;
  friend bool operator==(const ResourceAdviceStatus&, const ResourceAdviceStatus&) = default;
};

struct ResourceAdvice {
  ObjectMeta meta;
  ResourceAdviceStatus status;
};

Json encode_status(const ResourceAdviceStatus& status);
/// Lenient: fields of a wrong type count as absent. Returns an error only if the object has no name.
base::Result<ResourceAdvice> decode_resource_advice(const Json& object);

}  // namespace api
