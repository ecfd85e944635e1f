#pragma once

/// Objects that no well-behaved API server would hold, or that make no sense together: what is done with them, and who
/// is told. One bad object never stops a plan.

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "api/core/kinds.hpp"
#include "api/descheduler_policy.hpp"

namespace scheduling {

/// What becomes of quantities that nobody can have meant ("-5Gi", "1e400").
enum class Quantities {
  kSound,      ///< negative ones and a node's boundless ones count as 0, a pod's boundless ones as kBoundlessMilli
  kAsWritten,  ///< they count as they are, as upstream's descheduler takes them
};
/// The second for Compatibility::kUpstream.
Quantities quantities_of(api::Compatibility compatibility);

/// More than any node has of anything, and far enough from the end of int64 that sums with it stay exact.
inline constexpr std::int64_t kBoundlessMilli = std::int64_t{1} << 57;

struct InputProblem {
  std::string object;   ///< "Pod shop/web-1", "Node n1"
  std::string field;    ///< "spec.containers[0].resources.requests.memory"
  std::string message;  ///< what is strange and what was done
  std::string to_string() const { return object + ": " + field + ": " + message; }
  friend bool operator==(const InputProblem&, const InputProblem&) = default;
};

/// Keeps the first kMax, counts all.
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

/// Nodes with more taints than this are told; all of their taints are obeyed.
inline constexpr std::size_t kManyTaints = 1000;

/// The object itself when nothing is strange about its quantities, otherwise what stands in for it. Adds a problem for
/// each strange field.
std::shared_ptr<const api::Pod> with_sound_quantities(std::shared_ptr<const api::Pod> pod, Quantities quantities,
                                                      InputProblems& problems);
std::shared_ptr<const api::Node> with_sound_quantities(std::shared_ptr<const api::Node> node, Quantities quantities,
                                                       InputProblems& problems);
/// True if with_sound_quantities() would have something to tell.
bool has_strange_quantities(const api::Pod& pod);
/// Adds a problem if the pod is Pod::oversized.
void report_oversized(const api::Pod& pod, InputProblems& problems);

/// Workloads and pods that own themselves, by whatever detour. Nobody follows owners further than the first, so this is
/// for the record only.
void find_owner_cycles(const std::vector<std::shared_ptr<const api::Workload>>& workloads, InputProblems& problems);

}  // namespace scheduling
