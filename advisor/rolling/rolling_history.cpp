#include "advisor/rolling/rolling_history.hpp"

#include <algorithm>

namespace advisor {
namespace {

int sketch_of(Day day) { return day / RollingHistory::kSketchDays; }

void merge_into(std::map<int, QuantileSketch>& sketches, int at, const QuantileSketch& sketch) {
  sketches.try_emplace(at, kMinSketchCores).first->second.merge(sketch);
}

}  // namespace

/// Closes the open day. Halves the oddities, which are not stored by day, so that old errors lose weight.
void RollingHistory::close() {
  if (!parts_.day) return;
  parts_.closed.emplace(*parts_.day, parts_.open.usage());
  if (parts_.open.cpu.count() > 0) merge_into(parts_.sketches, sketch_of(*parts_.day), parts_.open.cpu);
  parts_.open = {};
  parts_.day.reset();
  for (std::uint64_t* odd :
       {&parts_.oddities.negative, &parts_.oddities.not_finite, &parts_.oddities.absurd, &parts_.oddities.duplicates})
    *odd /= 2;
}

void RollingHistory::forget() {
  while (parts_.closed.size() > kMaxDays) parts_.closed.erase(parts_.closed.begin());
  while (parts_.sketches.size() > kMaxSketches) parts_.sketches.erase(parts_.sketches.begin());
  if (!parts_.day) return;
  std::erase_if(parts_.closed, [&](const auto& each) { return each.first < *parts_.day - kMaxDays; });
  const int oldest = sketch_of(*parts_.day) - static_cast<int>(kMaxSketches) + 1;
  std::erase_if(parts_.sketches, [&](const auto& each) { return each.first < oldest; });
}

void RollingHistory::begin(Day day) {
  if (parts_.day == day) return;
  close();
  parts_.day = day;
  forget();
}

void RollingHistory::add(base::TimePoint time, double cpu, double memory, bool is_startup) {
  const Figures figures = checked_figures(cpu, memory, parts_.oddities);
  if (!figures.is_known()) return;
  const Day day = day_of(time);
  const bool is_late =
      (parts_.day && day < *parts_.day) || (!parts_.closed.empty() && day <= parts_.closed.rbegin()->first);
  if (is_late) {
    ++parts_.oddities.duplicates;
    return;
  }
  begin(day);
  parts_.open.add(time - start_of(day), figures.cpu, figures.memory, is_startup);
  if (parts_.samples == 0) parts_.first = time;
  parts_.last = std::max(parts_.last, time);
  ++parts_.samples;
}

void RollingHistory::merge(const RollingHistory& earlier) {
  RollingHistory other = earlier;
  if (other.empty()) {
    parts_.oddities += other.parts_.oddities;
    return;
  }
  if (!empty() && other.parts_.day != parts_.day) {
    const bool is_older = !other.parts_.day || (parts_.day && *other.parts_.day < *parts_.day);
    (is_older ? other : *this).close();
  }
  for (const auto& [day, usage] : other.parts_.closed) {
    const auto [at, is_new] = parts_.closed.emplace(day, usage);
    if (!is_new && usage.covered > at->second.covered) at->second = usage;
  }
  for (const auto& [at, sketch] : other.parts_.sketches) merge_into(parts_.sketches, at, sketch);
  if (other.parts_.day) {
    parts_.day = other.parts_.day;
    parts_.open.merge(other.parts_.open);
  }
  parts_.first = empty() ? other.parts_.first : std::min(parts_.first, other.parts_.first);
  parts_.last = std::max(parts_.last, other.parts_.last);
  parts_.samples += other.parts_.samples;
  parts_.oddities += other.parts_.oddities;
  forget();
}

ContainerHistory RollingHistory::history() const {
  ContainerHistory told;
  told.days = parts_.closed;
  told.oddities = parts_.oddities;
  told.cpu.emplace(kMinSketchCores);
  for (const auto& [at, sketch] : parts_.sketches) told.cpu->merge(sketch);
  if (!parts_.day) return told;
  told.days.emplace(*parts_.day, parts_.open.usage());
  told.cpu->merge(parts_.open.cpu);
  return told;
}

}  // namespace advisor
