#include "simulator/registry/json_path.hpp"
#include "test/unit/simulator/api/fixture.hpp"

namespace simulator {
namespace custom_resource_test {

using Json = api::Json;

class CustomResourceTest : public ApiFixture {
 protected:
  void SetUp() override { install_crds(); }
  static constexpr const char* kPolicies = "/apis/evacuator.dev/v1alpha1/deschedulerpolicies";
  static Json policy(const std::string& name) {
    const Json strategies = {{{"name", "PodLifeTime"}, {"args", {{"maxPodLifeTimeSeconds", 60}}}}};
    return {{"apiVersion", "evacuator.dev/v1alpha1"},
            {"kind", "DeschedulerPolicy"},
            {"metadata", {{"name", name}}},
            {"spec", {{"mode", "DryRun"}, {"schedule", {{"interval", "5m"}}}, {"strategies", strategies}}}};
  }
  static std::string policy_path(const std::string& name) { return std::string(kPolicies) + "/" + name; }
  Reply apply_policy(const std::string& manager, const Json& config) {
    return call("PATCH", policy_path("e") + "/status?fieldManager=" + manager, config, "application/apply-patch+yaml");
  }
  std::string evac(const std::string& name) { return std::string(kEvacs) + "/" + name; }
  Reply apply(const std::string& manager, const Json& config, bool force = false, const std::string& sub = "") {
    return call(
        "PATCH",
        evac(config.at("metadata").at("name")) + sub + "?fieldManager=" + manager + (force ? "&force=true" : ""),
        config, "application/apply-patch+yaml");
  }
};

TEST_F(CustomResourceTest, DefinitionsAreEstablished) {
  const Json definition =
      must("GET", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/evacuations.evacuator.dev");
  EXPECT_EQ(definition.at("status").at("conditions").at(1).at("type"), "Established");
  EXPECT_EQ(definition.at("status").at("acceptedNames").at("kind"), "Evacuation");
  EXPECT_EQ(definition.at("status").at("storedVersions"), Json::array({"v1alpha1"}));
}

TEST_F(CustomResourceTest, DefaultsPrunesAndSeparatesStatus) {
  Json body = evacuation("e");
  body["spec"]["nonsense"] = 1;
  body["status"] = {{"phase", "Succeeded"}};
  const Json created = must("POST", kEvacs, body);
  EXPECT_EQ(created.at("spec").at("retry").at("maxAttempts"), 3);
  EXPECT_FALSE(created.at("spec").contains("nonsense"));
  EXPECT_FALSE(created.contains("status"));
  EXPECT_EQ(created.at("metadata").at("generation"), 1);
  const Json updated =
      merge(evac("e") + "/status", {{"status", {{"phase", "Pending"}}}, {"spec", {{"priority", 9}}}}).body;
  EXPECT_EQ(updated.at("status").at("phase"), "Pending");
  EXPECT_EQ(updated.at("spec").at("priority"), 0);
  EXPECT_EQ(updated.at("metadata").at("generation"), 1);
  EXPECT_EQ(merge(evac("e"), {{"spec", {{"priority", 9}}}}).body.at("metadata").at("generation"), 2);
}

TEST_F(CustomResourceTest, StrictValidationNamesUnknownFields) {
  Json body = evacuation("e");
  body["spec"]["nonsense"] = 1;
  const Reply reply = call("POST", std::string(kEvacs) + "?fieldValidation=Strict", body);
  EXPECT_EQ(reply.code, 400);
  EXPECT_NE(reply.message().find("strict decoding error: unknown field \"spec.nonsense\""), std::string::npos)
      << reply.message();
}

TEST_F(CustomResourceTest, SchemasRefuseWithThePath) {
  Json policy = {{"metadata", {{"name", "p"}}}, {"spec", {{"mode", "Auto"}}}};
  const Reply reply = call("POST", "/apis/evacuator.dev/v1alpha1/deschedulerpolicies", policy);
  EXPECT_EQ(reply.code, 422);
  EXPECT_NE(reply.message().find("DeschedulerPolicy.evacuator.dev \"p\" is invalid: "), std::string::npos)
      << reply.message();
  EXPECT_NE(reply.message().find("spec.mode: Unsupported value: \"Auto\""), std::string::npos) << reply.message();
  EXPECT_EQ(reply.body.at("details").at("causes").at(0).at("reason"), "FieldValueNotSupported");
  EXPECT_EQ(reply.body.at("details").at("kind"), "DeschedulerPolicy");
}

TEST_F(CustomResourceTest, PutsNeedAVersion) {
  const Json created = must("POST", kEvacs, evacuation("e"));
  const Reply reply = call("PUT", evac("e"), evacuation("e"));
  EXPECT_EQ(reply.code, 422);
  EXPECT_NE(reply.message().find("metadata.resourceVersion: Invalid value: 0x0: must be specified for an update"),
            std::string::npos);
  Json body = created;
  body["spec"]["priority"] = 4;
  EXPECT_EQ(call("PUT", evac("e"), body).code, 200);
  EXPECT_EQ(call("PUT", evac("e"), body).code, 409);
}

TEST_F(CustomResourceTest, StrategicMergeIsNotSupported) {
  must("POST", kEvacs, evacuation("e"));
  EXPECT_EQ(call("PATCH", evac("e"), Json::object(), "application/strategic-merge-patch+json").code, 415);
}

TEST_F(CustomResourceTest, ValidatorsSeeBothSides) {
  server.add_validator(kube::kEvacuations, [](const Json* before, const Json& after) -> api::FieldErrors {
    if (before && before->at("spec").at("priority") != after.at("spec").at("priority"))
      return {{"spec.priority", "Forbidden: is immutable"}};
    return {};
  });
  must("POST", kEvacs, evacuation("e"));
  const Reply reply = merge(evac("e"), {{"spec", {{"priority", 9}}}});
  EXPECT_EQ(reply.code, 422);
  EXPECT_EQ(reply.message(), "Evacuation.evacuator.dev \"e\" is invalid: spec.priority: Forbidden: is immutable");
  EXPECT_EQ(reply.body.at("details").at("causes").at(0).at("reason"), "FieldValueForbidden");
}

TEST_F(CustomResourceTest, RulesOfTheSchemaRefuse) {
  must("POST", kEvacs, evacuation("e"));
  const Reply reply = merge(evac("e"), {{"spec", {{"podRef", {{"name", "q"}}}}}});
  EXPECT_EQ(reply.code, 422);
  EXPECT_EQ(
      reply.message(),
      "Evacuation.evacuator.dev \"e\" is invalid: spec.podRef: Invalid value: \"object\": podRef.name may not change "
      "after creation");
  Json policy_of_a_second = policy("p");
  policy_of_a_second["spec"]["schedule"]["interval"] = "1s";
  EXPECT_NE(call("POST", kPolicies, policy_of_a_second).message().find("must be between 5s and 168h"),
            std::string::npos);
}

TEST_F(CustomResourceTest, DefinitionsWithBrokenRulesAreRefused) {
  const char* path = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/evacuations.evacuator.dev";
  Json definition = must("GET", path);
  Json& schema = definition["spec"]["versions"][0]["schema"]["openAPIV3Schema"];
  schema["properties"]["spec"]["x-kubernetes-validations"][0]["rule"] = "self.nodename == ''";
  const Reply reply = call("PUT", path, definition);
  EXPECT_EQ(reply.code, 422);
  EXPECT_NE(reply.message().find("undefined field 'nodename'"), std::string::npos) << reply.message();
}

TEST_F(CustomResourceTest, FinalizersDelayTheirDeletion) {
  Json body = evacuation("e");
  body["metadata"]["finalizers"] = {"evacuator.dev/evacuation"};
  must("POST", kEvacs, body);
  EXPECT_EQ(must("DELETE", evac("e")).at("metadata").at("deletionGracePeriodSeconds"), 0);
  EXPECT_EQ(merge(evac("e"), {{"metadata", {{"finalizers", nullptr}}}}).code, 200);
  EXPECT_EQ(call("GET", evac("e")).code, 404);
}

TEST_F(CustomResourceTest, RemovingTheDefinitionRemovesTheObjects) {
  must("POST", kEvacs, evacuation("e"));
  must("DELETE", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/evacuations.evacuator.dev");
  EXPECT_EQ(call("GET", kEvacs).code, 404);
  EXPECT_TRUE(store.list(kube::kEvacuations).empty());
  EXPECT_EQ(call("GET", "/apis/evacuator.dev/v1alpha1/deschedulerpolicies").code, 200);
  install_crds();
  EXPECT_EQ(must("GET", kEvacs).at("items").size(), 0u);
}

TEST_F(CustomResourceTest, BadDefinitionsAreRefused) {
  const char* path = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
  const Reply reply =
      call("POST", path, {{"metadata", {{"name", "x"}}}, {"spec", {{"group", "a.b"}, {"names", {{"plural", "xs"}}}}}});
  EXPECT_EQ(reply.code, 422);
  EXPECT_NE(reply.message().find("spec.names.kind: Required value"), std::string::npos);
  const Json clash = {{"metadata", {{"name", "evacuations2.evacuator.dev"}}},
                      {"spec",
                       {{"group", "evacuator.dev"},
                        {"scope", "Namespaced"},
                        {"names", {{"plural", "evacuations2"}, {"kind", "Evacuation"}}},
                        {"versions", Json::array({{{"name", "v1"},
                                                   {"served", true},
                                                   {"storage", true},
                                                   {"schema", {{"openAPIV3Schema", {{"type", "object"}}}}}}})}}}};
  EXPECT_EQ(call("POST", path, clash).code, 409);
}

// --- server-side apply

TEST_F(CustomResourceTest, ApplyCreatesAndTracksOwners) {
  const Reply created = apply("a", evacuation("e"));
  EXPECT_EQ(created.code, 201);
  const Json fields = created.body.at("metadata").at("managedFields");
  ASSERT_EQ(fields.size(), 1u);
  EXPECT_EQ(fields.at(0).at("manager"), "a");
  EXPECT_EQ(fields.at(0).at("operation"), "Apply");
  EXPECT_EQ(fields.at(0).at("fieldsV1"), Json::parse(R"({"f:spec":{"f:podRef":{"f:name":{}}}})"));
  const std::uint64_t before = store.revision();
  EXPECT_EQ(apply("a", evacuation("e")).code, 200);
  EXPECT_EQ(store.revision(), before) << "the same again is no change";
}

TEST_F(CustomResourceTest, ApplyReportsConflictsUnlessForced) {
  Json mine = evacuation("e");
  mine["spec"]["priority"] = 6;
  apply("a", mine);
  Json theirs = evacuation("e");
  theirs["spec"]["priority"] = 7;
  const Reply conflict = apply("b", theirs);
  EXPECT_EQ(conflict.code, 409);
  EXPECT_EQ(conflict.message(),
            "Apply failed with 1 conflict: conflict with \"a\" using evacuator.dev/v1alpha1: .spec.priority");
  EXPECT_EQ(conflict.body.at("details").at("causes").at(0).at("reason"), "FieldManagerConflict");
  EXPECT_EQ(conflict.body.at("details").at("causes").at(0).at("field"), ".spec.priority");
  EXPECT_EQ(apply("b", theirs, true).body.at("spec").at("priority"), 7);
  EXPECT_EQ(apply("a", mine).code, 409) << "the forced field has changed hands";
  theirs["spec"]["priority"] = 7;
  EXPECT_EQ(apply("a", theirs).code, 200) << "equal values may be owned together";
}

TEST_F(CustomResourceTest, ApplyRemovesFieldsThatItOwnedAlone) {
  Json config = evacuation("e");
  config["spec"]["reason"] = "x";
  config["spec"]["priority"] = 5;
  apply("a", config);
  Json other = evacuation("e");
  other["spec"]["reason"] = "x";
  apply("b", other);
  const Json left = apply("a", evacuation("e")).body;
  EXPECT_EQ(left.at("spec").at("reason"), "x") << "b owns it, too";
  EXPECT_EQ(left.at("spec").at("priority"), 0) << "back to the default";
}

TEST_F(CustomResourceTest, UpdatesTakeOwnership) {
  must("POST", std::string(kEvacs) + "?fieldManager=maker", evacuation("e"));
  merge(evac("e") + "?fieldManager=patcher", {{"spec", {{"priority", 6}}}});
  Json config = evacuation("e");
  config["spec"]["priority"] = 7;
  const Reply reply = apply("a", config);
  EXPECT_EQ(reply.code, 409);
  EXPECT_NE(reply.message().find("conflict with \"patcher\""), std::string::npos);
  merge(evac("e"), {{"spec", {{"suspend", true}}}});  // The manager is named after the User-Agent
  bool found = false;
  const Json object = must("GET", evac("e"));
  for (const Json& entry : object.at("metadata").at("managedFields")) found = found || entry.at("manager") == "curl";
  EXPECT_TRUE(found);
}

TEST_F(CustomResourceTest, AnUpdateOwnsOnlyItsChangesInKeyedLists) {
  must("POST", kPolicies, policy("e"));
  const auto condition = [](const char* type, const char* status) -> Json {
    return {{"type", type},
            {"status", status},
            {"reason", "R"},
            {"message", ""},
            {"lastTransitionTime", "2026-11-21T10:00:00Z"}};
  };
  const auto patch = [&](const char* manager, const Json& conditions) {
    return merge(policy_path("e") + "/status?fieldManager=" + manager, {{"status", {{"conditions", conditions}}}}).code;
  };
  ASSERT_EQ(patch("one", {condition("Admitted", "True"), condition("Blocked", "False")}), 200);
  ASSERT_EQ(patch("two", Json::array({condition("Blocked", "True")})), 200);
  const Json object = must("GET", policy_path("e"));
  std::map<std::string, Json> owned;
  for (const Json& entry : object.at("metadata").at("managedFields")) {
    const Json& fields = entry.at("fieldsV1");
    if (fields.contains("f:status")) owned[entry.at("manager")] = fields.at("f:status").at("f:conditions");
  }
  EXPECT_EQ(owned["two"], Json::parse(R"({"k:{\"type\":\"Blocked\"}":{"f:status":{}}})"));
  EXPECT_EQ(owned["one"], Json::parse(R"({"k:{\"type\":\"Blocked\"}":{".":{},"f:lastTransitionTime":{},"f:message":{},)"
                                      R"("f:reason":{},"f:type":{}}})"));
}

TEST_F(CustomResourceTest, KeyedListsMergeByTheSchemasKeys) {
  must("POST", kPolicies, policy("e"));
  const auto condition = [&](const char* type, const char* status) -> Json {
    return {{"type", type},
            {"status", status},
            {"reason", "R"},
            {"message", ""},
            {"lastTransitionTime", "2026-11-21T10:00:00Z"}};
  };
  Json config = policy("e");
  config.erase("spec");
  config["status"] = {{"conditions", Json::array({condition("Admitted", "True")})}};
  EXPECT_EQ(apply_policy("a", config).code, 200);
  config["status"]["conditions"] = Json::array({condition("Blocked", "False")});
  const Reply both = apply_policy("b", config);
  ASSERT_EQ(both.code, 200) << both.text;
  EXPECT_EQ(both.body.at("status").at("conditions").size(), 2u);
  config["status"]["conditions"] = Json::array({condition("Admitted", "False")});
  const Reply clash = apply_policy("b", config);
  EXPECT_EQ(clash.code, 409);
  EXPECT_NE(clash.message().find("conflict with \"a\" with subresource \"status\" using evacuator.dev/v1alpha1: "
                                 ".status.conditions[type=\"Admitted\"].status"),
            std::string::npos)
      << clash.message();
}

TEST_F(CustomResourceTest, AnEvacuationsStatusIsOwnedAsAWhole) {
  must("POST", kEvacs, evacuation("e"));
  const auto patch = [&](const char* manager, const Json& status) {
    return merge(evac("e") + "/status?fieldManager=" + manager, {{"status", status}}).code;
  };
  ASSERT_EQ(patch("one", {{"phase", "Pending"}, {"attempt", 1}}), 200);
  ASSERT_EQ(patch("two", {{"attempt", 2}}), 200);
  const Json object = must("GET", evac("e"));
  EXPECT_EQ(object.at("status").at("phase"), "Pending") << "a merge patch merges all the same";
  std::map<std::string, Json> owned;
  for (const Json& entry : object.at("metadata").at("managedFields")) {
    if (const Json& fields = entry.at("fieldsV1"); fields.contains("f:status"))
      owned[entry.at("manager")] = fields.at("f:status");
  }
  EXPECT_EQ(owned, (std::map<std::string, Json>{{"two", Json::object()}}));
}

TEST_F(CustomResourceTest, ApplyNeedsAManagerAndAWholeObject) {
  EXPECT_EQ(call("PATCH", evac("e"), evacuation("e"), "application/apply-patch+yaml").code, 422);
  Json bare = evacuation("e");
  bare.erase("kind");
  EXPECT_EQ(apply("a", bare).code, 400);
  EXPECT_EQ(call("PATCH", evac("e") + "?force=true", Json::object(), "application/merge-patch+json").code, 422);
}

TEST_F(CustomResourceTest, BuiltInKindsAreAppliedByMergeKeys) {
  Json config = {{"apiVersion", "v1"},
                 {"kind", "Pod"},
                 {"metadata", {{"name", "p"}}},
                 {"spec", {{"containers", Json::array({{{"name", "c"}, {"image", "i:1"}}})}}}};
  const std::string path = path_of("p") + "?fieldManager=a";
  EXPECT_EQ(call("PATCH", path, config, "application/apply-patch+yaml").code, 201);
  config["spec"]["containers"][0]["image"] = "i:2";
  const Reply again = call("PATCH", path, config, "application/apply-patch+yaml");
  ASSERT_EQ(again.code, 200) << again.text;
  EXPECT_EQ(again.body.at("spec").at("containers").size(), 1u);
  EXPECT_EQ(again.body.at("spec").at("containers").at(0).at("image"), "i:2");
  EXPECT_EQ(again.body.at("spec").at("containers").at(0).at("imagePullPolicy"), "IfNotPresent");
}

TEST_F(CustomResourceTest, ApplyReadsYaml) {
  kube::Request request;
  request.method = "PATCH";
  request.path = evac("y");
  request.query = "fieldManager=a";
  request.content_type = "application/apply-patch+yaml";
  request.body =
      "apiVersion: evacuator.dev/v1alpha1\nkind: Evacuation\nmetadata: {name: y}\nspec:\n  podRef: {name: p}\n";
  EXPECT_EQ(send(request).code, 201);
  request.body = "a: [";
  EXPECT_EQ(send(request).code, 400);
}

// --- tables

struct ColumnCase {
  const char* column;
  Json cell;
};

TEST_F(CustomResourceTest, TablesShowTheDefinitionsColumns) {
  must("POST", kEvacs, evacuation("e"));
  merge(evac("e") + "/status", {{"status", {{"phase", "Pending"}, {"progressText", "40%"}}}});
  clock.advance(base::seconds(200));
  kube::Request request;
  request.path = kEvacs;
  request.accept = "application/json;as=Table;v=v1;g=meta.k8s.io";
  const Json table = send(request).body;
  const auto cell = [&](const std::string& column) -> Json {
    for (std::size_t i = 0; i < table.at("columnDefinitions").size(); ++i) {
      if (table.at("columnDefinitions").at(i).at("name") == column) return table.at("rows").at(0).at("cells").at(i);
    }
    return "no such column";
  };
  const ColumnCase cases[] = {{"Name", "e"},    {"Pod", "p"},      {"Phase", "Pending"}, {"Progress", "40%"},
                              {"Age", "3m20s"}, {"Node", nullptr}, {"Reason", nullptr}};
  for (const ColumnCase& c : cases) EXPECT_EQ(cell(c.column), c.cell) << c.column;
}

TEST(JsonPath, FindsTheFieldsOfColumns) {
  const Json object = Json::parse(
      R"({"a":{"b":[{"type":"Ready","status":"True","n":1},{"type":"X","status":"False"}]},"a.b":{"c/d":5},"z":null})");
  const std::pair<const char*, const char*> cases[] = {
      {".a.b[0].status", "True"},
      {".a.b[-1].status", "False"},
      {".a.b[?(@.type==\"Ready\")].n", "1"},
      {".a.b[?(@.type=='X')].status", "False"},
      {".a.b[*].status", "True,False"},
      {"['a.b']['c/d']", "5"},
      {".a\\.b['c/d']", "5"},
      {"{.a.b[0].n}", "1"},
      {".z", "null"},
      {".none", ""},
      {".a.b[9]", ""},
      {".a.b[", ""},
      {"..", ""},
      {".a.b[?(@.type)]", ""},
      {"[x]", ""},
      {".a.c.d.e", ""},
  };
  for (const auto& [path, want] : cases) {
    std::string text;
    for (const Json* value : evaluate_json_path(object, path)) {
      text += (text.empty() ? "" : ",") + (value->is_string() ? value->get<std::string>() : value->dump());
    }
    EXPECT_EQ(text, want) << path;
  }
}

}  // namespace custom_resource_test
}  // namespace simulator
