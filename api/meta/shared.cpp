#include "api/meta/shared.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <mutex>
#include <random>

namespace api {
namespace {

std::size_t seed_of_process() {
  static const std::size_t kSeed = [] {
    std::random_device source;
    return (static_cast<std::size_t>(source()) << 32U) ^ source();
  }();
  return kSeed;
}

/// Finalizer of SplitMix64.
std::size_t mixed(std::size_t value) {
  value = (value ^ (value >> 30U)) * 0xbf58476d1ce4e5b9U;
  value = (value ^ (value >> 27U)) * 0x94d049bb133111ebU;
  return value ^ (value >> 31U);
}

}  // namespace

Hasher::Hasher() : value_(seed_of_process()) {}

/// Mixes in eight bytes at a time. The intermediate state is secret, so that colliding texts cannot be prepared.
Hasher& Hasher::add(std::string_view text) {
  value_ = mixed(value_ + text.size());
  while (!text.empty()) {
    std::uint64_t block = 0;
    const std::size_t taken = std::min(text.size(), sizeof block);
    std::memcpy(&block, text.data(), taken);
    value_ = mixed(value_ + block);
    text.remove_prefix(taken);
  }
  return *this;
}

Hasher& Hasher::add(std::int64_t number) {
  value_ = mixed(value_ + static_cast<std::size_t>(number));
  return *this;
}

/// Pool of shared nodes by hash. Does not keep nodes alive: the last user removes its node. The user count reaches zero
/// only under the lock, so a node found here is never being deleted.
class SharedPool {
 public:
  static SharedPool& of(std::size_t hash) {
    // Never destroyed, because users may outlive static destruction.
    static auto* const kPools = new std::array<SharedPool, kParts>;
    return (*kPools)[hash % kParts];
  }

  SharedNode* find_or_add(SharedNode* node) {
    const std::scoped_lock lock(mutex_);
    int looked_at = 0;
    for (SharedNode* known = bucket(node->hash_); known != nullptr; known = known->next_) {
      if (known->hash_ == node->hash_ && known->equals(*node)) {
        known->add_user();
        return known;
      }
      if (++looked_at == kMax) return node;  // frozen, but not shared
    }
    add(node);
    return node;
  }

  /// Removes a user. Returns true if it was the last one and the node was removed from the pool.
  bool drop_user(SharedNode* node) {
    const std::scoped_lock lock(mutex_);
    if (node->users_.fetch_sub(1, std::memory_order_acq_rel) != 1) return false;
    SharedNode** at = &bucket(node->hash_);
    while (*at != node) at = &(*at)->next_;
    *at = node->next_;
    --size_;
    return true;
  }

 private:
  static constexpr std::size_t kParts = 16;
  static constexpr std::size_t kMin = 64;
  /// Maximum length of a chain. Longer ones result from bad luck or an attack.
  static constexpr int kMax = 16;

  SharedNode*& bucket(std::size_t hash) {
    if (buckets_.empty()) buckets_.resize(kMin);
    return buckets_[(hash / kParts) % buckets_.size()];
  }
  void add(SharedNode* node) {
    if (++size_ > buckets_.size()) grow();
    SharedNode*& first = bucket(node->hash_);
    node->is_pooled_ = true;
    node->next_ = std::exchange(first, node);
  }
  void grow() {
    const std::vector<SharedNode*> before = std::exchange(buckets_, std::vector<SharedNode*>(2 * buckets_.size()));
    for (SharedNode* node : before) {
      while (node != nullptr) {
        SharedNode* const next = node->next_;
        node->next_ = std::exchange(bucket(node->hash_), node);
        node = next;
      }
    }
  }

  std::mutex mutex_;
  std::vector<SharedNode*> buckets_;
  std::size_t size_ = 0;
};

void SharedNode::leave() {
  if (!is_pooled_) {
    if (users_.fetch_sub(1, std::memory_order_acq_rel) == 1) delete this;
    return;
  }
  std::uint32_t users = users_.load(std::memory_order_relaxed);
  while (users > 1) {
    if (users_.compare_exchange_weak(users, users - 1, std::memory_order_acq_rel)) return;
  }
  if (SharedPool::of(hash_).drop_user(this)) delete this;
}

SharedNode* SharedNode::pooled(SharedNode* node, std::size_t hash) {
  node->hash_ = hash;
  node->freeze();
  SharedNode* const known = SharedPool::of(hash).find_or_add(node);
  if (known != node) delete node;
  return known;
}

}  // namespace api
