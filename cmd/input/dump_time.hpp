#pragma once

#include <optional>
#include <string>

#include "api/json/json.hpp"
#include "base/clock.hpp"

namespace cmd {

/// Finds the newest past time in objects: creation, start, change, observation or end. Ignores deadlines, expiry, next
/// runs and other future times, annotations, and specs except for a Lease's.
class NewestTime {
 public:
  void look_at(const api::Json& object, const std::string& kind);

  const std::optional<base::TimePoint>& time() const { return time_; }
  /// Returns the location of the newest time, such as "Node n-1, status.conditions[0].lastHeartbeatTime". Empty if no
  /// time was found.
  const std::string& where() const { return where_; }

 private:
  /// Path from the object to a member, linked to its parent.
  struct Step {
    const Step* parent;
    std::string_view key;  ///< empty for an element of an array
    std::size_t index;
  };
  void search(const api::Json& json, const Step* at, int depth);
  void look_at_taints();
  void take(base::TimePoint time, const Step* at);
  static std::string text_of(const Step* at);

  std::optional<base::TimePoint> time_;
  std::string where_;
  const api::Json* object_ = nullptr;
  std::string_view kind_;
};

}  // namespace cmd
