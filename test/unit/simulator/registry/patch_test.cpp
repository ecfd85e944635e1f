#include "simulator/registry/patch.hpp"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace simulator {
namespace patch_test {

using api::Json;

struct PatchCase {
  const char* name;
  const char* object;
  const char* patch;
  const char* want;  ///< JSON, or the HTTP code of the refusal
};

void expect(const PatchCase& c, Outcome<Json> got) {
  const Json want = Json::parse(c.want);
  if (want.is_number()) {
    ASSERT_FALSE(got) << c.name << ": " << got->dump();
    EXPECT_EQ(got.failure().code, want.get<int>()) << c.name;
  } else {
    ASSERT_TRUE(got) << c.name << ": " << got.failure().message;
    EXPECT_EQ(got->dump(), want.dump()) << c.name;
  }
}

TEST(MergePatch, FollowsRfc7386) {
  const PatchCase cases[] = {
      {"sets and adds", R"({"a":1,"b":{"c":2}})", R"({"a":3,"b":{"d":4}})", R"({"a":3,"b":{"c":2,"d":4}})"},
      {"null removes", R"({"a":1,"b":{"c":2}})", R"({"a":null,"b":{"c":null}})", R"({"b":{}})"},
      {"null removes what is not there", R"({"a":1})", R"({"z":null})", R"({"a":1})"},
      {"replaces lists", R"({"a":[1,2]})", R"({"a":[3]})", R"({"a":[3]})"},
      {"refuses a list as patch", R"({})", R"([1])", "400"},
  };
  for (const PatchCase& c : cases) expect(c, apply_merge_patch(Json::parse(c.object), Json::parse(c.patch)));
}

TEST(JsonPatch, FollowsRfc6902LikeKubernetes) {
  const PatchCase cases[] = {
      {"adds a member", R"({"a":1})", R"([{"op":"add","path":"/b","value":2}])", R"({"a":1,"b":2})"},
      {"adds into a list", R"({"a":[1,3]})", R"([{"op":"add","path":"/a/1","value":2}])", R"({"a":[1,2,3]})"},
      {"appends", R"({"a":[1]})", R"([{"op":"add","path":"/a/-","value":2}])", R"({"a":[1,2]})"},
      {"does not add beyond the end", R"({"a":[1]})", R"([{"op":"add","path":"/a/5","value":2}])", "422"},
      {"does not add below what is absent", R"({})", R"([{"op":"add","path":"/a/b","value":2}])", "422"},
      {"removes", R"({"a":[1,2],"b":3})", R"([{"op":"remove","path":"/a/0"},{"op":"remove","path":"/b"}])",
       R"({"a":[2]})"},
      {"cannot remove what is absent", R"({})", R"([{"op":"remove","path":"/a"}])", "422"},
      {"replaces", R"({"a":1})", R"([{"op":"replace","path":"/a","value":2}])", R"({"a":2})"},
      {"replaces an absent member", R"({})", R"([{"op":"replace","path":"/a","value":2}])", R"({"a":2})"},
      {"moves", R"({"a":1})", R"([{"op":"move","from":"/a","path":"/b"}])", R"({"b":1})"},
      {"copies", R"({"a":1})", R"([{"op":"copy","from":"/a","path":"/b"}])", R"({"a":1,"b":1})"},
      {"tests and goes on", R"({"a":1})", R"([{"op":"test","path":"/a","value":1},{"op":"add","path":"/b","value":2}])",
       R"({"a":1,"b":2})"},
      {"stops at a failing test", R"({"a":1})", R"([{"op":"test","path":"/a","value":2}])", "422"},
      {"a test of something absent fails", R"({})", R"([{"op":"test","path":"/a","value":2}])", "422"},
      {"a test for null passes on something absent", R"({})", R"([{"op":"test","path":"/a","value":null}])", R"({})"},
      {"unescapes", R"({"a/b":1,"c~d":2})", R"([{"op":"remove","path":"/a~1b"},{"op":"remove","path":"/c~0d"}])",
       R"({})"},
      {"refuses an unknown operation", R"({})", R"([{"op":"explode","path":"/a"}])", "400"},
      {"refuses an operation without path", R"({})", R"([{"op":"add"}])", "400"},
      {"refuses a path without slash", R"({})", R"([{"op":"add","path":"a","value":1}])", "422"},
      {"refuses an object", R"({})", R"({"op":"add"})", "400"},
      {"survives operations that are no objects", R"({})", R"([1,null,"x"])", "400"},
  };
  for (const PatchCase& c : cases) expect(c, apply_json_patch(Json::parse(c.object), Json::parse(c.patch)));
}

TEST(JsonPatch, RefusesBombs) {
  Json doubling = Json::array({{{"op", "add"}, {"path", "/a"}, {"value", std::string(1000, 'x')}}});
  for (int i = 0; i < 40; ++i) doubling.push_back({{"op", "copy"}, {"from", ""}, {"path", "/b" + std::to_string(i)}});
  EXPECT_EQ(apply_json_patch(Json::object(), doubling).failure().code, 422);
  const Json many(10'001, Json{{"op", "test"}, {"path", ""}, {"value", Json::object()}});
  EXPECT_EQ(apply_json_patch(Json::object(), many).failure().code, 413);
}

TEST(StrategicMerge, FollowsTheMergeKeys) {
  const PatchCase cases[] = {
      {"merges containers by name", R"({"spec":{"containers":[{"name":"a","image":"1"},{"name":"b","image":"1"}]}})",
       R"({"spec":{"containers":[{"name":"b","image":"2"}]}})",
       R"({"spec":{"containers":[{"name":"a","image":"1"},{"name":"b","image":"2"}]}})"},
      {"adds a container", R"({"spec":{"containers":[{"name":"a"}]}})", R"({"spec":{"containers":[{"name":"b"}]}})",
       R"({"spec":{"containers":[{"name":"a"},{"name":"b"}]}})"},
      {"deletes by directive", R"({"spec":{"containers":[{"name":"a"},{"name":"b"}]}})",
       R"({"spec":{"containers":[{"name":"a","$patch":"delete"}]}})", R"({"spec":{"containers":[{"name":"b"}]}})"},
      {"deletes nothing that is not there", R"({"spec":{"containers":[{"name":"b"}]}})",
       R"({"spec":{"containers":[{"name":"a","$patch":"delete"}]}})", R"({"spec":{"containers":[{"name":"b"}]}})"},
      {"replaces a keyed list by directive", R"({"spec":{"containers":[{"name":"a"}]}})",
       R"({"spec":{"containers":[{"$patch":"replace"},{"name":"c"}]}})", R"({"spec":{"containers":[{"name":"c"}]}})"},
      {"replaces tolerations whole", R"({"spec":{"tolerations":[{"key":"a"}]}})",
       R"({"spec":{"tolerations":[{"key":"b"}]}})", R"({"spec":{"tolerations":[{"key":"b"}]}})"},
      {"merges conditions by type", R"({"status":{"conditions":[{"type":"A","status":"True"}]}})",
       R"({"status":{"conditions":[{"type":"A","status":"False"},{"type":"B","status":"True"}]}})",
       R"({"status":{"conditions":[{"status":"False","type":"A"},{"status":"True","type":"B"}]}})"},
      {"merges finalizers as a set", R"({"metadata":{"finalizers":["a","b"]}})",
       R"({"metadata":{"finalizers":["b","c"]}})", R"({"metadata":{"finalizers":["a","b","c"]}})"},
      {"deletes from a set", R"({"metadata":{"finalizers":["a","b"]}})",
       R"({"metadata":{"$deleteFromPrimitiveList/finalizers":["a"]}})", R"({"metadata":{"finalizers":["b"]}})"},
      {"tells ports of services from those of containers",
       R"({"spec":{"ports":[{"port":80,"name":"x"}],"containers":[{"name":"a","ports":[{"containerPort":80}]}]}})",
       R"({"spec":{"ports":[{"port":80,"name":"y"}],"containers":[{"name":"a","ports":[{"containerPort":80,"name":"z"}]}]}})",
       R"({"spec":{"containers":[{"name":"a","ports":[{"containerPort":80,"name":"z"}]}],"ports":[{"name":"y","port":80}]}})"},
      {"orders as the client says", R"({"spec":{"containers":[{"name":"a"},{"name":"s"},{"name":"b"}]}})",
       R"({"spec":{"$setElementOrder/containers":[{"name":"b"},{"name":"a"}],"containers":[{"name":"b"},{"name":"a"}]}})",
       R"({"spec":{"containers":[{"name":"s"},{"name":"b"},{"name":"a"}]}})"},
      {"retains only the named keys", R"({"spec":{"strategy":{"type":"RollingUpdate","rollingUpdate":{}}}})",
       R"({"spec":{"strategy":{"$retainKeys":["type"],"type":"Recreate"}}})",
       R"({"spec":{"strategy":{"type":"Recreate"}}})"},
      {"replaces a map by directive", R"({"a":{"b":1,"c":2}})", R"({"a":{"$patch":"replace","d":3}})",
       R"({"a":{"d":3}})"},
      {"null removes", R"({"metadata":{"labels":{"a":"1","b":"2"}}})", R"({"metadata":{"labels":{"a":null}}})",
       R"({"metadata":{"labels":{"b":"2"}}})"},
      {"directives do not leak into new objects", R"({})",
       R"({"spec":{"$setElementOrder/containers":[{"name":"a"}],"containers":[{"name":"a"}],"x":null}})",
       R"({"spec":{"containers":[{"name":"a"}]}})"},
      {"a webhook keeps what it has beside",
       R"({"webhooks":[{"name":"a","failurePolicy":"Fail"},{"name":"b","objectSelector":{}}]})",
       R"({"webhooks":[{"name":"b","clientConfig":{"url":"https://x"}}]})",
       R"({"webhooks":[{"name":"a","failurePolicy":"Fail"},{"name":"b","objectSelector":{},"clientConfig":{"url":"https://x"}}]})"},
      {"cordons", R"({"spec":{"podCIDR":"x"}})", R"({"spec":{"unschedulable":true}})",
       R"({"spec":{"podCIDR":"x","unschedulable":true}})"},
  };
  for (const PatchCase& c : cases) expect(c, apply_strategic_merge(Json::parse(c.object), Json::parse(c.patch)));
}

TEST(AllPatches, RefuseDepthsThatWouldOverflowTheStack) {
  std::string deep;
  for (int i = 0; i < 5'000; ++i) deep += "{\"a\":";
  deep += "1";
  deep.append(5'000, '}');
  const Json patch = Json::parse(deep);
  EXPECT_EQ(apply_merge_patch(Json::object(), patch).failure().code, 400);
  EXPECT_EQ(apply_strategic_merge(Json::object(), patch).failure().code, 400);
  EXPECT_EQ(
      apply_json_patch(Json::object(), Json::array({{{"op", "add"}, {"path", "/a"}, {"value", patch}}})).failure().code,
      400);
}

}  // namespace patch_test
}  // namespace simulator
