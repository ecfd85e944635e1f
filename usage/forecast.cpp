#include "usage/forecast.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace usage {
namespace {

using std::chrono::hours;

constexpr float kNone = std::numeric_limits<float>::quiet_NaN();
constexpr base::Duration kDay = hours(24);
constexpr std::size_t kHoursOfWeek = 168;
constexpr std::size_t kAsNow = 0;  // index in BackTest's naive forecasts
constexpr std::size_t kAsYesterday = 1;
static_assert(static_cast<std::size_t>(ForecastRule::kYesterday) == BackTest::kUncorrectedRule);

double ratio(base::Duration a, base::Duration b) {
  return static_cast<double>(a.count()) / static_cast<double>(b.count());
}

/// Returns the weight of one step in an exponential average with time constant `memory`.
float rate_of(base::Duration step, base::Duration memory) {
  return static_cast<float>(1 - std::exp(-ratio(step, memory)));
}

ForecastRates::Level level_of(base::Duration step, base::Duration level, base::Duration trend, base::Duration damping) {
  return {rate_of(step, level), rate_of(step, trend), 1 - rate_of(step, damping)};
}

/// Returns the number of standard deviations below which `share` of a normal distribution lies.
double normal_quantile(double share) {
  double low = -8;
  double high = 8;
  while (high - low > 1e-9) {
    const double middle = (low + high) / 2;
    (0.5 * std::erfc(-middle / std::sqrt(2.0)) < share ? low : high) = middle;
  }
  return low;
}

base::Duration time_of_day(base::TimePoint time) { return time - std::chrono::floor<std::chrono::days>(time); }

std::size_t index(ForecastRule rule) { return static_cast<std::size_t>(rule); }

std::size_t hour_of_week(base::TimePoint time) {
  return static_cast<std::size_t>(time.time_since_epoch() / hours(1)) % kHoursOfWeek;
}

bool is_by_season(ForecastRule rule) { return rule >= ForecastRule::kDaily; }

/// Sums over the series that have both errors, in one unit.
struct Errors {
  double own = 0;
  double naive = 0;

  void add(double error, double naive_error) {
    if (std::isnan(naive_error)) return;
    own += error;
    naive += naive_error;
  }
  double ratio() const { return naive > 0 ? own / naive : kUnknown; }
};

/// Averages the known ratios.
double mean_ratio(std::span<const ForecastQuality> columns, double ForecastQuality::*ratio) {
  double sum = 0;
  int count = 0;
  for (const ForecastQuality& each : columns) {
    if (std::isnan(each.*ratio)) continue;
    sum += each.*ratio;
    ++count;
  }
  return count == 0 ? kUnknown : sum / count;
}

/// Smooths each slot with half the weight of its neighbours, because a single day is noisy.
std::vector<float> blurred(const std::vector<float>& slots) {
  std::vector<float> result(slots.size());
  for (std::size_t i = 0; i < slots.size(); ++i) {
    const float before = slots[(i + slots.size() - 1) % slots.size()];
    result[i] = (before + 2 * slots[i] + slots[(i + 1) % slots.size()]) / 4;
  }
  return result;
}

}  // namespace

std::string_view to_string(ForecastRule rule) {
  switch (rule) {
    case ForecastRule::kTrend: return "Trend";
    case ForecastRule::kSlowTrend: return "SlowTrend";
    case ForecastRule::kDaily: return "Daily";
    case ForecastRule::kSlowDaily: return "SlowDaily";
    case ForecastRule::kWeekly: return "Weekly";
    case ForecastRule::kYesterday: return "Yesterday";
  }
  return "";
}

