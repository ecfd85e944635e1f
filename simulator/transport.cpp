#include <fmt/format.h>

#include "kube/client.hpp"
#include "simulator/api/server.hpp"

namespace simulator {

base::Result<kube::Response> SimulatorTransport::round_trip(const kube::Request& request) {
  ApiAnswer answer = server_.answer(request, user_);
  if (answer.dropped)
    return base::Error{base::ErrorCode::kOutcomeUnknown,
                       "the connection was closed before the answer (a fault of the simulator)"};
  if (answer.delay >= request.timeout) {
    return base::Error{base::ErrorCode::kOutcomeUnknown,
                       fmt::format("no answer within {} ms (a fault of the simulator)", request.timeout.count())};
  }
  return std::move(answer.response);
}

base::Result<std::unique_ptr<kube::WatchStream>> SimulatorTransport::watch(const kube::Request& request) {
  ApiServer::WatchAnswer answer = server_.watch(request, user_);
  if (answer.stream) return std::move(answer.stream);
  if (answer.refusal.status == 0) return base::unavailable("the connection was closed (a fault of the simulator)");
  auto classified = kube::classify(std::move(answer.refusal));
  if (classified) return base::unavailable("the server refused to watch");
  return std::move(classified).error();
}

}  // namespace simulator
