#include "evictors/document.hpp"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "api/json/json_access.hpp"

namespace document_test {

using api::Json;
using evictors::Document;

TEST(Documents, AreValidated) {
  EXPECT_FALSE(evictors::object_of(nullptr));
  for (const char* body : {"", "<html>", "[]", "7", "null", "{"}) {
    const Document document{"x", 200, body};
    EXPECT_FALSE(evictors::object_of(&document)) << body;
  }
  const Document refused{"x", 404, R"({"message":"not here"})"};
  EXPECT_FALSE(evictors::object_of(&refused));
  EXPECT_EQ(evictors::problem_of(refused), "404: not here");
  EXPECT_EQ(api::text_at(Json{{"a", {{"b", 7}}}}, {"a", "b"}), "");
  for (const char* name : {"", "a/b", "a b", "a%2f", "ä"}) EXPECT_FALSE(evictors::is_plain_name(name)) << name;
}

}  // namespace document_test