ForecastRates::ForecastRates(const api::UsageForecast& settings)
    : step(settings.step),
      slot(std::max<base::Duration>(step, base::minutes(15))),
      stride(std::max({step, settings.horizon / 8, base::Duration(base::minutes(15))})),
      horizon(static_cast<std::uint32_t>(std::max<std::int64_t>((settings.horizon + step / 2) / step, 1))),
      slots(static_cast<std::size_t>((kDay + slot - base::Duration(1)) / slot)),
      strides(static_cast<std::size_t>((kDay + stride - base::Duration(1)) / stride)),
      min_judged(static_cast<std::uint32_t>(std::clamp<std::int64_t>(hours(6) / stride, 8, 24))),
      weekly(settings.history >= hours(8 * 24)),
      usual(rate_of(step, hours(6))),
      usual_week(rate_of(step, hours(7 * 24))),
      fade(1 - rate_of(step, hours(1))) {
  const double share = settings.percentile / 100;
  backtest = {.horizon = horizon,
              .fading = std::max(ratio(hours(36), stride), 16.0),
              .overlap = std::max(ratio(step * horizon, stride), 1.0),
              .share = share,
              .width = normal_quantile(share) * std::sqrt(std::acos(-1.0) / 2)};  // in mean absolute deviations
  using base::minutes;
  const base::Duration damping = settings.horizon / 2;
  levels[index(ForecastRule::kTrend)] = level_of(step, minutes(5), minutes(30), damping);
  levels[index(ForecastRule::kSlowTrend)] = level_of(step, minutes(30), hours(2), damping);
  levels[index(ForecastRule::kDaily)] = level_of(step, minutes(10), hours(6), damping);
  levels[index(ForecastRule::kSlowDaily)] = level_of(step, hours(1), hours(6), damping);
  levels[index(ForecastRule::kWeekly)] = levels[index(ForecastRule::kDaily)];
}

Forecaster::Forecaster(std::shared_ptr<const ForecastRates> rates, base::TimePoint start)
    : rates_(std::move(rates)),
      start_(start),
      next_(start),
      season_(rates_->slots, kNone),
      week_(rates_->weekly ? kHoursOfWeek : 0, 0),
      peaks_(rates_->strides, kNone),
      backtest_(rates_->backtest) {}

void Forecaster::add(double value) {
  constexpr double kAbsurd = 1e30;  // within the range of float
  if (!std::isfinite(value) || std::abs(value) > kAbsurd) value = kUnknown;
  const base::TimePoint now = next_;
  next_ += rates_->step;
  backtest_.add(value);
  if (!std::isnan(backtest_.judged())) {
    const base::TimePoint opened = now - rates_->step * rates_->horizon;
    peaks_[stride_of(opened)] = backtest_.judged();
  }
  if (std::isnan(value)) {
    skip();
  } else {
    if (!partial_line_) begin(static_cast<float>(value));
    known_ = now;
    follow(static_cast<float>(value));
  }
  if (!seasonal_ && next_ - start_ >= kDay) end_first_day();
  open_if_due(now);
}

void Forecaster::begin(float value) {
  partial_line_ = true;
  levels_[index(ForecastRule::kTrend)].value = value;
  levels_[index(ForecastRule::kSlowTrend)].value = value;
}

void Forecaster::shift(double by) {
  if (!partial_line_) return;
  for (std::size_t i = 0; i < levels_.size(); ++i) {
    if (seasonal_ || !is_by_season(static_cast<ForecastRule>(i))) levels_[i].value += static_cast<float>(by);
  }
  usual_ += static_cast<float>(seasonal_ ? by : 0);
  usual_week_ += static_cast<float>(seasonal_ ? by : 0);
  for (float& peak : peaks_) peak += static_cast<float>(by);
  last_ += static_cast<float>(by);
  backtest_.drop_open();
}

/// A gap: trends fade.
void Forecaster::skip() {
  for (std::size_t i = 0; i < levels_.size(); ++i) {
    levels_[i].trend *= rates_->levels[i].damping;
    levels_[i].value += levels_[i].trend;
  }
}

/// REQUIRES: `value` is the value at known_.
void Forecaster::follow(float value) {
  last_ = value;
  for (std::size_t i = 0; i < levels_.size(); ++i) {
    const auto rule = static_cast<ForecastRule>(i);
    if (is_by_season(rule) && !seasonal_) continue;
    const ForecastRates::Level& rates = rates_->levels[i];
    Level& level = levels_[i];
    const float trend = level.trend * rates.damping;
    const float surprise = value - season_at(rule, known_) - level.value - trend;
    level.value += trend + rates.level * surprise;
    level.trend = trend + rates.level * rates.trend * surprise;
  }
  if (!seasonal_) return learn_first_day(value);
  learn_season(value);
  if (!week_.empty()) learn_week(value);
}

