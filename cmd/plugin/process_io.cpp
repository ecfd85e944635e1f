#include "cmd/plugin/process_io.hpp"

#include <poll.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <cstdio>
#include <iostream>

#include "base/sleep.hpp"
#include "cmd/output.hpp"

namespace cmd::plugin {
namespace {

void write_at_once(std::string_view text) {
  write_out(text);
  flush_out();
}

std::optional<ScreenSize> screen_size() {
  if (isatty(STDOUT_FILENO) == 0) return std::nullopt;
  winsize size{};
  if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col == 0 || size.ws_row == 0) return ScreenSize{};
  return ScreenSize{size.ws_col, size.ws_row};
}

/// Follows https://no-color.org: NO_COLOR with any non-empty value disables color.
bool wants_colour(const kube::Environment& environment) {
  return isatty(STDOUT_FILENO) != 0 && variable_of(environment, "NO_COLOR").empty() &&
         variable_of(environment, "TERM") != "dumb";
}

constexpr base::milliseconds kStopPollInterval{100};

/// Reads a line from the terminal. Returns nullopt on Ctrl-C or closed input.
std::optional<std::string> ask_user(std::string_view question, const Interrupted& interrupted) {
  if (isatty(STDIN_FILENO) == 0) return std::nullopt;
  write_err(question);
  pollfd typed{STDIN_FILENO, POLLIN, 0};
  while (poll(&typed, 1, static_cast<int>(kStopPollInterval.count())) <= 0) {
    if (interrupted.yet()) return std::nullopt;
  }
  std::string line;
  if (!std::getline(std::cin, line)) return std::nullopt;
  return line;
}

/// Exits the process if Ctrl-C arrives during a blocking call. No state is lost, since all state is in the API server.
void end_when_stuck(const Interrupted& interrupted, const std::stop_token& stop) {
  while (!stop.stop_requested() && !interrupted.wait(kStopPollInterval)) {
  }
  if (base::sleep_unless_stopped(20 * kStopPollInterval, stop)) _exit(kExitInterrupted);
}

}  // namespace

ProcessIo::ProcessIo()
    : environment_(kube::child_environment()),
      io_{.out = write_at_once,
          .err = write_err,
          .nap = [this](base::milliseconds time) { return interrupted_.wait(time); },
          .ask = [this](std::string_view question) { return ask_user(question, interrupted_); },
          .screen = screen_size(),
          .colour = wants_colour(environment_),
          .clock = clock_,
          .environment = environment_},
      guard_([this](const std::stop_token& stop) { end_when_stuck(interrupted_, stop); }) {}

}  // namespace cmd::plugin
