#pragma once

#include <thread>

#include "base/clock.hpp"
#include "cmd/session/io.hpp"
#include "cmd/signals.hpp"
#include "kube/config/process_environment.hpp"

namespace cmd::plugin {

/// Io of this process: its streams, terminal and signals. Create one object, before other threads start, since it
/// handles Ctrl-C. Ctrl-C during a blocking call ends the process after two seconds.
class ProcessIo {
 public:
  ProcessIo();

  Io& io() { return io_; }

 private:
  const Interrupted interrupted_;
  const base::SystemClock clock_;
  const kube::Environment environment_;
  Io io_;
  const std::jthread guard_;
};

}  // namespace cmd::plugin
