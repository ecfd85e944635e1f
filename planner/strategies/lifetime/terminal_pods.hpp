#pragma once

/// Terminal pods (Succeeded, Failed): how long they are kept, and who clears them away if not we.

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "planner/strategies/common_args.hpp"
#include "planner/strategies/strategy.hpp"

namespace strategies {

/// args.terminalPods.
struct TerminalPods {
  /// How long, and how many, for the pods that it speaks about.
  struct Retention {
    PodScope scope;
    api::NamespaceFilter owner_kinds;
    base::seconds keep{0};          ///< since the pod ended
    std::uint32_t keep_newest = 0;  ///< of each owner, in one namespace for pods without
    friend bool operator==(const Retention&, const Retention&) = default;
  };
  bool evict = false;
  Retention otherwise;                     ///< for pods that no entry of `retention` speaks about
  std::vector<Retention> retention;        ///< the first that speaks about a pod decides
  std::vector<std::string> cleaned_up_by;  ///< kinds of owners that clear away their terminal pods themselves
  friend bool operator==(const TerminalPods&, const TerminalPods&) = default;

  /// Reads the member terminalPods; complaints go to the object's list. `evict`: what it is when not written.
  static TerminalPods read(api::StrictObject& args, bool evict = false);
};

/// "states[1]: Failed selects pods that have ended…" for every terminal phase while evict is not set: a
/// safety catch against mistakes.
void require_consent(api::StrictObject& args, std::string_view name, const std::vector<std::string>& states,
                     const TerminalPods& terminal);

/// Says of terminal pods whether they may be cleared away. Looks at the snapshot once, when it is made.
class TerminalPodRules {
 public:
  TerminalPodRules(const TerminalPods& spec, const StrategyContext& context);

  /// nullopt: it may, or it is not terminal. With upstream's decisions every pod may.
  std::optional<scheduling::Refusal> refusal(PodIndex pod) const;

 private:
  const TerminalPods::Retention& retention_of(const api::Pod& pod) const;
  std::optional<scheduling::Refusal> cleaned_up_by_owner(const api::Pod& pod) const;
  void rank_by_end();

  const TerminalPods& spec_;
  const StrategyContext& context_;
  std::map<PodIndex, std::uint32_t> rank_;  ///< among the terminal pods of its owner, the newest first
};

/// When its last container stopped; of a pod that never had one, its creation.
base::TimePoint end_of(const api::Pod& pod);

}  // namespace strategies
