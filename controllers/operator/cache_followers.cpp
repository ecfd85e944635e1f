#include "controllers/operator/cache_followers.hpp"

#include <string>
#include <utility>

namespace controllers {
namespace {

api::ObjectKey key_of(std::size_t number) { return {"", std::to_string(number)}; }
std::size_t number_of(const api::ObjectKey& key) { return std::stoul(key.name); }

}  // namespace

CacheFollowers::CacheFollowers(std::vector<kube::Reflector*> reflectors, const base::Clock& clock, const base::Log& log,
                               base::Duration patience)
    : reflectors_(std::move(reflectors)), queue_(clock) {
  pool_ = std::make_unique<kube::WorkerPool>(
      queue_, reflectors_.size(), [this, log](std::size_t) { return follower(log); }, "caches", patience);
}

CacheFollowers::~CacheFollowers() {
  pool_.reset();
  for (kube::Reflector* each : reflectors_) each->rest();
}

void CacheFollowers::start(std::stop_token stop) {
  stop_ = stop;
  for (std::size_t i = 0; i < reflectors_.size(); ++i) queue_.add(key_of(i));
  pool_->start(std::move(stop));
}

kube::Worker CacheFollowers::follower(const base::Log& log) {
  return {queue_, [this](const api::ObjectKey& key) { return kube::Requeue::in(take_turn(key)); }, counts_, log};
}

/// noexcept on purpose: a cache handler that throws halfway leaves a state that cannot be repaired, so the process
/// must end.
base::Duration CacheFollowers::take_turn(const api::ObjectKey& key) noexcept {
  return reflectors_[number_of(key)]->take_turn(stop_, [this, key] { queue_.add(key); });
}

}  // namespace controllers
