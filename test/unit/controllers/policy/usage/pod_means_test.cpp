#include "controllers/policy/usage/pod_means.hpp"

#include <gmock/gmock.h>

namespace controllers {
namespace pod_means_test {

using scheduling::kUnknownUsage;
using scheduling::MeasuredUsage;
using testing::ElementsAre;
using testing::IsEmpty;

const base::TimePoint kNoon = base::parse_time("2026-11-23T12:00:00Z").value();
constexpr base::Duration kRound = base::seconds(30);

/// Answers with pods of one namespace and one column, every kRound.
class Answers {
 public:
  using Pods = std::vector<std::pair<std::string, std::int64_t>>;  ///< name and amount

  std::vector<std::int64_t> take(const Pods& pods, int times = 1) {
    std::vector<MeasuredUsage::Pod> names;
    std::vector<std::int64_t> amounts;
    for (const auto& [name, amount] : pods) {
      names.push_back({"shop", name});
      amounts.push_back(amount);
    }
    std::vector<std::int64_t> means;
    for (int i = 0; i < times; ++i) {
      means = means_.take(scheduling::SharedVector(names), scheduling::SharedVector(amounts), 1, now_);
      now_ += kRound;
    }
    return means;
  }
  void pass(base::Duration time) { now_ += time; }

 private:
  PodMeans means_;
  base::TimePoint now_ = kNoon;
};

TEST(PodMeans, StartWithTheFirstSample) {
  Answers answers;
  EXPECT_THAT(answers.take({{"db-0", 500}, {"web-1", 0}}), ElementsAre(500, 0));
  EXPECT_THAT(answers.take({}), IsEmpty());
}

TEST(PodMeans, CountAllAnswersOfADayAlike) {
  Answers answers;
  answers.take({{"db-0", 100}}, 60);
  EXPECT_THAT(answers.take({{"db-0", 300}}, 60), ElementsAre(200));
}

TEST(PodMeans, DecayAfterADay) {
  Answers answers;
  answers.take({{"db-0", 1000}}, 3 * 2880);
  const std::int64_t after_a_day = answers.take({{"db-0", 2000}}, 2880).front();
  EXPECT_NEAR(static_cast<double>(after_a_day), 2000 - 1000 / 2.718, 5) << "three days at 1000 count as one";
}

TEST(PodMeans, AnHourWithoutAnswersIsNotAttributedToTheNextAnswer) {
  Answers answers;
  answers.take({{"db-0", 100}}, 120);
  answers.pass(std::chrono::minutes(59));
  EXPECT_NEAR(static_cast<double>(answers.take({{"db-0", 900}}).front()), 214, 1) << "ten minutes at most, of seventy";
}

TEST(PodMeans, KeepTheMeanWhereAnAnswerHasNoFigure) {
  Answers answers;
  EXPECT_THAT(answers.take({{"db-0", kUnknownUsage}}), ElementsAre(kUnknownUsage));
  EXPECT_THAT(answers.take({{"db-0", 400}}), ElementsAre(400));
  EXPECT_THAT(answers.take({{"db-0", kUnknownUsage}}), ElementsAre(400));
}

TEST(PodMeans, ANewPodBeginsAsItsWorkload) {
  Answers answers;
  answers.take({{"web-5d9-aaaaa", 1000}, {"web-5d9-bbbbb", 3000}, {"web-777-ccccc", 9000}}, 480);
  const auto means = answers.take({{"web-5d9-bbbbb", 3000}, {"web-5d9-ddddd", 6000}, {"web-888-eeeee", 50}});
  EXPECT_EQ(means[0], 3000);
  EXPECT_NEAR(static_cast<double>(means[1]), 2000, 10) << "the pod that has just left counts, too";
  EXPECT_EQ(means[2], 50) << "another revision may use anything";
}

TEST(PodMeans, OfAWorkloadCountMoreWhereMoreIsKnown) {
  Answers answers;
  answers.take({{"web-1", 1000}}, 2880);
  answers.take({{"web-1", 1000}, {"web-2", 9000}}, 120);
  // One day at 1000, the four hours at 1000 that web-2 started with, and one hour at 9000.
  EXPECT_NEAR(static_cast<double>(answers.take({{"web-1", 1000}, {"web-2", 9000}, {"web-3", 1000}})[2]), 1276, 10);
}

TEST(PodMeans, RememberPodsThatAreNotInAnAnswerForAnHour) {
  Answers answers;
  answers.take({{"a-0", 1}, {"db", 1000}}, 120);
  answers.take({{"a-0", 1}}, 100);
  EXPECT_EQ(answers.take({{"a-0", 1}, {"db", 9000}})[1], 1066) << "an hour at 1000";
  answers.take({{"a-0", 1}}, 122);
  EXPECT_EQ(answers.take({{"a-0", 1}, {"db", 9000}})[1], 9000);
}

TEST(PodMeans, StartAgainWithOtherColumns) {
  PodMeans means;
  const std::vector<MeasuredUsage::Pod> pods = {{"shop", "db-0"}};
  const auto take = [&](std::vector<std::int64_t> amounts) {
    const std::size_t columns = amounts.size();
    return means.take(scheduling::SharedVector(pods), scheduling::SharedVector(std::move(amounts)), columns, kNoon);
  };
  EXPECT_THAT(take({100}), ElementsAre(100));
  EXPECT_THAT(take({300, 7}), ElementsAre(300, 7));
  EXPECT_THAT(take({}), IsEmpty());
}

}  // namespace pod_means_test
}  // namespace controllers
