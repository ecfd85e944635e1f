#pragma once

#include <optional>
#include <string>

#include "base/clock.hpp"
#include "base/log.hpp"
#include "kube/client.hpp"

namespace kube {

/// What of `now` an operator that was started with `before` gets wrong: versions of kinds that it reads or writes.
/// Empty: nothing. A missing CRD of ours is nothing: it may be on its way.
std::string relevant_change(const Discovery& before, const Discovery& now);

/// Asks again and again what the server serves: it may be upgraded under a running operator. Servers of both versions
/// may answer in turns meanwhile, so a change counts when two looks in a row show it. Of one thread.
class DiscoveryWatch {
 public:
  static constexpr base::minutes kInterval{5};
  static constexpr base::minutes kSecondLook{1};

  /// `client` and `clock` (a steady one) must outlive it. `known` is what the operator was started with.
  DiscoveryWatch(Client& client, const base::Clock& clock, Discovery known, base::Log log);

  /// Looks if it is time to. Returns what has changed for good; nullopt: nothing, as far as is known. A look that fails
  /// tells nothing.
  std::optional<std::string> step();

 private:
  Client& client_;
  const base::Clock& clock_;
  const Discovery known_;
  const base::Log log_;
  base::TimePoint next_look_;
  std::string seen_;  ///< the change that the last look showed
};

}  // namespace kube
