#pragma once

#include <map>
#include <string>

namespace kube {

/// Environment variables of the process. A value, so that tests can pass their own.
using Environment = std::map<std::string, std::string>;

/// Returns the environment of this process before prepare_process().
Environment child_environment();

/// Clears OpenSSL's default roots. cpprest loads them for every connection, even if its store is replaced, at about 100
/// ms of CPU (libraries.md#tls). Evacuator loads roots itself. Child processes get the original values. Idempotent.
/// Call first in main(), before any thread starts.
void prepare_process();

}  // namespace kube
