#pragma once

/// Handling of objects that a conforming API server would not return, or that contradict each other: how they are
/// corrected and reported. One bad object never stops a plan.

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "api/core/kinds.hpp"
#include "api/descheduler_policy.hpp"

namespace scheduling {

/// Handling of quantities that cannot be intended ("-5Gi", "1e400").
enum class Quantities {
  kSound,      ///< negative quantities and overflowing ones of nodes count as 0; overflowing ones of pods as
               ///< kBoundlessMilli
  kAsWritten,  ///< quantities are used as written, like upstream's descheduler does
};
/// Returns kAsWritten for Compatibility::kUpstream, otherwise kSound.
Quantities quantities_of(api::Compatibility compatibility);

/// Larger than any node's capacity, and far enough below the maximum of int64 that sums with it do not overflow.
inline constexpr std::int64_t kBoundlessMilli = std::int64_t{1} << 57;

struct InputProblem {
  std::string object;   ///< "Pod shop/web-1", "Node n1"
  std::string field;    ///< "spec.containers[0].resources.requests.memory"
  std::string message;  ///< what is wrong and how it was handled
  std::string to_string() const { return object + ": " + field + ": " + message; }
};

/// Stores the first kMax problems and counts all of them.
class InputProblems {
 public:
  static constexpr std::size_t kMax = 100;
  void add(InputProblem problem);
  const std::vector<InputProblem>& rows() const { return rows_; }
  std::int64_t total() const { return total_; }

 private:
  std::vector<InputProblem> rows_;
  std::int64_t total_ = 0;
};

/// Nodes with more taints than this are reported. All of their taints are still respected.
inline constexpr std::size_t kManyTaints = 1000;

/// Returns the object itself if all its quantities are sound, otherwise a corrected copy. Adds a problem for each
/// unsound field.
std::shared_ptr<const api::Pod> with_sound_quantities(std::shared_ptr<const api::Pod> pod, Quantities quantities,
                                                      InputProblems& problems);
std::shared_ptr<const api::Node> with_sound_quantities(std::shared_ptr<const api::Node> node, Quantities quantities,
                                                       InputProblems& problems);
/// Returns true if with_sound_quantities() would add a problem.
bool has_unsound_quantities(const api::Pod& pod);
/// Adds a problem if the pod is Pod::oversized.
void report_oversized(const api::Pod& pod, InputProblems& problems);

/// Adds a problem for each workload that owns itself through a chain of controllers. For information only: owners are
/// never followed further than one step.
void find_owner_cycles(const std::vector<std::shared_ptr<const api::Workload>>& workloads, InputProblems& problems);

}  // namespace scheduling
