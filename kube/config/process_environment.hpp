#pragma once

#include <map>
#include <string>

namespace kube {

/// What the process was started with. A value, so that tests pass their own.
using Environment = std::map<std::string, std::string>;

/// The environment of this process as it was before prepare_process().
Environment child_environment();

/// Points OpenSSL's default roots to nothing: loading them costs about 100 ms of CPU per connection in cpprest, which
/// does it even when its store is replaced (libraries.md#tls). We load roots ourselves; children get the old values.
/// Idempotent. Call it first in main(), before there are other threads.
void prepare_process();

}  // namespace kube