void Forecaster::learn_first_day(float value) {
  const auto slot_of = [&](base::TimePoint time) { return static_cast<std::size_t>(time_of_day(time) / rates_->slot); };
  float& mean = season_[slot_of(known_)];
  in_slot_ = std::isnan(mean) ? 0 : in_slot_;
  mean = in_slot_ == 0 ? value : mean + (value - mean) / static_cast<float>(in_slot_ + 1);
  ++in_slot_;
}

/// A first day with too many gaps does not make a season. The next day fills the gaps.
void Forecaster::end_first_day() {
  const auto gaps =
      static_cast<std::size_t>(std::ranges::count_if(season_, [](float each) { return std::isnan(each); }));
  if (4 * gaps > season_.size()) return;
  const auto known = std::ranges::find_if_not(season_, [](float each) { return std::isnan(each); });
  float before = *known;
  for (float& each : season_) before = each = std::isnan(each) ? before : each;
  season_ = blurred(season_);
  seasonal_ = true;
  backtest_.reset();
}

Forecaster::Place Forecaster::place_of(base::TimePoint time) const {
  const double at = ratio(time_of_day(time), rates_->slot) + static_cast<double>(rates_->slots) - 0.5;
  const auto slot = static_cast<std::size_t>(at);
  return {slot % rates_->slots, (slot + 1) % rates_->slots, static_cast<float>(at - static_cast<double>(slot))};
}

float Forecaster::season_at(ForecastRule rule, base::TimePoint time) const {
  if (!is_by_season(rule)) return 0;
  const Place place = place_of(time);
  const float day = season_[place.slot] * (1 - place.share) + season_[place.other] * place.share;
  return rule == ForecastRule::kWeekly && !week_.empty() ? day + week_[hour_of_week(time)] : day;
}

/// Learns relative to the long-term level, so that a new level does not become part of the season.
void Forecaster::learn_season(float value) {
  const float surprise = value - season_at(ForecastRule::kDaily, known_);
  usual_ += rates_->usual * (surprise - usual_);
  const auto days = static_cast<double>((known_ - start_) / kDay);
  const double rate = std::max(1 / (days + 1), 0.25) * ratio(rates_->step, rates_->slot);
  const auto change = static_cast<float>(rate) * (surprise - usual_);
  const Place place = place_of(known_);
  season_[place.slot] += change * (1 - place.share);
  season_[place.other] += change * place.share;
}

void Forecaster::learn_week(float value) {
  const float surprise = value - season_at(ForecastRule::kWeekly, known_);
  usual_week_ += rates_->usual_week * (surprise - usual_week_);
  const auto weeks = static_cast<double>((known_ - start_) / (7 * kDay));
  const double rate = std::max(1 / (weeks + 1), 0.3) * ratio(rates_->step, hours(1));
  week_[hour_of_week(known_)] += static_cast<float>(std::min(rate, 1.0)) * (surprise - usual_week_);
}

void Forecaster::open_if_due(base::TimePoint now) {
  if (!partial_line_ || (now != start_ && stride_of(now) == stride_of(now - rates_->step))) return;
  if (now - known_ >= rates_->step * rates_->horizon) return;  // the current value is unknown
  BackTest::Forecasts forecasts;
  for (std::size_t i = 0; i < BackTest::kRules; ++i) {
    const auto rule = static_cast<ForecastRule>(i);
    forecasts.rules[i] = is_ready(rule) ? peak_of(rule) : kNone;
  }
  forecasts.naive[kAsNow] = last_;
  forecasts.naive[kAsYesterday] = yesterday();
  backtest_.open(forecasts);
}

bool Forecaster::is_ready(ForecastRule rule) const {
  if (rule == ForecastRule::kWeekly) return seasonal_ && !week_.empty() && next_ - start_ >= 8 * kDay;
  if (rule == ForecastRule::kYesterday) return !std::isnan(yesterday());
  return partial_line_ && (seasonal_ || !is_by_season(rule));
}

