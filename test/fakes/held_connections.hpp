#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace fakes {

/// Hostile peer. Opens connections to 127.0.0.1, sends `said` on each and holds them for its lifetime.
class HeldConnections {
 public:
  HeldConnections(std::uint16_t port, int count, const std::string& said);
  ~HeldConnections();
  HeldConnections(const HeldConnections&) = delete;
  HeldConnections& operator=(const HeldConnections&) = delete;

 private:
  std::vector<int> sockets_;
};

}  // namespace fakes
