#include "controllers/observability/notifications/notifications_config.hpp"

#include <gmock/gmock.h>

#include "controllers/operator/operator_config.hpp"

namespace notifications_config_test {

using controllers::NotificationChannel;
using controllers::NotificationFormat;
using controllers::parse_operator_config;
using testing::HasSubstr;

TEST(NotificationsConfig, IsOffByDefault) { EXPECT_TRUE(parse_operator_config("")->notifications.empty()); }

TEST(NotificationsConfig, IsRead) {
  const auto config = parse_operator_config(R"(
notifications:
- {name: ops, urlFile: /etc/notify/ops}
- {name: chat, format: Slack, urlFile: /etc/notify/chat, caFile: /ca.pem, events: [Stuck], repeatAfter: 10m, timeout: 3s, omitRefusedManual: true}
)");
  ASSERT_TRUE(config) << config.error().message;
  ASSERT_EQ(config->notifications.size(), 2U);
  EXPECT_EQ(config->notifications[0], (NotificationChannel{.name = "ops", .url_file = "/etc/notify/ops"}));
  EXPECT_EQ(config->notifications[1], (NotificationChannel{"chat",
                                                           NotificationFormat::kSlack,
                                                           "/etc/notify/chat",
                                                           "/ca.pem",
                                                           {"Stuck"},
                                                           base::minutes(10),
                                                           base::seconds(3),
                                                           true}));
}

struct BadNotifications {
  const char* item;
  const char* complaint;
};
class BadNotificationsTest : public testing::TestWithParam<BadNotifications> {};

TEST_P(BadNotificationsTest, AreRefusedWithTheField) {
  const auto config = parse_operator_config(std::string("notifications:\n- {") + GetParam().item + "}\n");
  ASSERT_FALSE(config);
  EXPECT_THAT(config.error().message, HasSubstr(GetParam().complaint));
}

INSTANTIATE_TEST_SUITE_P(
    NotificationsConfig, BadNotificationsTest,
    testing::Values(BadNotifications{"name: Ops, urlFile: /a", "notifications[0].name: must be a name"},
                    BadNotifications{"name: ops", "notifications[0].urlFile: must be the path of a file"},
                    BadNotifications{"name: ops, urlFile: 'https://a'", "notifications[0].urlFile: must be the path"},
                    BadNotifications{"name: ops, urlFile: /a, url: 'https://a'", "notifications[0].url"},
                    BadNotifications{"name: ops, urlFile: /a, format: Email", "notifications[0].format"},
                    BadNotifications{"name: ops, urlFile: /a, events: [Everything]",
                                     "notifications[0].events[0]: must"},
                    BadNotifications{"name: ops, urlFile: /a, repeatAfter: 1s", "notifications[0].repeatAfter: must"},
                    BadNotifications{"name: ops, urlFile: /a, timeout: 5m", "notifications[0].timeout: must be"},
                    BadNotifications{"name: ops, urlFile: /a}\n- {name: ops, urlFile: /b",
                                     "notifications[1].name: ops is listed twice"}));

TEST(NotificationsConfig, HasAFewReceiversAtMost) {
  std::string text = "notifications:\n";
  for (int i = 0; i < 9; ++i) text += "- {name: c" + std::to_string(i) + ", urlFile: /a}\n";
  EXPECT_THAT(parse_operator_config(text).error().message, HasSubstr("notifications: must have at most 8"));
}

}  // namespace notifications_config_test
