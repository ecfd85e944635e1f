#pragma once

#include <chrono>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>

namespace e2e {

/// Ends a scenario. GoogleTest reports it as the test's failure.
struct Failure : std::runtime_error {
  using std::runtime_error::runtime_error;
};

inline constexpr std::chrono::milliseconds kPollInterval{100};
inline constexpr std::chrono::seconds kPatience{90};

/// Repeats `check(seen)` until it returns a true value and returns that, or the value of an optional. `check` may store
/// its last observation in the string `seen`, which becomes part of the message of the Failure thrown after `limit`.
template <typename Check>
auto await(std::string_view what, Check&& check, std::chrono::milliseconds limit = kPatience) {
  const auto deadline = std::chrono::steady_clock::now() + limit;
  for (std::string seen;;) {
    if (auto answer = check(seen)) {
      if constexpr (requires { answer.has_value(); }) {
        return *std::move(answer);
      } else {
        return answer;
      }
    }
    if (std::chrono::steady_clock::now() > deadline) {
      throw Failure("waited " + std::to_string(limit.count() / 1000) + " s in vain for: " + std::string(what) +
                    (seen.empty() ? "" : "\nlast seen: " + seen));
    }
    std::this_thread::sleep_for(kPollInterval);
  }
}

}  // namespace e2e
