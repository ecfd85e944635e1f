#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace fakes {

/// What a hostile peer does: opens connections to 127.0.0.1, says a little on each, and holds them as long as it lives.
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
