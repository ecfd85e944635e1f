#include "api/json/schema.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace schema_test {

using api::Json;
using testing::ElementsAre;

struct SchemaCase {
  std::string name;
  std::string schema;
  std::string value;
  std::vector<std::string> errors;
};

class ValidateSchemaTest : public testing::TestWithParam<SchemaCase> {};

TEST_P(ValidateSchemaTest, ReportsErrorsLikeKubernetes) {
  const auto& [name, schema, value, errors] = GetParam();
  std::vector<std::string> lines;
  for (const auto& error : api::validate_schema(Json::parse(schema), Json::parse(value), api::FieldPath("spec"))) {
    lines.push_back(error.to_string());
  }
  EXPECT_EQ(lines, errors);
}

std::string object_of(const std::string& properties) { return R"({"type":"object","properties":)" + properties + "}"; }

INSTANTIATE_TEST_SUITE_P(
    Schema, ValidateSchemaTest,
    testing::Values(
        SchemaCase{"FittingObject", object_of(R"({"a":{"type":"integer"}})"), R"({"a":1})", {}},
        SchemaCase{"WrongType",
                   object_of(R"({"a":{"type":"boolean"}})"),
                   R"({"a":"yes"})",
                   {R"(spec.a: Invalid value: "string": spec.a in body must be of type boolean: "string")"}},
        SchemaCase{"WrongTypeOfTheWhole",
                   object_of("{}"),
                   "[]",
                   {R"(spec: Invalid value: "array": spec in body must be of type object: "array")"}},
        SchemaCase{"IntegerIsANumber", R"({"type":"number"})", "3", {}},
        SchemaCase{"WholeFloatIsAnInteger", R"({"type":"integer"})", "3.0", {}},
        SchemaCase{"FractionIsNoInteger",
                   R"({"type":"integer"})",
                   "3.5",
                   {R"(spec: Invalid value: "number": spec in body must be of type integer: "number")"}},
        SchemaCase{"NullWhereNotNullable",
                   object_of(R"({"a":{"type":"string"}})"),
                   R"({"a":null})",
                   {R"(spec.a: Invalid value: "null": spec.a in body must be of type string: "null")"}},
        SchemaCase{"NullWhereNullable",
                   object_of(R"({"a":{"type":"string","nullable":true,"minLength":1}})"),
                   R"({"a":null})",
                   {}},
        SchemaCase{"Enum",
                   R"({"type":"string","enum":["A","B"]})",
                   R"("C")",
                   {R"(spec: Unsupported value: "C": supported values: "A", "B")"}},
        SchemaCase{"Minimum",
                   R"({"type":"integer","minimum":1})",
                   "0",
                   {"spec: Invalid value: 0: spec in body should be greater than or equal to 1"}},
        SchemaCase{"Maximum",
                   R"({"type":"integer","maximum":20})",
                   "25",
                   {"spec: Invalid value: 25: spec in body should be less than or equal to 20"}},
        SchemaCase{"ExclusiveBounds",
                   R"({"type":"number","minimum":1,"exclusiveMinimum":true,"maximum":2,"exclusiveMaximum":true})",
                   "2",
                   {"spec: Invalid value: 2: spec in body should be less than 2"}},
        SchemaCase{"MultipleOf",
                   R"({"type":"integer","multipleOf":5})",
                   "7",
                   {"spec: Invalid value: 7: spec in body should be a multiple of 5"}},
        SchemaCase{"Int32",
                   R"({"type":"integer","format":"int32"})",
                   "3000000000",
                   {"spec: Invalid value: 3000000000: spec in body must be of type int32"}},
        SchemaCase{"MaxLength",
                   R"({"type":"string","maxLength":2})",
                   R"("abc")",
                   {"spec: Too long: may not be longer than 2"}},
        SchemaCase{"LengthInCharacters", R"({"type":"string","maxLength":2})", R"("üü")", {}},
        SchemaCase{"MinLength",
                   R"({"type":"string","minLength":1})",
                   R"("")",
                   {R"(spec: Invalid value: "": spec in body should be at least 1 chars long)"}},
        SchemaCase{"Pattern",
                   R"({"type":"string","pattern":"^a+$"})",
                   R"("ab")",
                   {R"(spec: Invalid value: "ab": spec in body should match '^a+$')"}},
        SchemaCase{"PatternSearches", R"({"type":"string","pattern":"b"})", R"("abc")", {}},
        SchemaCase{"PatternThatIsNone",
                   R"({"type":"string","pattern":"("})",
                   R"("a")",
                   {R"(spec: Invalid value: "a": spec in body should match '(')"}},
        SchemaCase{"DateTime", R"({"type":"string","format":"date-time"})", R"("2026-11-21T03:00:00.5Z")", {}},
        SchemaCase{"BadDateTime",
                   R"({"type":"string","format":"date-time"})",
                   R"("soon")",
                   {R"(spec: Invalid value: "soon": spec in body must be of type date-time: "soon")"}},
        SchemaCase{"Required",
                   R"({"type":"object","required":["a","b"],"properties":{"a":{"type":"string"}}})",
                   R"({"b":1})",
                   {"spec.a: Required value"}},
        SchemaCase{"Items",
                   R"({"type":"array","items":{"type":"string"}})",
                   R"(["a",1])",
                   {R"(spec[1]: Invalid value: "integer": spec[1] in body must be of type string: "integer")"}},
        SchemaCase{"MaxItems",
                   R"({"type":"array","maxItems":1,"items":{}})",
                   "[1,2]",
                   {"spec: Too many: 2: must have at most 1 items"}},
        SchemaCase{"MinItems",
                   R"({"type":"array","minItems":1,"items":{}})",
                   "[]",
                   {"spec: Invalid value: 0: spec in body should have at least 1 items"}},
        SchemaCase{"SetWithDuplicates",
                   R"({"type":"array","x-kubernetes-list-type":"set","items":{"type":"string"}})",
                   R"(["a","b","a"])",
                   {R"(spec[2]: Duplicate value: "a")"}},
        SchemaCase{
            "MapWithDuplicates",
            R"({"type":"array","x-kubernetes-list-type":"map","x-kubernetes-list-map-keys":["n"],"items":{"type":"object","properties":{"n":{"type":"string"},"v":{"type":"integer"}}}})",
            R"([{"n":"a","v":1},{"n":"a","v":2}])",
            {R"(spec[1]: Duplicate value: {"n":"a"})"}},
        SchemaCase{"AdditionalProperties",
                   R"({"type":"object","additionalProperties":{"type":"string"}})",
                   R"({"a":"x","b":1})",
                   {R"(spec.b: Invalid value: "integer": spec.b in body must be of type string: "integer")"}},
        SchemaCase{"MaxProperties",
                   R"({"type":"object","maxProperties":1,"additionalProperties":{"type":"string"}})",
                   R"({"a":"x","b":"y"})",
                   {"spec: Too many: 2: must have at most 1 items"}},
        SchemaCase{
            "IntOrString", R"({"x-kubernetes-int-or-string":true,"minimum":0,"pattern":"^[0-9]+%$"})", R"("5%")", {}},
        SchemaCase{"IntOrStringNumber",
                   R"({"x-kubernetes-int-or-string":true,"minimum":0,"pattern":"^[0-9]+%$"})",
                   "-1",
                   {"spec: Invalid value: -1: spec in body should be greater than or equal to 0"}},
        SchemaCase{"IntOrStringOther",
                   R"({"x-kubernetes-int-or-string":true})",
                   "true",
                   {R"(spec: Invalid value: "boolean": spec in body must be of type integer,string: "boolean")"}},
        SchemaCase{"AllOf",
                   R"({"type":"integer","allOf":[{"minimum":1},{"maximum":3}]})",
                   "4",
                   {"spec: Invalid value: 4: spec in body should be less than or equal to 3"}},
        SchemaCase{"AnyOf",
                   R"({"type":"integer","anyOf":[{"minimum":5},{"maximum":3}]})",
                   "4",
                   {R"(spec: Invalid value: 4: "spec" must validate at least one schema (anyOf))"}},
        SchemaCase{"OneOfNone",
                   R"({"type":"object","oneOf":[{"required":["a"]},{"required":["b"]}]})",
                   "{}",
                   {R"(spec: Invalid value: {}: "spec" must validate one and only one schema (oneOf))"}},
        SchemaCase{"OneOfBoth",
                   R"({"type":"object","oneOf":[{"required":["a"]},{"required":["b"]}]})",
                   R"({"a":1,"b":2})",
                   {R"(spec: Invalid value: {"a":1,"b":2}: "spec" must validate one and only one schema (oneOf))"}},
        SchemaCase{
            "OneOfOne", R"({"type":"object","oneOf":[{"required":["a"]},{"required":["b"]}]})", R"({"b":2})", {}},
        SchemaCase{"Not",
                   R"({"type":"array","not":{}})",
                   "[]",
                   {R"(spec: Invalid value: []: "spec" must not validate the schema (not))"}},
        SchemaCase{"RulesAreNotEvaluated",
                   R"({"type":"string","x-kubernetes-validations":[{"rule":"size(self) > 9"}]})",
                   R"("a")",
                   {}},
        SchemaCase{"EmptySchema", "{}", R"({"a":[1]})", {}}, SchemaCase{"NoSchema", "true", "7", {}},
        SchemaCase{"BrokenSchema",
                   R"({"type":7,"enum":7,"required":7,"properties":7,"items":7,"allOf":7,"maxLength":"x"})",
                   R"({"a":1})",
                   {}},
        SchemaCase{"SeveralComplaints",
                   object_of(R"({"a":{"type":"integer","minimum":1},"b":{"type":"object","required":["c"]}})"),
                   R"({"a":0,"b":{}})",
                   {"spec.a: Invalid value: 0: spec.a in body should be greater than or equal to 1",
                    "spec.b.c: Required value"}}),
    [](const auto& test) { return test.param.name; });

TEST(ValidateSchemaTest, DoesNotMatchEndlessText) {
  const Json schema = {{"type", "string"}, {"pattern", "^(a|b)*$"}};
  EXPECT_EQ(api::validate_schema(schema, Json(std::string(100000, 'a'))).size(), 1U);
  EXPECT_TRUE(api::validate_schema(schema, Json(std::string(1024, 'a'))).empty());
}

struct DefaultCase {
  std::string name;
  std::string schema;
  std::string value;
  std::string want;
};

class ApplyDefaultsTest : public testing::TestWithParam<DefaultCase> {};

TEST_P(ApplyDefaultsTest, FillsIn) {
  Json value = Json::parse(GetParam().value);
  api::apply_defaults(Json::parse(GetParam().schema), value);
  EXPECT_EQ(value, Json::parse(GetParam().want));
}

INSTANTIATE_TEST_SUITE_P(
    Schema, ApplyDefaultsTest,
    testing::Values(
        DefaultCase{"WhatIsMissing", object_of(R"({"a":{"default":1},"b":{"default":2}})"), R"({"a":9})",
                    R"({"a":9,"b":2})"},
        DefaultCase{"Nested", object_of(R"({"o":{"type":"object","default":{},"properties":{"x":{"default":true}}}})"),
                    "{}", R"({"o":{"x":true}})"},
        DefaultCase{"NotIntoWhatIsMissing", object_of(R"({"o":{"type":"object","properties":{"x":{"default":true}}}})"),
                    "{}", "{}"},
        DefaultCase{"ListItems",
                    object_of(R"({"l":{"type":"array","items":{"type":"object","properties":{"x":{"default":1}}}}})"),
                    R"({"l":[{},{"x":2}]})", R"({"l":[{"x":1},{"x":2}]})"},
        DefaultCase{"MapValues", R"({"additionalProperties":{"type":"object","properties":{"x":{"default":1}}}})",
                    R"({"k":{}})", R"({"k":{"x":1}})"},
        DefaultCase{"NullWithoutNullable", object_of(R"({"a":{"default":1}})"), R"({"a":null})", R"({"a":1})"},
        DefaultCase{"NullWithNullable", object_of(R"({"a":{"default":1,"nullable":true}})"), R"({"a":null})",
                    R"({"a":null})"},
        DefaultCase{"NothingIntoOtherTypes", object_of(R"({"a":{"default":1}})"), "[]", "[]"}),
    [](const auto& test) { return test.param.name; });

struct PruneCase {
  std::string name;
  std::string schema;
  std::string value;
  std::string want;
  std::vector<std::string> pruned;
};

class PruneTest : public testing::TestWithParam<PruneCase> {};

TEST_P(PruneTest, RemovesUnknownFields) {
  const auto& [name, schema, text, want, pruned] = GetParam();
  Json value = Json::parse(text);
  EXPECT_EQ(api::prune(Json::parse(schema), value), pruned);
  EXPECT_EQ(value, Json::parse(want));
}

INSTANTIATE_TEST_SUITE_P(
    Schema, PruneTest,
    testing::Values(
        PruneCase{"Unknown", object_of(R"({"a":{"type":"integer"}})"), R"({"a":1,"b":2})", R"({"a":1})", {"b"}},
        PruneCase{
            "Nested",
            object_of(
                R"({"o":{"type":"object","properties":{"x":{"type":"integer"}}},"l":{"type":"array","items":{"type":"object","properties":{}}}})"),
            R"({"o":{"x":1,"y":2},"l":[{},{"z":1}]})",
            R"({"o":{"x":1},"l":[{},{}]})",
            {"l[1].z", "o.y"}},
        PruneCase{
            "Preserved",
            object_of(
                R"({"o":{"type":"object","x-kubernetes-preserve-unknown-fields":true,"properties":{"k":{"type":"object"}}}})"),
            R"({"o":{"any":{"thing":1},"k":{"gone":1}}})",
            R"({"o":{"any":{"thing":1},"k":{}}})",
            {"o.k.gone"}},
        PruneCase{"Map",
                  R"({"type":"object","additionalProperties":{"type":"object","properties":{"x":{}}}})",
                  R"({"k":{"x":1,"y":1}})",
                  R"({"k":{"x":1}})",
                  {"k.y"}},
        PruneCase{
            "OpenMap", R"({"type":"object","additionalProperties":true})", R"({"k":{"x":1}})", R"({"k":{"x":1}})", {}},
        PruneCase{"ObjectWithoutProperties", R"({"type":"object"})", R"({"k":1})", "{}", {"k"}},
        PruneCase{"Scalars", R"({"type":"string"})", R"("x")", R"("x")", {}}),
    [](const auto& test) { return test.param.name; });

}  // namespace schema_test