/// Returns the stride of the day.
std::size_t Forecaster::stride_of(base::TimePoint time) const {
  return static_cast<std::size_t>(time_of_day(time) / rates_->stride);
}

/// Returns yesterday's maximum of the steps from next_ on, comparable to peak_of().
float Forecaster::yesterday() const { return peaks_[stride_of(next_ - rates_->step)]; }

/// Returns the rule's maximum of the steps from next_ on.
float Forecaster::peak_of(ForecastRule rule) const {
  if (rule == ForecastRule::kYesterday) return yesterday();
  const bool fades = rule == ForecastRule::kDaily || rule == ForecastRule::kWeekly;
  const float usual = rule == ForecastRule::kDaily ? usual_ : rule == ForecastRule::kWeekly ? usual_week_ : 0;
  const float damping = rates_->levels[index(rule)].damping;
  Level level = levels_[index(rule)];
  float unusual = level.value - usual;
  float peak = -std::numeric_limits<float>::infinity();
  for (std::uint32_t i = 0; i < rates_->horizon; ++i) {
    level.trend *= damping;
    unusual = (fades ? unusual * rates_->fade : unusual) + level.trend;
    peak = std::max(peak, usual + unusual + season_at(rule, next_ + rates_->step * i));
  }
  return peak;
}

Forecast Forecaster::forecast() const {
  Forecast result;
  if (!partial_line_ || next_ - known_ > rates_->step * rates_->horizon) return result;
  const BackTest::Record* best = nullptr;
  for (std::size_t i = 0; i < BackTest::kRules; ++i) {
    const BackTest::Record& record = backtest_.rule(i);
    if (!is_ready(static_cast<ForecastRule>(i)) || record.count < rates_->min_judged ||
        (best != nullptr && record.error >= best->error))
      continue;
    best = &record;
    result.rule = static_cast<ForecastRule>(i);
  }
  const float raw = peak_of(result.rule);
  result.middle = result.peak = std::max(raw, 0.0F);
  if (best == nullptr) return result;
  result.middle = std::max(raw + best->bias, 0.0F);
  result.peak = std::max(raw + best->bias + best->width * best->deviation, 0.0F);
  result.judged = best->count;
  result.error = best->error;
  result.naive_error = backtest_.naive(kAsNow).error;
  const BackTest::Record& yesterday = backtest_.naive(kAsYesterday);
  if (yesterday.count > 0) result.seasonal_error = yesterday.error;
  const bool is_less = result.error < result.naive_error && !(result.error > result.seasonal_error);
  result.trusted = is_less && backtest_.is_better(index(result.rule), kAsNow);
  return result;
}

Forecast forecast(const Series& series, const api::UsageForecast& settings) {
  Forecaster forecaster(std::make_shared<const ForecastRates>(settings), series.start);
  for (const float value : series.values) forecaster.add(value);
  return forecaster.forecast();
}

ForecastQuality quality_of(std::span<const Forecast> forecasts) {
  ForecastQuality quality;
  Errors now;
  Errors yesterday;
  for (const Forecast& each : forecasts) {
    if (std::isnan(each.error)) continue;
    ++quality.judged;
    quality.trusted += each.trusted ? 1 : 0;
    now.add(each.error, each.naive_error);
    yesterday.add(each.error, each.seasonal_error);
  }
  quality.ratio_to_now = now.ratio();
  quality.to_yesterday = yesterday.ratio();
  return quality;
}

ForecastQuality quality_of_columns(std::span<const ForecastQuality> columns) {
  ForecastQuality quality;
  for (const ForecastQuality& each : columns) {
    quality.judged += each.judged;
    quality.trusted += each.trusted;
  }
  quality.ratio_to_now = mean_ratio(columns, &ForecastQuality::ratio_to_now);
  quality.to_yesterday = mean_ratio(columns, &ForecastQuality::to_yesterday);
  return quality;
}

}  // namespace usage
