#include "controllers/policy/cycle/turns.hpp"

#include <utility>

namespace controllers {
namespace {

/// Whoever waits for its turn says so often that it is alive.
constexpr base::seconds kTurnPatience{1};

}  // namespace

Turns::Turn::Turn(Turns& of) : of_(of) {
  of_.begin(of_.progress_of_this_thread_ ? of_.progress_of_this_thread_() : [] {});
}

Turns::Intermission::Intermission(Turns& of) : of_(of), progress_(of.progress_) {
  of_.is_searching_ = true;
  of_.lock_.unlock();
}

Turns::Intermission::~Intermission() {
  of_.begin(std::move(progress_));
  of_.is_searching_ = false;
}

/// Another one's may take minutes where it makes thousands of Evacuations.
void Turns::begin(Progress progress) {
  lock_.lock(kTurnPatience, progress);
  progress_ = std::move(progress);
}

}  // namespace controllers
