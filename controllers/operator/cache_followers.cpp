#include "controllers/operator/cache_followers.hpp"

#include <string>
#include <utility>

namespace controllers {

CacheFollowers::CacheFollowers(std::vector<kube::Reflector*> reflectors, const base::Clock& clock, const base::Log& log,
                               base::Duration patience)
    : reflectors_(std::move(reflectors)), queue_(clock) {
  const auto follower = [this, log](std::size_t) {
    return kube::Worker(
        queue_, [this](const api::ObjectKey& key) { return kube::Requeue::in(take_turn(key)); }, counts_, log);
  };
  pool_ = std::make_unique<kube::WorkerPool>(queue_, reflectors_.size(), follower, "caches", patience);
}

CacheFollowers::~CacheFollowers() {
  pool_.reset();
  for (kube::Reflector* each : reflectors_) each->rest();
}

void CacheFollowers::start(std::stop_token stop) {
  stop_ = stop;
  for (std::size_t i = 0; i < reflectors_.size(); ++i) queue_.add({"", std::to_string(i)});
  pool_->start(std::move(stop));
}

/// noexcept, because a cache handler that throws halfway leaves a state that only a new process repairs.
base::Duration CacheFollowers::take_turn(const api::ObjectKey& key) noexcept {
  return reflectors_[std::stoul(key.name)]->take_turn(stop_, [this, key] { queue_.add(key); });
}

}  // namespace controllers
