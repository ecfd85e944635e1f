#include "controllers/operator/cache_followers.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <condition_variable>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "api/core/codec.hpp"
#include "base/time/steady_clock.hpp"
#include "test/unit/kube/fake_transport.hpp"

namespace cache_followers_test {

using base::milliseconds;
using controllers::CacheFollowers;
using kube::testing::FakeFeed;
using kube::testing::FakeTransport;
using kube::testing::json_response;

struct Thing {
  api::ObjectMeta meta;
};

base::Result<Thing> decode_thing(std::string_view json) {
  auto meta = api::decode_meta(json);
  if (!meta) return meta.error();
  return Thing{*std::move(meta)};
}

std::string added(const std::string& name) {
  return R"({"type":"ADDED","object":{"metadata":{"namespace":"shop","name":")" + name + R"(","uid":"u-)" + name +
         R"(","resourceVersion":"2"}}})";
}

const std::vector<kube::ResourceType> kTypes = {kube::kPods, kube::kNodes, kube::kNamespaces, kube::kReplicaSets,
                                                kube::kStatefulSets};

template <typename Condition>
bool comes_true(const Condition& condition) {
  for (int i = 0; i < 5000 && !condition(); ++i) std::this_thread::sleep_for(milliseconds(2));
  return condition();
}

/// A server of several kinds, with one cache per kind.
class CacheFollowersTest : public ::testing::Test {
 protected:
  CacheFollowersTest() {
    transport.answer = [this](const kube::Request& request) {
      std::unique_lock lock(mutex_);
      ++lists_[plural_of(request)];
      changed_.notify_all();
      changed_.wait(lock, [&] { return plural_of(request) != hanging_; });
      return base::Result<kube::Response>(json_response(200, R"({"metadata":{"resourceVersion":"1"},"items":[]})"));
    };
    transport.open_watch = [this](const kube::Request& request) {
      const std::scoped_lock lock(mutex_);
      auto feed = std::make_shared<FakeFeed>();
      feed->tells_news = tells_news;
      feeds_[plural_of(request)] = feed;
      return base::Result<std::shared_ptr<FakeFeed>>(feed);
    };
    std::vector<kube::Reflector*> reflectors;
    for (const kube::ResourceType& each : kTypes) {
      auto& informer = caches.emplace_back(std::make_unique<kube::Informer<Thing>>(
          client, clock, each, &decode_thing, kube::ReflectorOptions{}, base::Log()));
      reflectors.push_back(&informer->reflector());
    }
    followers = std::make_unique<CacheFollowers>(reflectors, clock, base::Log(), milliseconds(20));
  }
  ~CacheFollowersTest() override {
    hang("");
    stop.request_stop();
    followers.reset();
  }

  static std::string plural_of(const kube::Request& request) {
    return request.path.substr(request.path.rfind('/') + 1);
  }
  /// Blocks the lists of this kind until another kind is set.
  void hang(const std::string& plural) {
    const std::scoped_lock lock(mutex_);
    hanging_ = plural;
    changed_.notify_all();
  }
  std::shared_ptr<FakeFeed> feed(const std::string& plural) {
    const std::scoped_lock lock(mutex_);
    return feeds_.contains(plural) ? feeds_.at(plural) : nullptr;
  }
  int lists(const std::string& plural) {
    const std::scoped_lock lock(mutex_);
    return lists_[plural];
  }
  bool all_watch() {
    return comes_true([this] {
      const std::scoped_lock lock(mutex_);
      return feeds_.size() == kTypes.size();
    });
  }
  bool arrives(std::size_t cache, const std::string& name) {
    return comes_true([&] { return caches[cache]->store().get({"shop", name}) != nullptr; });
  }

  std::atomic<bool> tells_news = true;
  const base::SteadyClock clock;
  FakeTransport transport;
  kube::Client client{transport, nullptr};
  std::vector<std::unique_ptr<kube::Informer<Thing>>> caches;
  std::unique_ptr<CacheFollowers> followers;
  std::stop_source stop;

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::string hanging_;
  std::map<std::string, int> lists_;
  std::map<std::string, std::shared_ptr<FakeFeed>> feeds_;
};

TEST_F(CacheFollowersTest, OneThreadWaitsForAllStreams) {
  followers->start(stop.get_token());
  ASSERT_TRUE(all_watch());
  EXPECT_TRUE(comes_true([this] { return followers->threads() == 1; })) << followers->threads();
  for (std::size_t i = 0; i < kTypes.size(); ++i) {
    feed(std::string(kTypes[i].plural))->push(added("first"));
    EXPECT_TRUE(arrives(i, "first")) << kTypes[i].plural;
    feed(std::string(kTypes[i].plural))->push(added("second"));
    EXPECT_TRUE(arrives(i, "second")) << kTypes[i].plural;
  }
}

TEST_F(CacheFollowersTest, AHangingListDoesNotBlockOtherKinds) {
  hang("pods");
  followers->start(stop.get_token());
  ASSERT_TRUE(comes_true([this] { return feed("nodes") && feed("namespaces") && feed("replicasets"); }));
  feed("nodes")->push(added("n1"));
  EXPECT_TRUE(arrives(1, "n1"));
  EXPECT_FALSE(caches[0]->has_synced());
  hang("");
  EXPECT_TRUE(comes_true([this] { return caches[0]->has_synced(); }));
}

TEST_F(CacheFollowersTest, AWatchThatEndsIsOpenedAgainAndARelistIsHeardAtOnce) {
  followers->start(stop.get_token());
  ASSERT_TRUE(all_watch());
  const auto first = feed("nodes");
  first->end({base::ErrorCode::kUnavailable, "the server ended it"});
  ASSERT_TRUE(comes_true([&] { return feed("nodes") != first; }));
  const int before = lists("pods");
  const auto ticket = caches[0]->reflector().relist();
  EXPECT_TRUE(comes_true([&] { return caches[0]->reflector().has_relisted(ticket); }));
  EXPECT_EQ(lists("pods"), before + 1);
}

TEST_F(CacheFollowersTest, AStreamWithoutADescriptorIsAwaitedAndAStopWakesIt) {
  tells_news = false;
  followers->start(stop.get_token());
  ASSERT_TRUE(all_watch());
  for (std::size_t i = 0; i < kTypes.size(); ++i) {
    feed(std::string(kTypes[i].plural))->push(added("only"));
    EXPECT_TRUE(arrives(i, "only")) << kTypes[i].plural;
  }
  EXPECT_EQ(followers->threads(), kTypes.size());
  stop.request_stop();
  const auto asked = clock.now();
  followers.reset();
  EXPECT_LT(clock.now() - asked, base::seconds(5));
}

TEST_F(CacheFollowersTest, AHandlerThatThrowsEndsTheProcess) {
  caches[0]->add_handler([](const auto&, const auto&) { throw std::out_of_range("no such scope"); });
  EXPECT_DEATH(
      {
        followers->start(stop.get_token());
        if (all_watch()) feed("pods")->push(added("a"));
        std::this_thread::sleep_for(base::seconds(10));
      },
      "");
}

}  // namespace cache_followers_test
