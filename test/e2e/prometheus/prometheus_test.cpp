#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "base/base64.hpp"
#include "http_server/certificates.hpp"
#include "test/e2e/harness/await.hpp"
#include "test/e2e/prometheus/real_prometheus.hpp"
#include "test/unit/usage/parse/text_of.hpp"
#include "test/unit/usage/sources/fake_server.hpp"
#include "usage/presets.hpp"
#include "usage/sources/make_source.hpp"

/// The source Prometheus against a real server (Debian's package), which scrapes the test's exporter.
namespace prometheus_test {

using e2e::await;
using usage_test::joined;
using usage_test::text_of;

constexpr base::seconds kRetryDelay{20};

api::UsageQuery query_of(const std::string& resource, const std::string& text) {
  api::UsageQuery query;
  query.resource = resource;
  query.query = text;
  return query;
}
api::UsageQuery preset_query(const usage::Preset& preset) {
  api::UsageQuery query;
  query.resource = preset.resource;
  query.preset = preset.name;
  query.of = preset.of;
  return query;
}

/// Returns the metrics of two nodes in the form of node_exporter and the kubelet, after `seconds`.
std::string two_nodes(int seconds) {
  return fmt::format(
      "node_cpu_seconds_total{{node=\"n1\",cpu=\"0\",mode=\"user\"}} {0}\n"
      "node_cpu_seconds_total{{node=\"n1\",cpu=\"0\",mode=\"idle\"}} {1}\n"
      "node_memory_MemTotal_bytes{{node=\"n1\"}} 4096\nnode_memory_MemAvailable_bytes{{node=\"n1\"}} 1024\n"
      "node_memory_MemTotal_bytes{{node=\"n2\"}} 4096\nnode_memory_MemAvailable_bytes{{node=\"n2\"}} 4096\n"
      "node_pressure_cpu_waiting_seconds_total{{node=\"n1\"}} {1}\n"
      "node_pressure_memory_waiting_seconds_total{{node=\"n1\"}} {1}\n"
      "node_pressure_io_waiting_seconds_total{{node=\"n1\"}} {1}\n"
      "node_network_receive_bytes_total{{node=\"n1\",device=\"eth0\"}} {0}\n"
      "node_network_transmit_bytes_total{{node=\"n1\",device=\"eth0\"}} {0}\n"
      "node_disk_io_time_seconds_total{{node=\"n1\",device=\"sda\"}} {1}\n"
      "container_cpu_usage_seconds_total{{node=\"n1\",id=\"/\"}} {0}\n"
      "container_memory_working_set_bytes{{node=\"n1\",id=\"/\"}} 2048\n"
      "container_cpu_usage_seconds_total{{namespace=\"shop\",pod=\"web\",container=\"a\"}} {0}\n"
      "container_memory_working_set_bytes{{namespace=\"shop\",pod=\"web\",container=\"a\"}} 512\n"
      "container_memory_working_set_bytes{{namespace=\"shop\",pod=\"web\",container=\"b\"}} 256\n",
      seconds * 2.0, seconds * 0.5);
}

class RealPrometheus : public testing::Test {
 protected:
  usage::Dependencies dependencies() {
    auto result = world_.dependencies();
    result.connect = usage::connect_http;
    return result;
  }
  std::unique_ptr<usage::Source> source(const std::string& url, std::vector<api::UsageQuery> queries) {
    settings_.type = api::UsageSourceType::kPrometheus;
    settings_.endpoint.url = url;
    settings_.queries = std::move(queries);
    EXPECT_TRUE(usage::problems(settings_).empty());
    return usage::make_source(settings_, dependencies());
  }
  /// Returns the text of a sample. Stores its problems or its error in `seen`.
  static std::string ask(usage::Source& source, std::string& seen) {
    const auto samples = source.sample();
    seen = samples ? joined(samples->problems) : samples.error().message;
    return samples ? text_of(*samples) : "";
  }

