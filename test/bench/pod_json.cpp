#include "test/bench/pod_json.hpp"

#include <fmt/format.h>

namespace bench {
namespace {

std::string environment() {
  std::string all;
  for (int i = 0; i < 20; ++i) {
    all += fmt::format(R"({}{{"name":"SETTING_{:02}","value":"https://service-{}.example.svc.cluster.local:8443/v1"}})", i ? "," : "", i, i);
  }
  return all;
}

std::string managed_fields() {
  std::string all;
  for (const char* manager : {"kube-controller-manager", "kubelet"}) {
    std::string fields;
    for (int i = 0; i < 24; ++i) fields += fmt::format(R"({}"f:field{:02}":{{".":{{}},"f:name":{{}},"f:value":{{}}}})", i ? "," : "", i);
    all += fmt::format(R"({}{{"manager":"{}","operation":"Update","apiVersion":"v1","time":"2026-11-01T10:00:00Z","fieldsType":"FieldsV1","fieldsV1":{{{}}}}})",
                       all.empty() ? "" : ",", manager, fields);
  }
  return all;
}

std::string pod_json(int i, const std::string& env, const std::string& managed) {
  const int app = i / 10;
  return fmt::format(
      R"({{"metadata":{{"name":"app-{1}-7d4b9c8f6d-{0:05}","generateName":"app-{1}-7d4b9c8f6d-","namespace":"ns-{2}","uid":"10000000-0000-4000-8000-{0:012}",)"
      R"("resourceVersion":"{0}","creationTimestamp":"2026-11-01T10:00:00Z","labels":{{"app.kubernetes.io/name":"app-{1}","app.kubernetes.io/instance":"app-{1}","pod-template-hash":"7d4b9c8f6d","team":"team-{2}"}},)"
      R"("annotations":{{"prometheus.io/scrape":"true","prometheus.io/port":"9090","checksum/config":"9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"}},)"
      R"("ownerReferences":[{{"apiVersion":"apps/v1","kind":"ReplicaSet","name":"app-{1}-7d4b9c8f6d","uid":"00000000-0000-4000-8000-{1:012}","controller":true,"blockOwnerDeletion":true}}],"managedFields":[{4}]}},)"
      R"("spec":{{"volumes":[{{"name":"kube-api-access","projected":{{"sources":[{{"serviceAccountToken":{{"expirationSeconds":3607,"path":"token"}}}}],"defaultMode":420}}}}],)"
      R"("containers":[{{"name":"main","image":"registry.example/app-{1}:v1","env":[{3}],"resources":{{"limits":{{"cpu":"1","memory":"1Gi"}},"requests":{{"cpu":"250m","memory":"512Mi"}}}},)"
      R"("ports":[{{"containerPort":8080,"protocol":"TCP"}}],"terminationMessagePath":"/dev/termination-log","imagePullPolicy":"IfNotPresent"}}],)"
      R"("restartPolicy":"Always","terminationGracePeriodSeconds":30,"dnsPolicy":"ClusterFirst","serviceAccountName":"default","nodeName":"node-{5}","schedulerName":"default-scheduler",)"
      R"("tolerations":[{{"key":"node.kubernetes.io/not-ready","operator":"Exists","effect":"NoExecute","tolerationSeconds":300}},{{"key":"node.kubernetes.io/unreachable","operator":"Exists","effect":"NoExecute","tolerationSeconds":300}}],"priority":0,"enableServiceLinks":true}},)"
      R"("status":{{"phase":"Running","conditions":[{{"type":"Initialized","status":"True","lastTransitionTime":"2026-11-01T10:00:01Z"}},{{"type":"Ready","status":"True","lastTransitionTime":"2026-11-01T10:00:09Z"}},)"
      R"({{"type":"ContainersReady","status":"True","lastTransitionTime":"2026-11-01T10:00:09Z"}},{{"type":"PodScheduled","status":"True","lastTransitionTime":"2026-11-01T10:00:00Z"}}],)"
      R"("hostIP":"10.0.0.1","podIP":"10.1.0.1","startTime":"2026-11-01T10:00:01Z","containerStatuses":[{{"name":"main","state":{{"running":{{"startedAt":"2026-11-01T10:00:05Z"}}}},"lastState":{{}},"ready":true,"restartCount":0,)"
      R"("image":"registry.example/app-{1}:v1","imageID":"registry.example/app@sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08","containerID":"containerd://9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08","started":true}}],"qosClass":"Burstable"}}}})",
      i, app, app % 50, env, managed, i % 700);
}

}  // namespace

std::string pod_list_json(int pods) {
  const std::string env = environment();
  const std::string managed = managed_fields();
  std::string all = R"({"kind":"PodList","apiVersion":"v1","metadata":{"resourceVersion":"1000"},"items":[)";
  for (int i = 0; i < pods; ++i) all += (i ? "," : "") + pod_json(i, env, managed);
  return all + "]}";
}

}  // namespace bench
