#pragma once

#include <optional>
#include <string>

#include "base/clock.hpp"
#include "base/log.hpp"
#include "kube/client.hpp"

namespace kube {

/// Returns the differences in `now` that an operator started with `before` would not handle: versions of kinds that it
/// reads or writes. Empty if there are none. Ignores Evacuator's own CRDs, which may still be in installation.
std::string relevant_change(const Discovery& before, const Discovery& now);

/// Reads the served APIs periodically, because the server may be upgraded while the operator runs. Servers of both
/// versions may answer during an upgrade, so a change counts only if two consecutive reads show it. Not thread-safe.
class DiscoveryWatch {
 public:
  static constexpr base::minutes kInterval{5};
  static constexpr base::minutes kSecondLook{1};

  /// `client` and `clock` (a steady one) must outlive the watch. `known` is the discovery that the operator was started
  /// with.
  DiscoveryWatch(Client& client, const base::Clock& clock, Discovery known, base::Log log);

  /// Reads discovery if due. Returns a confirmed change, nullopt if none exists. A failed read is ignored.
  std::optional<std::string> step();

 private:
  Client& client_;
  const base::Clock& clock_;
  const Discovery known_;
  const base::Log log_;
  base::TimePoint next_check_;
  std::string seen_;  ///< change seen by the last read
};

}  // namespace kube
