#include "test/fakes/held_connections.hpp"

#include <arpa/inet.h>
#include <sys/socket.h>
#include <unistd.h>

namespace fakes {

HeldConnections::HeldConnections(std::uint16_t port, int count, const std::string& said) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  for (int i = 0; i < count; ++i) {
    const int socket = ::socket(AF_INET, SOCK_STREAM, 0);
    if (::connect(socket, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0)
      (void)!::send(socket, said.data(), said.size(), MSG_NOSIGNAL);
    sockets_.push_back(socket);
  }
}

HeldConnections::~HeldConnections() {
  for (const int socket : sockets_) ::close(socket);
}

}  // namespace fakes
