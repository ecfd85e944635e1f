#pragma once

#include <thread>

#include "base/clock.hpp"
#include "cmd/session/io.hpp"
#include "cmd/signals.hpp"
#include "kube/config/process_environment.hpp"

namespace cmd::plugin {

/// The process's own streams, terminal and signals. Make one, before other threads start: Ctrl-C reaches it only. A
/// Ctrl-C inside a call that takes its time ends the process after two seconds.
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