  e2e::Folder folder_;
  usage_test::World world_;
  api::UsageSource settings_;
};

TEST_F(RealPrometheus, EveryPresetMeasures) {
  e2e::Exporter exporter(two_nodes(0));
  const e2e::RealPrometheus server(folder_, {.scrape = exporter.port(), .prefix = "/prom"});
  int seconds = 0;
  for (const usage::Preset& preset : usage::presets()) {
    const auto asked = source("http://" + server.address() + "/prom", {preset_query(preset)});
    const std::string whose = preset.of == api::UsageOf::kNode ? "n1=" : "shop/web=";
    await(
        std::string(preset.name),
        [&](std::string& seen) {
          exporter.say(two_nodes(++seconds));
          const std::string text = ask(*asked, seen);
          return text.find(whose) != std::string::npos && text.find('?') == std::string::npos && seen.empty();
        },
        kRetryDelay);
  }
}

TEST_F(RealPrometheus, SamplesComeWithTheirTimeAndVanishWithTheExporter) {
  e2e::Exporter exporter(two_nodes(0));
  const e2e::RealPrometheus server(folder_, {.scrape = exporter.port()});
  const auto memory = source("http://" + server.address(), {preset_query(*usage::find_preset("NodeExporterMemory")),
                                                            preset_query(*usage::find_preset("CAdvisorPodMemory"))});
  await(
      "both nodes and the pod", [&](std::string& seen) { return ask(*memory, seen) == "n1=3072 n2=0 shop/web=768"; },
      kRetryDelay);
  const auto samples = memory->sample();
  ASSERT_TRUE(samples);
  EXPECT_LT(base::SystemClock().now() - samples->nodes[0].time, base::seconds(10));
  exporter.say("");
  await(
      "the series to end",
      [&](std::string& seen) {
        return ask(*memory, seen).empty() && seen == "query memory: no data; query memory of pods: no data";
      },
      kRetryDelay);
}

TEST_F(RealPrometheus, InconsistentAnswersAreReported) {
  const std::string load =
      "# TYPE load gauge\nload{node=\"nan\"} NaN\nload{node=\"inf\"} +Inf\nload{node=\"neg\"} -1\n"
      "load{node=\"two\",x=\"1\"} 1\nload{node=\"two\",x=\"2\"} 1\nload{node=\"fine\"} 1.5e-05\n";
  e2e::Exporter exporter(load);
  const e2e::RealPrometheus server(folder_, {.scrape = exporter.port()});
  const auto asked = source("http://" + server.address(), {query_of("load", "load")});
  await(
      "the lies",
      [&](std::string& seen) {
        return ask(*asked, seen) == "fine=1.5e-05 inf=? nan=? neg=? two=?" &&
               seen ==
                   "query load: 2 values are NaN or infinite; query load: 1 value is negative; "
                   "query load: more than one value for two";
      },
      kRetryDelay);
}

TEST_F(RealPrometheus, InvalidQueriesAreReported) {
  const e2e::RealPrometheus server(folder_, {});
  const std::string url = "http://" + server.address();
  const auto error_of = [&](const std::string& text) {
    std::string seen;
    (void)ask(*source(url, {query_of("cpu", text)}), seen);
    return seen;
  };
  EXPECT_TRUE(error_of("sum(").starts_with("query cpu: the server reports bad_data: ")) << error_of("sum(");
  EXPECT_TRUE(error_of("1 + 1").starts_with("query cpu: the result is a scalar")) << error_of("1 + 1");
  EXPECT_TRUE(error_of("\"x\"").starts_with("query cpu: the result is a string")) << error_of("\"x\"");
  EXPECT_TRUE(error_of("up[1m]").starts_with("query cpu: the result is a matrix")) << error_of("up[1m]");
  EXPECT_EQ(error_of("nobody_knows_this"), "query cpu: no data");
  EXPECT_TRUE(error_of("vector(1)").ends_with("no data")) << error_of("vector(1)");
  settings_.endpoint.url = url + "/wrong";
  EXPECT_NE(usage::make_source(settings_, dependencies())->sample().error().message.find("does the URL lack a prefix"),
            std::string::npos);
}

/// A week and a day in steps of five minutes. The values of n1 are 1 …, those of n2 are twice as high.
TEST_F(RealPrometheus, HistoryIsReadInParts) {
  const base::TimePoint end = std::chrono::floor<std::chrono::hours>(base::SystemClock().now()) - std::chrono::hours(4);
  const base::TimePoint start = end - std::chrono::hours(24 * 8);
  std::string past = "# TYPE load gauge\n";
  for (auto at = start; at <= end; at += base::minutes(5)) {
    const auto second = std::chrono::duration_cast<base::seconds>(at.time_since_epoch()).count();
    const auto hour = (at - start) / std::chrono::hours(1) + 1;
    past += fmt::format("load{{node=\"n1\"}} {} {}\nload{{node=\"n2\"}} {} {}\n", hour, second, hour * 2, second);
  }
  const e2e::RealPrometheus server(folder_, {.open_metrics = past + "# EOF\n"});
  const auto asked = source("http://" + server.address(), {query_of("load", "load")});
  const auto series = asked->history(start, end, base::minutes(1));
  ASSERT_TRUE(series) << series.error().message;
  ASSERT_EQ(series->size(), 2U);
  ASSERT_EQ((*series)[1].values.size(), 8U * 24 * 60 + 1) << "more than one query can give";
  for (std::size_t minute = 0; minute < (*series)[1].values.size(); ++minute) {
    ASSERT_EQ((*series)[0].values[minute], static_cast<float>(minute / 60 + 1)) << minute;
    ASSERT_EQ((*series)[1].values[minute], static_cast<float>(minute / 60 + 1) * 2) << minute;
  }
}

/// TLS, a client certificate and a password, as --web.config.file requires.
TEST_F(RealPrometheus, IsAskedOverMutualTls) {
  const auto identity = http_server::make_server_identity({"localhost"}, base::SystemClock().now());
  ASSERT_TRUE(identity);
  e2e::write_file(folder_ / "server.crt", identity->certificate);
  e2e::write_file(folder_ / "server.key", identity->key);
  const auto made =
      e2e::run({"openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes",
                "-days", "1", "-subj", "/CN=evacuator", "-addext", "extendedKeyUsage=clientAuth", "-keyout",
                (folder_ / "client.key").string(), "-out", (folder_ / "client.crt").string()});
  ASSERT_TRUE(made.ok()) << made.err;
  // The password is "secret".
  const std::string web = fmt::format(
      "tls_server_config:\n  cert_file: {0}\n  key_file: {1}\n  client_ca_file: {2}\n"
      "  client_auth_type: RequireAndVerifyClientCert\n"
      "basic_auth_users:\n  me: $2b$04$abcdefghijklmnopqrstuu2r9OfJnfCsdneAXAGHnS4UpFFP8WIrW\n",
      (folder_ / "server.crt").string(), (folder_ / "server.key").string(), (folder_ / "client.crt").string());
  const e2e::RealPrometheus server(folder_, {.web_config = web});
  const auto keep = [&](const std::string& password) {
    api::Json secret = {{"metadata", {{"labels", {{"evacuator.dev/usage-credentials", "true"}}}}}};
    secret["data"] = {{"ca", base::encode_base64(identity->ca)},
                      {"crt", base::encode_base64(e2e::read_file(folder_ / "client.crt"))},
                      {"key", base::encode_base64(e2e::read_file(folder_ / "client.key"))},
                      {"user", base::encode_base64("me")},
                      {"for", base::encode_base64("https://" + server.address() + "\nhttps://localhost" +
                                                  server.address().substr(server.address().rfind(':')))},
                      {"password", base::encode_base64(password)}};
    world_.api_server.on("/api/v1/namespaces/evacuator-system/secrets/prom", secret.dump());
  };
  keep("wrong");
  keep("secret");
  settings_.endpoint.ca = api::SecretKey{"prom", "ca"};
  settings_.endpoint.certificate = api::SecretKey{"prom", "crt"};
  settings_.endpoint.certificate_key = api::SecretKey{"prom", "key"};
  settings_.endpoint.basic_username = api::SecretKey{"prom", "user"};
  settings_.endpoint.basic_password = api::SecretKey{"prom", "password"};
  settings_.endpoint.server_name = "localhost";
  const auto asked = source("https://" + server.address(),
                            {query_of("cpu", "label_replace(vector(7), \"node\", \"n1\", \"\", \"\")")});
  EXPECT_EQ(asked->sample().error().code, base::ErrorCode::kUnauthorized);
  const auto samples = asked->sample();
  ASSERT_TRUE(samples) << samples.error().message << server.log();
  EXPECT_EQ(text_of(*samples), "n1=7");
  settings_.endpoint.certificate.reset();
  settings_.endpoint.certificate_key.reset();
  EXPECT_FALSE(usage::make_source(settings_, dependencies())->sample()) << "nobody without a certificate";
}

}  // namespace prometheus_test
