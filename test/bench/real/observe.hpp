#pragma once

#include <string>
#include <utility>
#include <vector>

namespace bench {

/// Parameters of one run of a descheduler.
struct RunToObserve {
  std::string program;  ///< its name in the table
  int pid = 0;
  double started = 0;  ///< seconds since the epoch
  std::string audit_log;
  long audit_from = 0;   ///< size of the log in bytes at the start
  int evictions = 0;     ///< number of evictions that ends the run; 0 to wait until the process ends or is idle
  int sample_at = 100;   ///< number of evictions after which the CPU time since the start is read
  double timeout = 300;  ///< seconds
  std::vector<std::pair<std::string, int>> others;  ///< name and PID of additional processes whose CPU time is reported
};

/// Follows the audit log until the program has sent no request for three seconds. Prints one line of JSON.
void observe(const RunToObserve& run);

/// Measures the CPU usage of a process over `seconds`, in percent of a core, with its threads and memory. `what` names
/// its activity and becomes part of the field names: "at_rest".
void observe_rest(const std::string& program, int pid, double seconds, const std::string& what);

/// Reads lines of JSON from standard input and prints the table: medians over all runs of a program.
void report();

}  // namespace bench
