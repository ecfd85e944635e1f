#pragma once

#include <string>
#include <utility>
#include <vector>

namespace bench {

/// What one run of a descheduler is asked.
struct RunToObserve {
  std::string program;  ///< its name in the table
  int pid = 0;
  double started = 0;  ///< seconds since the epoch
  std::string audit_log;
  long audit_from = 0;                              ///< bytes of the log that were written before
  int evictions = 0;                                ///< it is over after so many; 0: when it ends or is quiet
  int sample_at = 100;                              ///< evictions after which the CPU since the start is read
  double timeout = 300;                             ///< seconds
  std::vector<std::pair<std::string, int>> others;  ///< name and pid of processes whose CPU is counted, too
};

/// Follows the audit log until the run is over: no request of the program for three seconds. Prints one line of JSON.
void observe(const RunToObserve& run);

/// CPU of a process over so many seconds, in percent of a core; beside it its threads and memory. `what` it does
/// meanwhile is part of the fields' names: "at_rest".
void observe_rest(const std::string& program, int pid, double seconds, const std::string& what);

/// Reads lines of JSON from the standard input and prints the table: medians over all runs of a program.
void report();

}  // namespace bench
