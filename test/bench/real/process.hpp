#pragma once

#include <string>

namespace bench {

/// Returns the CPU seconds of all threads of a process, negative if it does not exist.
double cpu_seconds(int pid);
/// Returns a number of /proc/<pid>/status, 0 if it does not exist.
double proc_status(int pid, const std::string& name);

}  // namespace bench
