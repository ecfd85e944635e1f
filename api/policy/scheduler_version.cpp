#include "api/policy/scheduler_version.hpp"

#include <fmt/format.h>

namespace api {

void read_scheduler_version(StrictObject& object, std::optional<int>& minor) {
  std::string text = "Auto";
  const std::size_t before = object.errors().size();
  object.read("version", text);
  if (text == "Auto" || object.errors().size() > before) return;
  for (int known = kOldestSchedulerMinor; known <= kNewestSchedulerMinor; ++known) {
    if (text != fmt::format("1.{}", known)) continue;
    minor = known;
    return;
  }
  object.complain("version", fmt::format("\"{}\" is not Auto or one of 1.{} to 1.{}", text, kOldestSchedulerMinor,
                                         kNewestSchedulerMinor));
}

}  // namespace api
