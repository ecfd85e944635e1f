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

/// Result of a program that has ended.
struct Finished {
  int exit_code = -1;  ///< 128 + signal if it was killed; -1 if it could not be started
  bool timed_out = false;
  std::string out;
  std::string err;
  bool ok() const { return exit_code == 0 && !timed_out; }
};

/// Runs `argv` (searched in PATH) to its end and kills it after `limit`. `extra` is added to this process's
/// environment.
Finished run(const std::vector<std::string>& argv, std::string_view input = {},
             std::chrono::seconds limit = std::chrono::seconds(60), const Environ& extra = {});

/// A child process in its own process group. The destructor kills the group, so no process outlives a test or the
/// suite.
class Process {
 public:
  struct Options {
    std::vector<std::string> argv;
    Environ environment;           ///< added to this process's environment
    std::filesystem::path log;     ///< stdout and stderr, appended
    std::filesystem::path errors;  ///< separate file for stderr if not empty
    bool with_input = false;       ///< whether to keep a pipe to its stdin for tell()
  };

  /// Throws std::runtime_error if the process cannot be started.
  explicit Process(const Options& options);
  ~Process();
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;

  pid_t pid() const { return pid_; }
  /// Reaps the process if it has ended.
  bool running();
  /// Returns 128 + signal if the process was killed, nullopt while it runs.
  std::optional<int> exit_code();
  void signal(int number) const;
  /// Writes one line to the process's stdin.
  void tell(std::string_view line) const;
  /// Sends SIGKILL to the group and reaps the process.
  void kill();
  /// Returns true if the process ended within `limit`.
  bool wait(std::chrono::milliseconds limit);
  const std::filesystem::path& log() const { return log_; }

 private:
  pid_t pid_ = -1;
  int input_ = -1;
  std::optional<int> exit_code_;
  std::filesystem::path log_;
};

/// Returns a free TCP port of loopback, a different one at each call.
std::uint16_t free_port();

std::string read_file(const std::filesystem::path& path);
void write_file(const std::filesystem::path& path, std::string_view text);

}  // namespace e2e
