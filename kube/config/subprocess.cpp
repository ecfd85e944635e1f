#include "kube/config/subprocess.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <map>

#include "kube/config/process_environment.hpp"

namespace kube {
namespace {

using Deadline = std::chrono::steady_clock::time_point;

constexpr std::size_t kMaxOutput = 1 << 20;
constexpr std::size_t kMaxErrors = 300;

/// Pipe that closes its ends on destruction.
class Pipe {
 public:
  Pipe() {
    if (::pipe2(ends_.data(), O_CLOEXEC) != 0) ends_ = {-1, -1};
  }
  ~Pipe() {
    close_end(0);
    close_end(1);
  }
  Pipe(const Pipe&) = delete;
  Pipe& operator=(const Pipe&) = delete;

  bool ok() const { return ends_[0] >= 0; }
  int reader() const { return ends_[0]; }
  int writer() const { return ends_[1]; }
  void close_reader() { close_end(0); }
  void close_writer() { close_end(1); }

 private:
  void close_end(std::size_t which) {
    if (ends_[which] >= 0) ::close(ends_[which]);
    ends_[which] = -1;
  }
  std::array<int, 2> ends_{-1, -1};
};

std::vector<std::string> environment_of(const Subprocess& process) {
  std::map<std::string, std::string> all = child_environment();
  for (const auto& [name, value] : process.env) all[name] = value;
  std::vector<std::string> lines;
  for (const auto& [name, value] : all) lines.push_back(fmt::format("{}={}", name, value));
  return lines;
}

std::vector<char*> pointers_to(std::vector<std::string>& texts) {
  std::vector<char*> pointers;
  for (std::string& text : texts) pointers.push_back(text.data());
  pointers.push_back(nullptr);
  return pointers;
}

/// Settings for posix_spawn: own process group, no signals blocked or ignored, standard streams to the pipes.
class SpawnSettings {
 public:
  SpawnSettings(const Pipe& output, const Pipe& errors) {
    posix_spawn_file_actions_init(&actions_);
    posix_spawn_file_actions_addopen(&actions_, 0, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_adddup2(&actions_, output.writer(), 1);
    posix_spawn_file_actions_adddup2(&actions_, errors.writer(), 2);
    posix_spawnattr_init(&attributes_);
    sigset_t none;
    sigset_t all;
    sigemptyset(&none);
    sigfillset(&all);
    posix_spawnattr_setsigmask(&attributes_, &none);
    posix_spawnattr_setsigdefault(&attributes_, &all);
    posix_spawnattr_setpgroup(&attributes_, 0);
    posix_spawnattr_setflags(&attributes_, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
  }
  ~SpawnSettings() {
    posix_spawn_file_actions_destroy(&actions_);
    posix_spawnattr_destroy(&attributes_);
  }
  SpawnSettings(const SpawnSettings&) = delete;
  SpawnSettings& operator=(const SpawnSettings&) = delete;

  const posix_spawn_file_actions_t* actions() const { return &actions_; }
  const posix_spawnattr_t* attributes() const { return &attributes_; }

 private:
  posix_spawn_file_actions_t actions_;
  posix_spawnattr_t attributes_;
};

base::Error spawn_error(int code) {
  if (code == ENOENT) return {base::ErrorCode::kNotFound, "the program was not found; is it installed and in PATH?"};
  if (code == EACCES) return {base::ErrorCode::kForbidden, "the program is not executable"};
  return base::unavailable(fmt::format("cannot be started: {}", std::strerror(code)));
}

int milliseconds_until(Deadline deadline) {
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - std::chrono::steady_clock::now());
  return left.count() > 0 ? static_cast<int>(left.count()) : 0;
}

/// Appends the available bytes. Closes the reader at the end of the stream.
void drain(Pipe& pipe, std::string& into) {
  std::array<char, 4096> block;
  const ssize_t got = ::read(pipe.reader(), block.data(), block.size());
  if (got > 0) into.append(block.data(), static_cast<std::size_t>(got));
  if (got == 0 || (got < 0 && errno != EINTR && errno != EAGAIN)) pipe.close_reader();
}

base::Status read_both(Pipe& output, std::string& out, Pipe& errors, std::string& err, Deadline deadline) {
  while (output.ok() || errors.ok()) {
    std::array<pollfd, 2> wanted{pollfd{output.reader(), POLLIN, 0}, pollfd{errors.reader(), POLLIN, 0}};
    const int ready = ::poll(wanted.data(), wanted.size(), milliseconds_until(deadline));
    if (ready < 0 && errno == EINTR) continue;
    if (ready <= 0) return base::Error{base::ErrorCode::kTimeout, "it did not exit in time and was killed"};
    if (wanted[0].revents != 0) drain(output, out);
    if (wanted[1].revents != 0) drain(errors, err);
    if (out.size() > kMaxOutput) return base::invalid("it printed more than 1 MiB and was killed");
    if (err.size() > 4 * kMaxErrors) err.resize(4 * kMaxErrors);
  }
  return base::Done{};
}

/// Waits for a child that has closed its streams. Kills its process group at the deadline.
int reap(pid_t child, Deadline deadline) {
  int state = 0;
  while (::waitpid(child, &state, WNOHANG) == 0) {
    if (milliseconds_until(deadline) == 0) {
      ::kill(-child, SIGKILL);
      ::waitpid(child, &state, 0);
      break;
    }
    ::poll(nullptr, 0, 2);
  }
  return WIFEXITED(state) ? WEXITSTATUS(state) : 128 + WTERMSIG(state);
}

std::string on_one_line(std::string_view text) {
  std::string line;
  for (const char c : text.substr(0, kMaxErrors)) line += static_cast<unsigned char>(c) < 0x20 ? ' ' : c;
  while (!line.empty() && line.back() == ' ') line.pop_back();
  return line;
}

}  // namespace

base::Result<SubprocessOutput> run(const Subprocess& process) {
  const Deadline deadline = std::chrono::steady_clock::now() + process.timeout;
  Pipe output;
  Pipe errors;
  if (!output.ok() || !errors.ok()) return spawn_error(errno);
  std::vector<std::string> words{process.command};
  words.insert(words.end(), process.args.begin(), process.args.end());
  std::vector<std::string> environment = environment_of(process);

  pid_t child = 0;
  const SpawnSettings settings(output, errors);
  const int failed = ::posix_spawnp(&child, process.command.c_str(), settings.actions(), settings.attributes(),
                                    pointers_to(words).data(), pointers_to(environment).data());
  if (failed != 0) return spawn_error(failed);
  output.close_writer();
  errors.close_writer();

  SubprocessOutput result;
  std::string said;
  const base::Status read = read_both(output, result.output, errors, said, deadline);
  if (!read) ::kill(-child, SIGKILL);
  result.exit_code = reap(child, deadline);
  result.errors = on_one_line(said);
  if (!read) return read.error();
  return result;
}

}  // namespace kube
