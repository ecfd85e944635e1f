#include "simulator/store.hpp"

#include <thread>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace simulator {
namespace store_test {

using api::Json;
using base::ErrorCode;

constexpr kube::ResourceType kConfigMaps{"", "v1", "configmaps", "ConfigMap"};

class StoreTest : public testing::Test {
 protected:
  static Json named(const char* ns, const char* name, Json more = Json::object()) {
    Json object = std::move(more);
    object["metadata"]["name"] = name;
    if (*ns) object["metadata"]["namespace"] = ns;
    return object;
  }
  static Json pod(const char* name, const char* node = "n1") {
    Json object =
        named("shop", name, {{"spec", {{"terminationGracePeriodSeconds", 20}}}, {"status", {{"phase", "Running"}}}});
    if (*node) object["spec"]["nodeName"] = node;
    return object;
  }
  std::string version(const Object& object) { return object->at("metadata").at("resourceVersion"); }
  Object must_create(const kube::ResourceType& type, Json object) {
    auto created = store.create(type, std::move(object));
    EXPECT_TRUE(created) << (created ? "" : created.error().message);
    return created ? *created : nullptr;
  }

  base::ManualClock clock{*base::parse_time("2026-11-21T10:00:00Z")};
  Store store{clock, 7};
};

TEST_F(StoreTest, CreateSetsServerOwnedFields) {
  Json evacuation = named("shop", "e", {{"spec", {{"x", 1}}}});
  evacuation["metadata"]["uid"] = "mine";
  evacuation["metadata"]["deletionTimestamp"] = "2020-01-01T00:00:00Z";
  evacuation["metadata"]["generation"] = 9;
  const Object created = must_create(kube::kEvacuations, std::move(evacuation));
  const Json& metadata = created->at("metadata");
  EXPECT_EQ(created->at("apiVersion"), "evacuator.dev/v1alpha1");
  EXPECT_EQ(created->at("kind"), "Evacuation");
  EXPECT_EQ(metadata.at("uid").get<std::string>().size(), 36u);
  EXPECT_EQ(metadata.at("creationTimestamp"), "2026-11-21T10:00:00Z");
  EXPECT_EQ(metadata.at("generation"), 1);
  EXPECT_FALSE(metadata.contains("deletionTimestamp"));
  EXPECT_EQ(version(created), std::to_string(store.revision()));
}

TEST_F(StoreTest, CreateRefuses) {
  must_create(kube::kPods, pod("p"));
  struct Case {
    const char* name;
    Json object;
    ErrorCode code;
    const char* message;
  };
  const Case cases[] = {
      {"a taken name", pod("p"), ErrorCode::kAlreadyExists, "pods \"p\" already exists"},
      {"no name",
       {{"metadata", {{"namespace", "shop"}}}},
       ErrorCode::kInvalid,
       "metadata.name: Required value: name or generateName is required"},
      {"no namespace", {{"metadata", {{"name", "q"}}}}, ErrorCode::kInvalid, "metadata.namespace: Required value"},
      {"metadata that is no object", {{"metadata", 3}}, ErrorCode::kInvalid, "metadata: an object is required"},
      {"what is no object", Json::array(), ErrorCode::kInvalid, "metadata: an object is required"},
  };
  for (const Case& c : cases) {
    auto created = store.create(kube::kPods, c.object);
    ASSERT_FALSE(created) << c.name;
    EXPECT_EQ(created.error().code, c.code) << c.name;
    EXPECT_EQ(created.error().message, c.message) << c.name;
  }
}

TEST_F(StoreTest, GenerateNameMakesReproducibleNames) {
  const auto name_with_seed = [&](std::uint64_t seed) {
    Store other(clock, seed);
    return (*other.create(kube::kPods, {{"metadata", {{"namespace", "shop"}, {"generateName", "web-"}}}}))
        ->at("metadata")
        .at("name")
        .get<std::string>();
  };
  EXPECT_EQ(name_with_seed(3), name_with_seed(3));
  EXPECT_NE(name_with_seed(3), name_with_seed(4));
  EXPECT_EQ(name_with_seed(3).size(), 9u);
}

TEST_F(StoreTest, GenerationCountsSpecsOnly) {
  must_create(kube::kEvacuations, named("shop", "e", {{"spec", {{"x", 1}}}}));
  const auto change = [&](Part part, const char* field, Json value) {
    auto saved = store.mutate(kube::kEvacuations, {"shop", "e"}, part, [&](Json& o) -> base::Status {
      o[Json::json_pointer(field)] = value;
      return base::Done{};
    });
    return (*saved)->at("metadata").at("generation").get<int>();
  };
  EXPECT_EQ(change(Part::kAll, "/metadata/labels", {{"a", "b"}}), 1);
  EXPECT_EQ(change(Part::kStatus, "/status", {{"phase", "Pending"}}), 1);
  EXPECT_EQ(change(Part::kMain, "/spec/x", 2), 2);
  EXPECT_EQ(change(Part::kMain, "/spec/x", 2), 2);
}

TEST_F(StoreTest, CoreKindsButPodsHaveNoGeneration) {
  EXPECT_FALSE(must_create(kConfigMaps, named("shop", "c"))->at("metadata").contains("generation"));
  EXPECT_TRUE(must_create(kube::kPods, pod("p"))->at("metadata").contains("generation"));
}

TEST_F(StoreTest, PartsAreWrittenSeparately) {
  must_create(kube::kEvacuations, named("shop", "e", {{"spec", {{"x", 1}}}, {"status", {{"phase", "Pending"}}}}));
  const auto both = [](Json& o) -> base::Status {
    o["spec"]["x"] = 2;
    o["status"]["phase"] = "Evicting";
    o["metadata"]["labels"]["a"] = "b";
    return base::Done{};
  };
  auto saved = store.mutate(kube::kEvacuations, {"shop", "e"}, Part::kStatus, both);
  EXPECT_EQ((*saved)->at("spec").at("x"), 1);
  EXPECT_EQ((*saved)->at("status").at("phase"), "Evicting");
  EXPECT_FALSE((*saved)->at("metadata").contains("labels"));
  (void)store.mutate(kube::kEvacuations, {"shop", "e"}, Part::kStatus, [](Json& o) -> base::Status {
    o["status"]["phase"] = "Pending";
    return base::Done{};
  });
  saved = store.mutate(kube::kEvacuations, {"shop", "e"}, Part::kMain, both);
  EXPECT_EQ((*saved)->at("spec").at("x"), 2);
  EXPECT_EQ((*saved)->at("status").at("phase"), "Pending");
}

TEST_F(StoreTest, WritesWithoutChangesMakeNoRevision) {
  must_create(kube::kPods, pod("p"));
  const std::uint64_t before = store.revision();
  ASSERT_TRUE(store.mutate(kube::kPods, {"shop", "p"}, Part::kAll, [](Json&) -> base::Status { return base::Done{}; }));
  EXPECT_EQ(store.revision(), before);
}

TEST_F(StoreTest, MutateRefuses) {
  const Object created = must_create(kube::kPods, pod("p"));
  const auto set = [](const char* path, const char* value) {
    return [=](Json& o) -> base::Status {
      o[Json::json_pointer(path)] = value;
      return base::Done{};
    };
  };
  auto stale = store.mutate(kube::kPods, {"shop", "p"}, Part::kAll, set("/metadata/resourceVersion", "1"));
  EXPECT_EQ(stale.error().code, ErrorCode::kConflict);
  EXPECT_EQ(stale.error().message,
            "Operation cannot be fulfilled on pods \"p\": the object has been modified; please apply your changes to "
            "the latest "
            "version and try again");
  auto other = store.mutate(kube::kPods, {"shop", "p"}, Part::kAll, set("/metadata/uid", "u"));
  EXPECT_EQ(other.error().message, "metadata.uid: Invalid value: \"u\": field is immutable");
  auto absent = store.mutate(kube::kPods, {"shop", "q"}, Part::kAll, set("/spec", "x"));
  EXPECT_EQ(absent.error().message, "pods \"q\" not found");
  auto aborted = store.mutate(kube::kPods, {"shop", "p"}, Part::kAll, [](Json& o) -> base::Status {
    o["spec"] = 1;
    return base::invalid("no");
  });
  EXPECT_EQ(aborted.error().message, "no");
  EXPECT_EQ(*store.get(kube::kPods, {"shop", "p"}), *created);
}

TEST_F(StoreTest, PodsWithANodeAreDeletedGracefully) {
  must_create(kube::kPods, pod("p"));
  auto removed = store.remove(kube::kPods, {"shop", "p"});
  EXPECT_EQ((*removed)->at("metadata").at("deletionTimestamp"), "2026-11-21T10:00:20Z");
  EXPECT_EQ((*removed)->at("metadata").at("deletionGracePeriodSeconds"), 20);
  ASSERT_TRUE(store.remove(kube::kPods, {"shop", "p"}, {}, 5));  // A shorter grace period is applied
  EXPECT_EQ(store.get(kube::kPods, {"shop", "p"})->at("metadata").at("deletionTimestamp"), "2026-11-21T10:00:05Z");
  const std::uint64_t before = store.revision();
  ASSERT_TRUE(store.remove(kube::kPods, {"shop", "p"}, {}, 60));  // A longer grace period is ignored
  ASSERT_TRUE(store.remove(kube::kPods, {"shop", "p"}));
  EXPECT_EQ(store.revision(), before);
  ASSERT_TRUE(store.remove(kube::kPods, {"shop", "p"}, {}, 0));  // The kubelet reports the end of the pod
  EXPECT_FALSE(store.get(kube::kPods, {"shop", "p"}));
}

TEST_F(StoreTest, PodsWithoutANodeAreDeletedImmediately) {
  must_create(kube::kPods, pod("unscheduled", ""));
  Json done = pod("done");
  done["status"]["phase"] = "Succeeded";
  must_create(kube::kPods, std::move(done));
  for (const char* name : {"unscheduled", "done"}) {
    ASSERT_TRUE(store.remove(kube::kPods, {"shop", name}));
    EXPECT_FALSE(store.get(kube::kPods, {"shop", name})) << name;
  }
}

TEST_F(StoreTest, FinalizersDelayDeletionUntilTheLastIsRemoved) {
  Json object = named("shop", "e");
  object["metadata"]["finalizers"] = {"a/x", "b/y"};
  must_create(kube::kEvacuations, std::move(object));
  auto removed = store.remove(kube::kEvacuations, {"shop", "e"});
  EXPECT_EQ((*removed)->at("metadata").at("deletionGracePeriodSeconds"), 0);
  const auto keep = [&](Json left) {
    return store.mutate(kube::kEvacuations, {"shop", "e"}, Part::kAll, [&](Json& o) -> base::Status {
      o["metadata"]["finalizers"] = left;
      return base::Done{};
    });
  };
  ASSERT_TRUE(keep({"a/x"}));
  EXPECT_TRUE(store.get(kube::kEvacuations, {"shop", "e"}));
  ASSERT_TRUE(keep(Json::array()));
  EXPECT_FALSE(store.get(kube::kEvacuations, {"shop", "e"}));
}

TEST_F(StoreTest, RemovingTheLastFinalizerDoesNotShortenTheGracePeriod) {
  Json object = pod("p");
  object["metadata"]["finalizers"] = {"a/x"};
  must_create(kube::kPods, std::move(object));
  ASSERT_TRUE(store.remove(kube::kPods, {"shop", "p"}));
  ASSERT_TRUE(store.mutate(kube::kPods, {"shop", "p"}, Part::kAll, [](Json& o) -> base::Status {
    o["metadata"].erase("finalizers");
    return base::Done{};
  }));
  EXPECT_TRUE(store.get(kube::kPods, {"shop", "p"}));
}

TEST_F(StoreTest, RemovePreconditionsMatchTheMessagesOfKubernetes) {
  const Object created = must_create(kube::kPods, pod("p"));
  const std::string uid = created->at("metadata").at("uid");
  EXPECT_EQ(store.remove(kube::kPods, {"shop", "p"}, {"other", ""}).error().message,
            "Operation cannot be fulfilled on Pod \"p\": the UID in the precondition (other) does not match the UID in "
            "record (" +
                uid + "). The object might have been deleted and then recreated");
  EXPECT_EQ(store.remove(kube::kPods, {"shop", "p"}, {uid, "1"}).error().message,
            "Operation cannot be fulfilled on Pod \"p\": the ResourceVersion in the precondition (1) does not match "
            "the ResourceVersion in record (" +
                version(created) + "). The object might have been modified");
  EXPECT_TRUE(store.remove(kube::kPods, {"shop", "p"}, {uid, version(created)}));
  EXPECT_EQ(store.remove(kube::kPods, {"shop", "q"}).error().code, ErrorCode::kNotFound);
}

TEST_F(StoreTest, ListsAreOrderedAndScoped) {
  for (const char* name : {"b", "a", "c"}) must_create(kConfigMaps, named("shop", name));
  must_create(kConfigMaps, named("bank", "z"));
  must_create(kConfigMaps, named("shop2", "y"));
  const auto names = [&](const std::string& ns) {
    std::string text;
    for (const Object& object : store.list(kConfigMaps, ns))
      text += object->at("metadata").at("name").get<std::string>();
    return text;
  };
  EXPECT_EQ(names(""), "zabcy");
  EXPECT_EQ(names("shop"), "abc");
  EXPECT_EQ(names("none"), "");
}

TEST_F(StoreTest, ListAtShowsThePast) {
  must_create(kConfigMaps, named("shop", "old"));
  must_create(kConfigMaps, named("shop", "changed", {{"data", {{"k", "1"}}}}));
  const std::uint64_t then = store.revision();
  ASSERT_TRUE(store.mutate(kConfigMaps, {"shop", "changed"}, Part::kAll, [](Json& o) -> base::Status {
    o["data"]["k"] = "2";
    return base::Done{};
  }));
  ASSERT_TRUE(store.remove(kConfigMaps, {"shop", "old"}));
  must_create(kConfigMaps, named("shop", "newer"));
  must_create(kConfigMaps, named("elsewhere", "x"));
  auto past = store.list_at(kConfigMaps, "shop", then);
  ASSERT_TRUE(past);
  EXPECT_EQ(past->revision, then);
  ASSERT_EQ(past->items.size(), 2u);
  EXPECT_EQ(past->items[0]->at("data").at("k"), "1");
  EXPECT_EQ(past->items[1]->at("metadata").at("name"), "old");
  EXPECT_EQ(store.list_at(kConfigMaps, "shop")->items.size(), 2u);
  store.compact();
  EXPECT_EQ(store.list_at(kConfigMaps, "shop", then).error().code, ErrorCode::kGone);
}

TEST_F(StoreTest, TheJournalContainsEveryChangeOnce) {
  const std::uint64_t start = store.revision();
  must_create(kube::kPods, pod("p"));
  must_create(kConfigMaps, named("shop", "c"));
  ASSERT_TRUE(store.remove(kube::kPods, {"shop", "p"}));
  ASSERT_TRUE(store.remove(kube::kPods, {"shop", "p"}, {}, 0));
  auto pods = store.changes_since(start, &kube::kPods);
  ASSERT_TRUE(pods);
  ASSERT_EQ(pods->size(), 3u);
  EXPECT_EQ((*pods)[0].kind, ChangeKind::kAdded);
  EXPECT_EQ((*pods)[0].before, nullptr);
  EXPECT_EQ((*pods)[1].kind, ChangeKind::kModified);
  EXPECT_EQ((*pods)[1].before, (*pods)[0].object);
  EXPECT_EQ((*pods)[2].kind, ChangeKind::kDeleted);
  EXPECT_EQ(version((*pods)[2].object), std::to_string((*pods)[2].revision));
  EXPECT_EQ(store.changes_since(start)->size(), 4u);
  EXPECT_TRUE(store.changes_since(store.revision())->empty());
  store.compact();
  EXPECT_EQ(store.changes_since(start).error().code, ErrorCode::kGone);
  EXPECT_TRUE(store.changes_since(store.revision()));
}

TEST_F(StoreTest, TheJournalIsBounded) {
  const std::uint64_t start = store.revision();
  must_create(kConfigMaps, named("shop", "c"));
  for (int i = 0; i < 17'000; ++i) {
    (void)store.mutate(kConfigMaps, {"shop", "c"}, Part::kAll, [i](Json& o) -> base::Status {
      o["data"]["k"] = std::to_string(i);
      return base::Done{};
    });
  }
  EXPECT_EQ(store.changes_since(start).error().code, ErrorCode::kGone);
  EXPECT_TRUE(store.changes_since(store.revision() - 1'000));
}

TEST_F(StoreTest, WaitPastWakesForAChange) {
  const std::uint64_t seen = store.revision();
  EXPECT_EQ(store.wait_past(seen, base::milliseconds(0)), seen);
  std::jthread writer([&] { (void)store.create(kConfigMaps, named("shop", "c")); });
  EXPECT_GT(store.wait_past(seen, base::milliseconds(10'000)), seen);
}

TEST_F(StoreTest, TwoWritersLoseNothing) {
  must_create(kConfigMaps, named("shop", "c", {{"data", {{"n", 0}}}}));
  const auto count = [&] {
    for (int i = 0; i < 500; ++i) {
      (void)store.mutate(kConfigMaps, {"shop", "c"}, Part::kAll, [](Json& o) -> base::Status {
        o["data"]["n"] = o["data"]["n"].get<int>() + 1;
        return base::Done{};
      });
    }
  };
  { std::jthread a(count), b(count); }
  EXPECT_EQ(store.get(kConfigMaps, {"shop", "c"})->at("data").at("n"), 1000);
}

TEST_F(StoreTest, UidsLookLikeUuidsAndNeverRepeat) {
  const std::string first = store.new_uid();
  EXPECT_EQ(first[14], '4');
  EXPECT_NE(std::string("89ab").find(first[19]), std::string::npos);
  EXPECT_NE(first, store.new_uid());
}

}  // namespace store_test
}  // namespace simulator
