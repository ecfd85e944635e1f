#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "base/clock.hpp"
#include "kube/config/process_environment.hpp"

namespace cmd::plugin {

struct ScreenSize {
  std::size_t columns = 80;
  std::size_t rows = 24;
};

/// Environment of the plugin process, replaced in tests. Not thread-safe.
struct Io {
  std::function<void(std::string_view)> out;
  std::function<void(std::string_view)> err;
  /// Sleeps for the duration. Returns true if the user has pressed Ctrl-C, now or earlier.
  std::function<bool(base::milliseconds)> nap;
  /// Prompts the user and returns the line typed, nullopt if input is not interactive.
  std::function<std::optional<std::string>(std::string_view question)> ask;
  /// Size of the terminal; nullopt if `out` is not a terminal, so nothing is redrawn.
  std::optional<ScreenSize> screen{};
  bool colour = false;
  const base::Clock& clock;
  kube::Environment environment{};
};

/// Returns the value of an environment variable, an empty string if it is not set.
std::string variable_of(const kube::Environment& environment, const std::string& name);

/// Process exit codes, same as kubectl's.
inline constexpr int kDone = 0;
inline constexpr int kExitFailed = 1;
inline constexpr int kExitInterrupted = 130;  ///< Ctrl-C, as reported by shells

enum class Tone { kPlain, kGood, kBad, kWaiting, kDim, kStrong };
/// Returns `text` in the color of the tone, unchanged if `colour` is false.
std::string paint(std::string_view text, Tone tone, bool colour);

/// Truncates the line to `columns`. Escape sequences have no width, and open ones are closed.
std::string clip(std::string_view line, std::size_t columns);

}  // namespace cmd::plugin
