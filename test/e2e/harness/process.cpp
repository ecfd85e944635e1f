#include "test/e2e/harness/process.hpp"

#include <fcntl.h>
#include <netinet/in.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <random>
#include <sstream>
#include <stdexcept>
#include <thread>

extern char** environ;  // NOLINT: POSIX

namespace e2e {
namespace {

using Clock = std::chrono::steady_clock;
constexpr std::chrono::milliseconds kReapInterval{5};

struct Streams {
  int in = -1;
  int out = -1;
  int err = -1;
};

std::runtime_error failed(std::string_view what) {
  return std::runtime_error(std::string(what) + ": " + std::strerror(errno));
}

std::vector<std::string> merged_environment(const Environ& extra) {
  std::vector<std::string> result;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string_view text = *entry;
    if (!extra.contains(std::string(text.substr(0, text.find('='))))) result.emplace_back(text);
  }
  for (const auto& [name, value] : extra) result.push_back(std::string(name).append("=").append(value));
  return result;
}

std::vector<char*> pointers(const std::vector<std::string>& texts) {
  std::vector<char*> result;
  result.reserve(texts.size() + 1);
  for (const std::string& text : texts) result.push_back(const_cast<char*>(text.c_str()));
  result.push_back(nullptr);
  return result;
}

// Only async-signal-safe calls are allowed between fork and exec, because other threads may hold any lock.
pid_t spawn(const std::vector<std::string>& argv, const Environ& extra, Streams streams) {
  const std::vector<std::string> environment = merged_environment(extra);
  const std::vector<char*> arguments = pointers(argv);
  const std::vector<char*> variables = pointers(environment);
  const pid_t parent = getpid();
  const pid_t pid = fork();
  if (pid != 0) {
    if (pid > 0) setpgid(pid, pid);
    return pid;
  }
  setpgid(0, 0);
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) _exit(127);
  dup2(streams.in, 0);
  dup2(streams.out, 1);
  dup2(streams.err, 2);
  execvpe(arguments[0], arguments.data(), variables.data());
  _exit(127);
}

int decode(int status) { return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status); }

std::string contents(int fd) {
  std::string text;
  char buffer[65536];
  off_t at = 0;
  for (ssize_t got; (got = pread(fd, buffer, sizeof buffer, at)) > 0; at += got)
    text.append(buffer, static_cast<std::size_t>(got));
  return text;
}

void write_all(int fd, std::string_view text) {
  while (!text.empty()) {
    const ssize_t put = write(fd, text.data(), text.size());
    if (put < 0 && errno == EINTR) continue;
    if (put <= 0) throw failed("writing to a child");
    text.remove_prefix(static_cast<std::size_t>(put));
  }
}

int memory_file(std::string_view text = {}) {
  const int fd = memfd_create("e2e", MFD_CLOEXEC);
  if (fd < 0) throw failed("memfd_create");
  write_all(fd, text);
  lseek(fd, 0, SEEK_SET);
  return fd;
}

int open_log(const std::filesystem::path& path) {
  const int fd = open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
  if (fd < 0) throw failed("opening " + path.string());
  return fd;
}

}  // namespace

Finished run(const std::vector<std::string>& argv, std::string_view input, std::chrono::seconds limit,
             const Environ& extra) {
  const Streams streams{memory_file(input), memory_file(), memory_file()};
  Finished result;
  const pid_t pid = spawn(argv, extra, streams);
  const auto deadline = Clock::now() + limit;
  for (int status = 0; pid > 0;) {
    if (waitpid(pid, &status, WNOHANG) == pid) {
      result.exit_code = decode(status);
      break;
    }
    if (!result.timed_out && Clock::now() > deadline) {
      result.timed_out = true;
      ::kill(-pid, SIGKILL);
    }
    std::this_thread::sleep_for(kReapInterval);
  }
  result.out = contents(streams.out);
  result.err = contents(streams.err);
  for (const int fd : {streams.in, streams.out, streams.err}) close(fd);
  return result;
}

Process::Process(const Options& options) : log_(options.log) {
  Streams streams;
  int pipe_ends[2] = {-1, -1};
  if (options.with_input && pipe2(pipe_ends, O_CLOEXEC) != 0) throw failed("pipe");
  streams.in = options.with_input ? pipe_ends[0] : open("/dev/null", O_RDONLY | O_CLOEXEC);
  streams.out = open_log(options.log);
  streams.err = options.errors.empty() ? streams.out : open_log(options.errors);
  pid_ = spawn(options.argv, options.environment, streams);
  input_ = pipe_ends[1];
  close(streams.in);
  close(streams.out);
  if (streams.err != streams.out) close(streams.err);
  if (pid_ < 0) throw failed("starting " + options.argv.front());
}

Process::~Process() {
  kill();
  if (input_ >= 0) close(input_);
}

bool Process::running() { return !exit_code(); }

std::optional<int> Process::exit_code() {
  int status = 0;
  if (!exit_code_ && waitpid(pid_, &status, WNOHANG) == pid_) exit_code_ = decode(status);
  return exit_code_;
}

void Process::signal(int number) const {
  if (!exit_code_) ::kill(pid_, number);
}

void Process::tell(std::string_view line) const { write_all(input_, std::string(line) + "\n"); }

void Process::kill() {
  if (exit_code()) {
    ::kill(-pid_, SIGKILL);  // child processes that are left
    return;
  }
  ::kill(-pid_, SIGKILL);
  int status = 0;
  while (waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
  }
  exit_code_ = decode(status);
}

bool Process::wait(std::chrono::milliseconds limit) {
  const auto deadline = Clock::now() + limit;
  while (running()) {
    if (Clock::now() > deadline) return false;
    std::this_thread::sleep_for(kReapInterval);
  }
  return true;
}

std::string read_file(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

void write_file(const std::filesystem::path& path, std::string_view text) {
  std::ofstream file(path, std::ios::binary | std::ios::trunc);
  file << text;
  if (!file.flush()) throw failed("writing " + path.string());
}

namespace {

bool is_free(std::uint16_t port) {
  const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port = htons(port);
  const bool bound = ::bind(fd, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0;
  ::close(fd);
  return bound;
}

}  // namespace

// Uses ports below the kernel's range for outgoing connections and unspecified ports (hack/cluster begins at 20000), so
// that no other process takes the port between this check and its use. Concurrent runs start at a random port.
std::uint16_t free_port() {
  constexpr int kFirst = 10000;
  constexpr int kCount = 10000;
  static std::atomic<unsigned> next{std::random_device{}()};
  for (int tries = 0; tries < kCount; ++tries) {
    const auto port = static_cast<std::uint16_t>(kFirst + next++ % kCount);
    if (is_free(port)) return port;
  }
  throw std::runtime_error("no free port on loopback");
}

}  // namespace e2e
