#pragma once

#include <optional>
#include <string>

#include "api/json/json.hpp"
#include "base/clock.hpp"

namespace cmd {

/// The newest time that objects mention as past: when something was made, began, changed, was seen or ended. Deadlines,
/// expiries, next runs and other times to come do not count, nor does anything in annotations, or in a spec but a
/// Lease's.
class NewestTime {
 public:
  /// `object` is a Kubernetes object of that kind.
  void look_at(const api::Json& object, const std::string& kind);

  const std::optional<base::TimePoint>& time() const { return time_; }
  /// "Node n-1, status.conditions[0].lastHeartbeatTime"; "": there is no time.
  const std::string& where() const { return where_; }

 private:
  /// The way from the object to a member.
  struct Step {
    const Step* parent;
    std::string_view key;  ///< "": an element of an array
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
