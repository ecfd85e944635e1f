#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "kube/runtime/informer.hpp"
#include "test/unit/kube/fake_transport.hpp"

/// An informer on a scripted server, and the texts that a server sends.
namespace kube {
namespace reflector_fixture {

using base::Error;
using base::ErrorCode;
using base::milliseconds;
using base::seconds;
using ::testing::ElementsAre;
using testing::FakeFeed;
using testing::FakeTransport;
using ::testing::HasSubstr;
using testing::json_response;

inline const Error kGoneError{ErrorCode::kGone, "too old"};
inline const Error kDown{ErrorCode::kUnavailable, "refused"};
inline const Error kLost{ErrorCode::kOutcomeUnknown, "504"};
inline const Error kBad{ErrorCode::kInvalid, "400"};

inline std::string object(const std::string& name, const std::string& version) {
  return R"({"metadata":{"namespace":"shop","name":")" + name + R"(","uid":"u-)" + name + R"(","resourceVersion":")" +
         version + "\"}}";
}
inline std::string event(const std::string& type, const std::string& json) {
  return R"({"type":")" + type + R"(","object":)" + json + "}";
}
inline std::string list_of(const std::vector<std::string>& objects, const std::string& version,
                           const std::string& token = {}) {
  std::string items;
  for (const std::string& each : objects) items += (items.empty() ? "" : ",") + each;
  return R"({"kind":"List","metadata":{"resourceVersion":")" + version + R"(","continue":")" + token +
         R"("},"items":[)" + items + "]}";
}

struct Thing {
  api::ObjectMeta meta;
};
inline base::Result<Thing> decode_thing(std::string_view json) {
  auto meta = api::decode_meta(json);
  if (!meta) return meta.error();
  if (meta->name == "broken" || meta->resource_version == "unreadable") return base::invalid("broken on purpose");
  return Thing{*std::move(meta)};
}

class ReflectorTest : public ::testing::Test {
 protected:
  ReflectorTest() {
    transport.answer = [this](const Request&) -> base::Result<Response> {
      if (list_answers.empty()) return json_response(200, list_of({object("a", "1")}, "10"));
      auto next = std::move(list_answers.front());
      list_answers.erase(list_answers.begin());
      return next;
    };
    transport.open_watch = [this](const Request&) -> base::Result<std::shared_ptr<FakeFeed>> {
      if (!watch_errors.empty()) {
        Error error = watch_errors.front();
        watch_errors.erase(watch_errors.begin());
        return error;
      }
      feed = std::make_shared<FakeFeed>();
      return feed;
    };
    informer.add_handler([this](const auto& before, const auto& after) {
      changes.push_back((before ? before->meta.name + "@" + before->meta.resource_version : "-") + " > " +
                        (after ? after->meta.name + "@" + after->meta.resource_version : "-"));
    });
  }
  /// Polls until poll() returns false. Returns the number of polls that made progress.
  int settle() {
    int steps = 0;
    while (informer.reflector().poll()) {
      if (++steps > 100) ADD_FAILURE() << "the reflector spins";
      if (steps > 100) break;
    }
    return steps;
  }
  std::vector<std::string> take_changes() { return std::exchange(changes, {}); }
  std::size_t count(const std::string& part) const {
    std::size_t found = 0;
    for (const std::string& each : transport.targets()) found += each.find(part) != std::string::npos;
    return found;
  }

  base::ManualClock clock{base::TimePoint{} + seconds(1'000'000)};
  FakeTransport transport;
  Client client{transport, nullptr};
  std::vector<base::Result<Response>> list_answers;
  std::vector<Error> watch_errors;
  std::shared_ptr<FakeFeed> feed;
  std::vector<std::string> changes;
  Informer<Thing> informer{client, clock, kPods, &decode_thing, {}, base::Log()};
};

}  // namespace reflector_fixture
}  // namespace kube
