#pragma once

/// Terminal pods (Succeeded, Failed): their retention, and owners that clean them up themselves.

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "planner/strategies/common_args.hpp"
#include "planner/strategies/strategy.hpp"

namespace strategies {

/// Arguments args.terminalPods.
struct TerminalPods {
  /// Retention time and number of the pods that match.
  struct Retention {
    PodScope scope;
    api::NamespaceFilter owner_kinds;
    base::seconds keep{0};          ///< Time since the pod ended
    std::uint32_t keep_newest = 0;  ///< Per owner; per namespace for pods without owner
  };
  bool evict = false;
  Retention otherwise;                     ///< For pods that match no entry of `retention`
  std::vector<Retention> retention;        ///< The first matching entry decides
  std::vector<std::string> cleaned_up_by;  ///< Kinds of owners that clean up their terminal pods themselves

  /// Reads the member terminalPods. Errors are added to the errors of `args`. `evict` is its default.
  static TerminalPods read(api::StrictObject& args, bool evict = false);
};

/// Adds an error such as "states[1]: Failed selects pods that have ended…" for each terminal phase if evict is not
/// set, as a safeguard against mistakes.
void require_consent(api::StrictObject& args, std::string_view name, const std::vector<std::string>& states,
                     const TerminalPods& terminal);

/// Decides whether terminal pods may be cleaned up. Reads the snapshot once, at construction.
class TerminalPodRules {
 public:
  TerminalPodRules(const TerminalPods& spec, const StrategyContext& context);

  /// Returns nullopt if the pod may be cleaned up or is not terminal. In upstream mode every pod may.
  std::optional<Refusal> refusal(PodIndex pod) const;

 private:
  const TerminalPods::Retention& retention_of(const api::Pod& pod) const;
  std::optional<Refusal> cleaned_up_by_owner(const api::Pod& pod) const;
  void rank_by_end();

  const TerminalPods& spec_;
  const StrategyContext& context_;
  std::map<PodIndex, std::uint32_t> rank_;  ///< Rank among the terminal pods of its owner, the newest first
};

/// Returns the time at which the pod's last container stopped, or its creation if it never had one.
base::TimePoint end_of(const api::Pod& pod);

}  // namespace strategies
