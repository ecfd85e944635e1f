#include "test/bench/pod_json.hpp"

#include <fmt/format.h>

namespace bench {
namespace {

std::string environment() {
  std::string all;
  for (int i = 0; i < 20; ++i) {
    all += fmt::format(R"({}{{"name":"SETTING_{:02}","value":"https://service-{}.example.svc.cluster.local:8443/v1"}})",
                       i ? "," : "", i, i);
  }
  return all;
}

std::string managed_fields() {
  std::string all;
  for (const char* manager : {"kube-controller-manager", "kubelet"}) {
    std::string fields;
    for (int i = 0; i < 24; ++i)
      fields += fmt::format(R"({}"f:field{:02}":{{".":{{}},"f:name":{{}},"f:value":{{}}}})", i ? "," : "", i);
    all += fmt::format(
        R"({}{{"manager":"{}","operation":"Update","apiVersion":"v1","time":"2026-11-01T10:00:00Z","fieldsType":"FieldsV1","fieldsV1":{{{}}}}})",
        all.empty() ? "" : ",", manager, fields);
  }
  return all;
}

}  // namespace

std::string pod_json(const PodText& pod) {
  static const std::string kEnvironment = environment();
  static const std::string kManaged = managed_fields();
  return fmt::format(
      R"({{"metadata":{{"name":"{2}","generateName":"{1}-7d4b9c8f6d-","namespace":"{3}","uid":"10000000-0000-4000-8000-{0:012}",)"
      R"("resourceVersion":"{0}","creationTimestamp":"2026-11-01T10:00:00Z","labels":{{"app.kubernetes.io/name":"{1}","app.kubernetes.io/instance":"{1}","pod-template-hash":"7d4b9c8f6d","team":"team-{3}"}},)"
      R"("annotations":{{"prometheus.io/scrape":"true","prometheus.io/port":"9090","checksum/config":"9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"}},)"
      R"("ownerReferences":[{{"apiVersion":"apps/v1","kind":"ReplicaSet","name":"{1}-7d4b9c8f6d","uid":"00000000-0000-4000-8000-{1:0>12}","controller":true,"blockOwnerDeletion":true}}],"managedFields":[{5}]}},)"
      R"("spec":{{"volumes":[{{"name":"kube-api-access","projected":{{"sources":[{{"serviceAccountToken":{{"expirationSeconds":3607,"path":"token"}}}}],"defaultMode":420}}}}],)"
      R"("containers":[{{"name":"main","image":"registry.example/{1}:v1","env":[{4}],"resources":{{"limits":{{"cpu":"1","memory":"1Gi"}},"requests":{{"cpu":"{7}","memory":"{8}"}}}},)"
      R"("ports":[{{"containerPort":8080,"protocol":"TCP"}}],"terminationMessagePath":"/dev/termination-log","imagePullPolicy":"IfNotPresent"}}],)"
      R"("restartPolicy":"Always","terminationGracePeriodSeconds":30,"dnsPolicy":"ClusterFirst","serviceAccountName":"default","nodeName":"{6}","schedulerName":"default-scheduler",)"
      R"("tolerations":[{{"key":"node.kubernetes.io/not-ready","operator":"Exists","effect":"NoExecute","tolerationSeconds":300}},{{"key":"node.kubernetes.io/unreachable","operator":"Exists","effect":"NoExecute","tolerationSeconds":300}}],"priority":0,"enableServiceLinks":true}},)"
      R"("status":{{"phase":"Running","conditions":[{{"type":"Initialized","status":"True","lastTransitionTime":"2026-11-01T10:00:01Z"}},{{"type":"Ready","status":"True","lastTransitionTime":"2026-11-01T10:00:09Z"}},)"
      R"({{"type":"ContainersReady","status":"True","lastTransitionTime":"2026-11-01T10:00:09Z"}},{{"type":"PodScheduled","status":"True","lastTransitionTime":"2026-11-01T10:00:00Z"}}],)"
      R"("hostIP":"10.0.0.1","podIP":"10.1.0.1","startTime":"2026-11-01T10:00:01Z","containerStatuses":[{{"name":"main","state":{{"running":{{"startedAt":"2026-11-01T10:00:05Z"}}}},"lastState":{{}},"ready":true,"restartCount":0,)"
      R"("image":"registry.example/{1}:v1","imageID":"registry.example/app@sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08","containerID":"containerd://9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08","started":true}}],"qosClass":"Burstable"}}}})",
      pod.number, pod.app, pod.name, pod.ns, kEnvironment, kManaged, pod.node, pod.cpu, pod.memory);
}

std::string pod_list_json(int pods) {
  std::string all = R"({"kind":"PodList","apiVersion":"v1","metadata":{"resourceVersion":"1000"},"items":[)";
  for (int i = 0; i < pods; ++i) {
    const int app = i / 10;
    if (i > 0) all += ',';
    all += pod_json({.number = i,
                     .ns = fmt::format("ns-{}", app % 50),
                     .name = fmt::format("app-{}-7d4b9c8f6d-{:05}", app, i),
                     .app = fmt::format("app-{}", app),
                     .node = fmt::format("node-{}", i % 700)});
  }
  return all + "]}";
}

}  // namespace bench
