// The kubectl plugin: kubectl runs `kubectl-evacuator` from PATH for `kubectl evacuator …`.

#include <poll.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <iostream>
#include <thread>

#include "base/sleep.hpp"
#include "cmd/plugin/cli.hpp"
#include "cmd/signals.hpp"
#include "kube/config/process_environment.hpp"

namespace {

void write_to(std::FILE* file, std::string_view text) {
  std::fwrite(text.data(), 1, text.size(), file);
  std::fflush(file);
}

std::optional<cmd::plugin::ScreenSize> screen_size() {
  if (isatty(STDOUT_FILENO) == 0) return std::nullopt;
  winsize size{};
  if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col == 0 || size.ws_row == 0)
    return cmd::plugin::ScreenSize{};
  return cmd::plugin::ScreenSize{size.ws_col, size.ws_row};
}

/// https://no-color.org: any value but the empty one.
bool wants_colour(const kube::Environment& environment) {
  const auto value = [&](const char* name) {
    const auto at = environment.find(name);
    return at == environment.end() ? std::string() : at->second;
  };
  return isatty(STDOUT_FILENO) != 0 && value("NO_COLOR").empty() && value("TERM") != "dumb";
}

constexpr base::milliseconds kGlanceAtStop{100};

/// A line from the terminal; Ctrl-C and a closed input are no answer.
std::optional<std::string> ask_user(std::string_view question, const cmd::Interrupted& interrupted) {
  if (isatty(STDIN_FILENO) == 0) return std::nullopt;
  write_to(stderr, question);
  pollfd typed{STDIN_FILENO, POLLIN, 0};
  while (poll(&typed, 1, static_cast<int>(kGlanceAtStop.count())) <= 0) {
    if (interrupted.yet()) return std::nullopt;
  }
  std::string line;
  if (!std::getline(std::cin, line)) return std::nullopt;
  return line;
}

/// Ends the process when Ctrl-C finds it inside a call that takes its time; nothing is lost, everything is on the API.
void end_when_stuck(const cmd::Interrupted& interrupted, const std::stop_token& stop) {
  while (!stop.stop_requested() && !interrupted.wait(kGlanceAtStop)) {
  }
  if (base::sleep_unless_stopped(20 * kGlanceAtStop, stop)) _exit(cmd::plugin::kInterrupted);
}

}  // namespace

int main(int argc, char** argv) {
  kube::prepare_process();
  std::signal(SIGPIPE, SIG_IGN);
  const cmd::Interrupted interrupted;  // before other threads
  const std::jthread guard([&](const std::stop_token& stop) { end_when_stuck(interrupted, stop); });
  const base::SystemClock clock;
  const kube::Environment environment = kube::child_environment();
  cmd::plugin::Io io{.out = [](std::string_view text) { write_to(stdout, text); },
                     .err = [](std::string_view text) { write_to(stderr, text); },
                     .nap = [&](base::milliseconds time) { return interrupted.wait(time); },
                     .ask = [&](std::string_view question) { return ask_user(question, interrupted); },
                     .screen = screen_size(),
                     .colour = wants_colour(environment),
                     .clock = clock,
                     .environment = environment};
  return cmd::plugin::run({argv + 1, argv + argc}, io);
}
