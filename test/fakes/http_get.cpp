#include "test/fakes/http_get.hpp"

#include <arpa/inet.h>
#include <sys/socket.h>
#include <unistd.h>

namespace fakes {

std::string http_get(std::uint16_t port, const std::string& path, const std::string& headers) {
  const int socket = ::socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  const timeval patience{10, 0};
  setsockopt(socket, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
  std::string answer;
  if (::connect(socket, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0) {
    const std::string request = "GET " + path + " HTTP/1.1\r\nHost: x\r\n" + headers + "Connection: close\r\n\r\n";
    (void)!::send(socket, request.data(), request.size(), MSG_NOSIGNAL);
    char bytes[4096];
    for (ssize_t got = 0; (got = ::recv(socket, bytes, sizeof bytes, 0)) > 0;)
      answer.append(bytes, static_cast<std::size_t>(got));
  }
  ::close(socket);
  return answer;
}

}  // namespace fakes
