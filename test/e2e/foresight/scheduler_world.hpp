#pragma once

#include <atomic>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "test/e2e/harness/api.hpp"

namespace e2e {

/// Twenty nodes without a kubelet, with different sizes, taints and labels. They are only objects, whose leases are
/// renewed so that they stay Ready. 19 are in six zones, most of them in a rack. The last one, the hermit, has no zone.
/// Pods that are bound to these nodes never start. The destructor removes everything, pods first.
class SchedulerWorld {
 public:
  static constexpr int kNodes = 20;
  static constexpr int kZones = 6;

  /// Returns when the nodes accept pods.
  explicit SchedulerWorld(const Api& api);
  ~SchedulerWorld();
  SchedulerWorld(const SchedulerWorld&) = delete;
  SchedulerWorld& operator=(const SchedulerWorld&) = delete;

  static std::string node_name(int number);
  static std::string hermit() { return node_name(kNodes - 1); }

 private:
  void make_node(int number) const;
  void await_ready() const;
  void keep_alive();
  void clear_away() const;

  const Api& api_;
  std::atomic<bool> stopping_{false};
  std::thread heartbeat_;
};

/// Random pods with all properties that influence kube-scheduler's choice, derived from a seed.
class RandomPods {
 public:
  RandomPods(std::string ns, std::uint32_t seed) : ns_(std::move(ns)), random_(seed) {}

  /// Returns a pod for this scheduler profile. `in_company` adds preferences about other pods, `spread` adds a zone
  /// constraint. Such pods have no other restriction of nodes.
  Json next(const std::string& profile, bool in_company, bool spread);
  /// Returns a bound pod with affinities that affect other pods.
  Json resident(int number);

  static constexpr const char* kApps[] = {"red", "green", "blue", "black", "white"};

 private:
  bool chance(int percent) { return below(100) < percent; }
  int below(int limit) { return static_cast<int>(random_() % static_cast<std::uint32_t>(limit)); }
  Json bare(const std::string& name);
  Json node_preference();
  Json pod_term(bool over_nodes);
  Json weighted_terms();

  std::string ns_;
  std::mt19937 random_;
  int made_ = 0;
};

}  // namespace e2e
