#include "controllers/observability/process_metrics.hpp"

#include <sys/resource.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <sstream>
#include <system_error>

namespace controllers {
namespace {

/// Fields of /proc/self/stat after the program's name, which may contain blanks and brackets. Field 3 comes first.
struct Stat {
  double cpu_ticks = 0;
  double threads = 0;
  double start_ticks = 0;
  double resident_pages = 0;
};

bool read(const std::string& path, Stat& stat) {
  std::string line;
  std::getline(std::ifstream(path), line);
  const auto name_end = line.rfind(')');
  if (name_end == std::string::npos) return false;
  std::istringstream rest(line.substr(name_end + 1));
  std::string state;
  rest >> state;
  double field = 0;
  for (int number = 4; number <= 24 && rest >> field; ++number) {
    if (number == 14 || number == 15) stat.cpu_ticks += field;
    if (number == 20) stat.threads = field;
    if (number == 22) stat.start_ticks = field;
    if (number == 24) stat.resident_pages = field;
  }
  return static_cast<bool>(rest);
}

/// Returns the Unix time of the machine's boot, or 0 if unknown.
double boot_time(const std::string& path) {
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    double seconds = 0;
    if (line.rfind("btime ", 0) == 0 && std::istringstream(line.substr(6)) >> seconds) return seconds;
  }
  return 0;
}

}  // namespace

void ProcessMetrics::read_stat() {
  Stat stat;
  if (!read(proc_ + "/self/stat", stat)) return;
  const auto ticks = static_cast<double>(sysconf(_SC_CLK_TCK));
  const double cpu = stat.cpu_ticks / ticks;
  metrics_.counter("process_cpu_seconds_total", "Total user and system CPU time of the process.")
      .increment(std::max(0.0, cpu - cpu_seconds_));
  cpu_seconds_ = std::max(cpu, cpu_seconds_);
  metrics_.gauge("process_resident_memory_bytes", "Resident memory of the process.")
      .set(stat.resident_pages * static_cast<double>(sysconf(_SC_PAGESIZE)));
  metrics_.gauge("process_threads", "Number of threads of the process.").set(stat.threads);
  if (const double boot = boot_time(proc_ + "/stat"); boot > 0)
    metrics_.gauge("process_start_time_seconds", "Start time of the process, as Unix time.")
        .set(boot + stat.start_ticks / ticks);
}

void ProcessMetrics::refresh() {
  read_stat();
  std::error_code error;
  double open = 0;
  for (std::filesystem::directory_iterator each(proc_ + "/self/fd", error), end; !error && each != end;
       each.increment(error))
    ++open;
  if (!error) metrics_.gauge("process_open_fds", "Number of open file descriptors of the process.").set(open);
  rlimit most{};
  if (getrlimit(RLIMIT_NOFILE, &most) == 0)
    metrics_.gauge("process_max_fds", "Maximum number of open file descriptors.")
        .set(static_cast<double>(most.rlim_cur));
}

void publish_build_info(base::Metrics& metrics, std::string_view version, std::string_view commit) {
  metrics
      .gauge("evacuator_build_info", "1, with labels that identify the build.",
             {{"version", version}, {"commit", commit}})
      .set(1);
}

}  // namespace controllers
