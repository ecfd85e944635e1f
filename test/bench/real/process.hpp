#pragma once

#include <string>

namespace bench {

/// Seconds of CPU of all threads of a process so far; negative: it is gone.
double cpu_seconds(int pid);
/// A number of /proc/<pid>/status; 0: there is none.
double proc_status(int pid, const std::string& name);

}  // namespace bench
