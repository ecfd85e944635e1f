#include "usage/backtest.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace usage {
namespace {

constexpr std::uint32_t kFirst = 8;      // number of errors before their spread is known
constexpr float kWidthStep = 0.05F;      // learning rate of the width, in deviations
constexpr double kStandardErrors = 1.5;  // number of standard errors by which the mean gain must exceed 0

}  // namespace

void BackTest::open(const Forecasts& forecasts) {
  Open open{settings_->horizon, 0, 0, forecasts, forecasts.rules};
  for (std::size_t i = 0; i < kUncorrectedRule; ++i) open.corrected[i] += rules_[i].bias;
  open_.push_back(open);
}

void BackTest::add(double value) {
  judged_ = std::numeric_limits<float>::quiet_NaN();
  for (Open& open : open_) {
    --open.left;
    if (std::isnan(value)) continue;
    open.peak = open.known == 0 ? static_cast<float>(value) : std::max(open.peak, static_cast<float>(value));
    ++open.known;
  }
  if (open_.empty() || open_.front().left > 0) return;
  if (2 * open_.front().known >= settings_->horizon) judge(open_.front());
  open_.erase(open_.begin());
}

void BackTest::reset() {
  rules_ = {};
  for (Record& record : rules_) record.width = static_cast<float>(settings_->width);
  naive_ = {};
  gains_ = {};
}

float BackTest::rate(std::uint32_t count) const {
  return static_cast<float>(std::max(1.0 / count, 1 / settings_->fading));
}

void BackTest::judge(const Open& open) {
  judged_ = open.peak;
  for (std::size_t i = 0; i < kRules; ++i) {
    for (std::size_t j = 0; j < kNaive; ++j) {
      const float gain = std::abs(open.peak - open.raw.naive[j]) - std::abs(open.peak - open.corrected[i]);
      if (std::isnan(gain)) continue;
      Gain& sum = gains_[i][j];
      const float share = rate(++sum.count);
      sum.mean += share * (gain - sum.mean);
      sum.square += share * (gain * gain - sum.square);
    }
    learn(rules_[i], open.raw.rules[i], open.corrected[i], open.peak, i != kUncorrectedRule);
  }
  for (std::size_t i = 0; i < kNaive; ++i) learn(naive_[i], open.raw.naive[i], open.raw.naive[i], open.peak, false);
}

void BackTest::learn(Record& record, float raw, float used, float peak, bool is_corrected) const {
  if (std::isnan(raw)) return;
  const float share = rate(++record.count);
  const float surprise = peak - raw - record.bias;
  if (record.count > kFirst) {
    const bool is_below = surprise <= record.width * record.deviation;
    record.width += kWidthStep * (static_cast<float>(settings_->share) - (is_below ? 1.0F : 0.0F));
  }
  const float most = record.count < kFirst ? std::abs(surprise) : record.deviation;
  record.error += share * (std::abs(peak - used) - record.error);
  if (is_corrected) record.bias += share * std::clamp(surprise, -most, most);
  record.deviation += share * (std::abs(peak - raw - record.bias) - record.deviation);
}

bool BackTest::is_better(std::size_t rule, std::size_t naive) const {
  const Gain& gain = gains_[rule][naive];
  if (gain.count == 0) return naive_[naive].count == 0;
  const double witnesses = std::min<double>(gain.count, settings_->fading) / settings_->overlap;
  const double variance = std::max(gain.square - gain.mean * gain.mean, 0.0F);
  return gain.mean > kStandardErrors * std::sqrt(variance / witnesses);
}

}  // namespace usage
