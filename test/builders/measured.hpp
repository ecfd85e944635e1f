#pragma once

/// Measured usage for tests: Measured("prom", {"cpu"}).node("n1", {3200}).pod("web-1", {800}).build(). Amounts are in
/// thousandths. Nodes and pods must be added in order of name. The time is kNoon, pods are in namespace "default".

#include <string>
#include <utility>
#include <vector>

#include "planner/snapshot/measured_usage.hpp"
#include "test/builders/cluster.hpp"

namespace builders {

class Measured {
 public:
  using Amounts = std::vector<std::int64_t>;

  Measured(std::string source, const std::vector<std::string>& resources) {
    usage_.source = std::move(source);
    for (const std::string& name : resources) usage_.resources.push_back({name, false});
  }
  Measured& percent(std::string name) { return usage_.resources.push_back({std::move(name), true}), *this; }
  Measured& node(std::string name, Amounts now) {
    scheduling::MeasuredUsage::Node& node = usage_.nodes.emplace_back();
    node.name = std::move(name);
    node.time = kNoon;
    for (int i = 0; i < 5; ++i) node.samples.insert(node.samples.end(), now.begin(), now.end());
    node.now = std::move(now);
    return *this;
  }
  // --- of the last added node
  Measured& foreseen(Amounts amounts) { return usage_.nodes.back().foreseen = std::move(amounts), *this; }
  Measured& samples(Amounts amounts) { return usage_.nodes.back().samples = std::move(amounts), *this; }
  Measured& problem(std::string text) { return usage_.nodes.back().problem = std::move(text), *this; }

  Measured& pod(std::string name, const Amounts& amounts) {
    std::vector<scheduling::MeasuredUsage::Pod> pods = usage_.pods.get();
    pods.push_back({"default", std::move(name)});
    usage_.pods = scheduling::SharedVector(std::move(pods));
    Amounts all = usage_.pod_amounts.get();
    all.insert(all.end(), amounts.begin(), amounts.end());
    usage_.pod_amounts = scheduling::SharedVector(std::move(all));
    return *this;
  }
  /// Sets the means of all pods added so far, in their order.
  Measured& means(Amounts amounts) { return usage_.pod_means = scheduling::SharedVector(std::move(amounts)), *this; }
  Measured& unusable(std::string text) { return usage_.problem = std::move(text), *this; }
  Measured& most_unknown(std::int32_t percent) { return usage_.max_unknown_percent = percent, *this; }
  scheduling::MeasuredUsage build() const { return usage_; }
  std::shared_ptr<const scheduling::MeasuredUsage> share() const {
    return std::make_shared<const scheduling::MeasuredUsage>(usage_);
  }

 private:
  scheduling::MeasuredUsage usage_;
};

}  // namespace builders
