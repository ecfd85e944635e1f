#pragma once

/// Evacuations that the API server does not let us write (422: what is stored breaks the schema, such as one made under
/// an older one). Nothing of their life can be recorded, so nothing may be done with their pods (docs/operations.md).

#include <cstddef>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "api/evacuation.hpp"
#include "base/clock.hpp"

namespace controllers::evacuation {

/// How long one is excluded (cooling down) that nobody has changed since. The schema may have been fixed meanwhile.
inline constexpr base::minutes kRefusedRetry{10};

/// "the API server refuses to store …", with its words and the way out.
std::string refusal_text(const api::Evacuation& evacuation, const std::string& servers_words);

/// Remembers them in memory: a new leader is refused once, too, and knows. `now` is of a clock that nobody sets.
/// Thread-safe.
class RefusedWrites {
 public:
  /// A write based on this version of it was refused. True: that is news, for this version.
  bool note(const api::Evacuation& evacuation, const std::string& problem, base::TimePoint now);
  /// How long no further write of this very version makes sense; nullopt: it does.
  std::optional<base::Duration> backs_off_for(const api::ObjectKey& key, const std::string& resource_version,
                                              base::TimePoint now) const;
  /// It was written, or is gone.
  void forget(const api::ObjectKey& key);

  /// What a policy's condition Degraded says about its own ones, by name; "" are the manual ones.
  std::vector<std::string> problems_of(const std::string& policy) const;
  std::size_t count() const;

 private:
  struct Refusal {
    std::string resource_version;
    std::string policy;
    std::string problem;
    base::TimePoint until{};
  };
  mutable std::mutex mutex_;
  std::map<api::ObjectKey, Refusal> refusals_;
};

}  // namespace controllers::evacuation
