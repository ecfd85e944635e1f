#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <sys/types.h>

namespace e2e {

using Environ = std::map<std::string, std::string>;

/// How a program that ran to its end ended.
struct Finished {
  int exit_code = -1;  ///< 128 + signal when killed; -1 when it could not be started
  bool timed_out = false;
  std::string out;
  std::string err;
  bool ok() const { return exit_code == 0 && !timed_out; }
};

/// Runs `argv` (found in PATH) to its end, killing it after `limit`. `extra` is added to our environment.
Finished run(const std::vector<std::string>& argv, std::string_view input = {},
             std::chrono::seconds limit = std::chrono::seconds(60), const Environ& extra = {});

/// A child in a process group of its own. The destructor kills the whole group: nothing outlives a test, nor us.
class Process {
 public:
  struct Options {
    std::vector<std::string> argv;
    Environ environment;           ///< added to ours
    std::filesystem::path log;     ///< stdout and stderr, appended
    std::filesystem::path errors;  ///< stderr apart when not empty
    bool with_input = false;       ///< keep a pipe to its stdin: tell()
  };

  /// Throws std::runtime_error when it cannot be started.
  explicit Process(const Options& options);
  ~Process();
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;

  pid_t pid() const { return pid_; }
  /// Reaps it when it has ended.
  bool running();
  /// 128 + signal when it was killed; empty while it runs.
  std::optional<int> exit_code();
  void signal(int number) const;
  /// Writes one line to its stdin.
  void tell(std::string_view line) const;
  /// SIGKILL to the group, then reaps it.
  void kill();
  /// True if it ended by itself in time.
  bool wait(std::chrono::milliseconds limit);
  const std::filesystem::path& log() const { return log_; }

 private:
  pid_t pid_ = -1;
  int input_ = -1;
  std::optional<int> exit_code_;
  std::filesystem::path log_;
};

/// A TCP port of loopback that is free; never the same twice soon.
std::uint16_t free_port();

std::string read_file(const std::filesystem::path& path);
void write_file(const std::filesystem::path& path, std::string_view text);

}  // namespace e2e
