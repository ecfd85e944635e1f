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

/// What the plugin has of its process; tests pass their own. Used by one thread.
struct Io {
  std::function<void(std::string_view)> out;
  std::function<void(std::string_view)> err;
  /// Waits so long. True: the user pressed Ctrl-C, now or earlier.
  std::function<bool(base::milliseconds)> nap;
  /// The line that the user types after the question; nullopt: there is nobody to ask.
  std::function<std::optional<std::string>(std::string_view question)> ask;
  /// nullopt: `out` is no terminal, so nothing is redrawn.
  std::optional<ScreenSize> screen{};
  bool colour = false;
  const base::Clock& clock;
  kube::Environment environment{};
};

/// Process exit codes, as kubectl has them.
inline constexpr int kDone = 0;
inline constexpr int kFailed = 1;
inline constexpr int kInterrupted = 130;  ///< Ctrl-C, as a shell reports it

enum class Tone { kPlain, kGood, kBad, kWaiting, kDim, kStrong };
/// `text` in the colour of the tone, or as it is.
std::string paint(std::string_view text, Tone tone, bool colour);

/// The line cut to so many columns; escape sequences take none and are closed again.
std::string clip(std::string_view line, std::size_t columns);

}  // namespace cmd::plugin
