#include "cmd/signals.hpp"

#include <poll.h>
#include <pthread.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <csignal>

namespace cmd {

Interrupted::Interrupted() {
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGINT);
  sigaddset(&signals, SIGTERM);
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  descriptor_ = signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK);
}

Interrupted::~Interrupted() {
  if (descriptor_ >= 0) close(descriptor_);
}

// The signal is never consumed, so an interrupted state persists.
bool Interrupted::yet() const { return wait(base::milliseconds(0)); }

bool Interrupted::wait(base::milliseconds at_most) const {
  pollfd poller{descriptor_, POLLIN, 0};
  return poll(&poller, 1, static_cast<int>(at_most.count())) > 0;
}

}  // namespace cmd
