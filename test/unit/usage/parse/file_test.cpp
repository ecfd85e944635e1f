#include "usage/parse/file.hpp"

#include <gtest/gtest.h>

#include "test/unit/usage/parse/text_of.hpp"

namespace usage_file_test {

using usage_test::text_of;

const base::TimePoint kThen = *base::parse_time("2026-11-21T12:00:00Z");

std::string units_of(const std::vector<usage::Column>& columns) {
  std::string text;
  for (const auto& column : columns) text += column.resource + (column.unit == usage::Unit::kPercent ? "% " : " ");
  return text;
}
std::string read(const std::string& text) {
  const auto samples = usage::read_usage_file(text, kThen);
  if (!samples) return samples.error().message;
  return units_of(samples->columns) + "| " + units_of(samples->pod_columns) + "| " + text_of(*samples);
}

struct FileCase {
  const char* name;
  std::string text;
  std::string want;
};
class UsageFile : public testing::TestWithParam<FileCase> {};
TEST_P(UsageFile, IsRead) { EXPECT_EQ(read(GetParam().text), GetParam().want); }

INSTANTIATE_TEST_SUITE_P(
    Csv, UsageFile,
    testing::Values(
        FileCase{"Nodes", "node,cpu,memory\nn2,1500m,4Ki\nn1,2,1\n", "cpu memory | | n1=2/1 n2=1.5/4096"},
        FileCase{"Percent", "node,cpu,memory\nn1,37.5%,1Ki", "cpu% memory | | n1=37.5/1024"},
        FileCase{"Pods", "namespace,pod,cpu\nshop,web,250m\n", "| cpu | shop/web=0.25"},
        FileCase{"Both", "# today\r\nnode,cpu\r\nn1,1\r\n\r\nnamespace,pod,cpu\r\nshop,web,1\r\n",
                 "cpu | cpu | n1=1 shop/web=1"},
        FileCase{"Blanks", "node , cpu\n n1 , 1 \n", "cpu | | n1=1"},
        FileCase{"Quotes", "\"node\",\"cpu\"\n\"n1\",\"1\"\n", "cpu | | n1=1"},
        FileCase{"ByteOrderMark", "\xef\xbb\xbfnode,cpu\nn1,1\n", "cpu | | n1=1"},
        FileCase{"Unknown", "node,cpu,memory\nn1,,1\n", "cpu memory | | n1=?/1"},
        FileCase{"OtherResources", "node,network\nn1,10M\n", "network | | n1=1e+07"},
        FileCase{"NoHeader", "n1,1\n",
                 "line 1, column 1: expected a header: node,cpu,memory or namespace,pod,cpu,memory"},
        FileCase{"NoAmount", "node,cpu\nn1, much\n",
                 "line 2, column 5: \"much\" is not a quantity such as 250m, 4Gi or 37.5%"},
        FileCase{"Negative", "node,cpu\nn1,-1\n",
                 "line 2, column 4: \"-1\" is not a quantity such as 250m, 4Gi or 37.5%"},
        FileCase{"Nan", "node,cpu\nn1,NaN%\n",
                 "line 2, column 4: \"NaN%\" is not a quantity such as 250m, 4Gi or 37.5%"},
        FileCase{"MixedUnits", "node,cpu\nn1,1\nn2,50%\n", "line 3, column 4: cpu has both amounts and percentages"},
        FileCase{"Twice", "node,cpu\nn1,1\nn1,2\n", "line 3, column 1: n1 occurs twice"},
        FileCase{"PodTwice", "namespace,pod,cpu\na,b,1\na,b,2\n", "line 3, column 1: a/b occurs twice"},
        FileCase{"TooFewCells", "node,cpu,memory\nn1,1\n", "line 2, column 4: the row has 2 cells, its header 3"},
        FileCase{"TooManyCells", "node,cpu\nn1,1,2\n", "line 2, column 6: the row has 3 cells, its header 2"},
        FileCase{"ColumnTwice", "node,cpu,cpu\n", "line 1, column 10: column cpu occurs twice"},
        FileCase{"NoColumns", "node\nn1\n", "line 1, column 1: the header has no column of a resource"},
        FileCase{"NoName", "node,cpu\n,1\n", "line 2, column 1: a name is missing"},
        FileCase{"NoNamespace", "namespace,pod,cpu\n,web,1\n", "line 2, column 1: a name is missing"},
        FileCase{"SecondHeader", "node,cpu\nn1,1\nnode,cpu\n", "line 3, column 1: a second header of the same kind"},
        FileCase{"OpenQuote", "node,cpu\n\"n1,1\n", "line 2, column 1: a quote is not closed"},
        FileCase{"BehindTheQuote", "node,cpu\n\"n1\"x,1\n",
                 "line 2, column 5: unexpected text after the closing quote"},
        FileCase{"Empty", " \n", "line 1, column 1: the file is empty"},
        FileCase{"OnlyComments", "# nothing\n", "line 1, column 1: the file contains no usage"}),
    [](const auto& test) { return test.param.name; });

INSTANTIATE_TEST_SUITE_P(
    Json, UsageFile,
    testing::Values(
        FileCase{"Nodes",
                 R"({"nodes":[{"node":"n1","cpu":"1500m","memory":null},{"cpu":2,"node":"n2","memory":"1Ki"}]})",
                 "cpu memory | | n1=1.5/? n2=2/1024"},
        FileCase{"Pods", R"({"pods":[{"namespace":"shop","pod":"web","cpu":"37.5%"}]})", "| cpu% | shop/web=37.5"},
        FileCase{"SyntaxError", "{\"nodes\":[\n  {\"node\":\"n1\",}\n]}",
                 "not valid JSON at line 2, column 16 of text that begins with '{\"nodes\":[   {\"node\":\"n1\",} ]}'"},
        FileCase{"TooLarge", "{\"nodes\":[{\"node\":\"n1\",\"cpu\":1e999}]}",
                 "not valid JSON: number overflow parsing '1e999'"},
        FileCase{"NoAmount", "{\"nodes\":[\n  {\"node\":\"n1\",\"cpu\":\"much\"}\n]}",
                 "line 2, column 22: \"much\" is not a quantity such as 250m, 4Gi or 37.5%"},
        FileCase{"Negative", "{\"nodes\":[{\"node\":\"n1\",\"cpu\":-1}]}",
                 "line 1, column 30: \"-1\" is not a quantity such as 250m, 4Gi or 37.5%"},
        FileCase{"WrongType", "{\"nodes\":[{\"node\":\"n1\",\"cpu\":true}]}",
                 "line 1, column 30: an amount was expected, such as \"250m\" or \"37.5%\""},
        FileCase{"NoName", "{\"nodes\":[{\"cpu\":1}]}", "line 1, column 11: a name is missing"},
        FileCase{"NoNamespace", "{\"pods\":[{\"pod\":\"a\",\"cpu\":1}]}",
                 "line 1, column 10: the namespace is missing"},
        FileCase{"Twice", "{\"nodes\":[{\"node\":\"n1\"},{\"node\":\"n1\"}]}", "line 1, column 25: n1 occurs twice"},
        FileCase{"KeyTwice", "{\"nodes\":[{\"node\":\"n1\",\"cpu\":1,\"cpu\":2}]}", "key \"cpu\" is already set"},
        FileCase{"UnknownKey", "{\"node\":[]}", "line 1, column 9: unknown key \"node\": the keys are nodes and pods"},
        FileCase{"NoList", "{\"nodes\":{}}", "line 1, column 10: a list was expected"},
        FileCase{"NoObject", "{\"nodes\":[1]}", "line 1, column 11: an object was expected"},
        FileCase{"Empty", "{}", "line 1, column 1: the file contains no usage"}),
    [](const auto& test) { return test.param.name; });

TEST(UsageFile, AllSamplesHaveTheGivenTime) {
  const auto samples = usage::read_usage_file("node,cpu\nn1,1\n", kThen);
  ASSERT_TRUE(samples);
  EXPECT_EQ(samples->nodes[0].time, kThen);
}

}  // namespace usage_file_test
