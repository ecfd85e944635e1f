#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "test/unit/kube/fake_transport.hpp"

namespace kube::testing {

/// One Lease with the optimistic locking of the API server. A POST creates it, and so does a PUT.
class LeaseServer {
 public:
  LeaseServer() {
    transport.answer = [this](const Request& request) { return answer(request); };
  }
  FakeTransport transport;
  api::Json lease;  // null if the Lease does not exist
  std::optional<base::Error> failure;
  /// Called for each request. May answer it instead of the server.
  std::function<std::optional<Response>(const Request&)> look;
  bool lose_answers = false;
  int writes = 0;

  std::string holder() const { return lease.is_null() ? "none" : lease["spec"].value("holderIdentity", "none"); }

 private:
  base::Result<Response> answer(const Request& request) {
    if (failure) return *failure;
    EXPECT_EQ(request.flow, Flow::kLease) << "leases have their own lane";
    if (look) {
      if (auto answered = look(request)) return *std::move(answered);
    }
    if (request.method == "GET")
      return lease.is_null() ? not_found(request.path.substr(request.path.rfind('/') + 1))
                             : json_response(200, lease.dump());
    api::Json body = api::Json::parse(request.body);
    if (request.method == "POST" && !lease.is_null())
      return json_response(409, R"({"kind":"Status","reason":"AlreadyExists"})");
    const std::string known = body["metadata"].value("resourceVersion", "");
    const std::string stored = lease.is_null() ? "" : std::string(lease["metadata"]["resourceVersion"]);
    if (known != stored) return json_response(409, R"({"kind":"Status","reason":"Conflict"})");
    body["metadata"]["resourceVersion"] = std::to_string(++version_);
    lease = body;
    ++writes;
    if (lose_answers) return base::Error{base::ErrorCode::kOutcomeUnknown, "lost"};
    return json_response(200, lease.dump());
  }
  int version_ = 0;
};

}  // namespace kube::testing
