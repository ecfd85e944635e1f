package main

import (
	"fmt"
	"strings"
)

// Kinds of the chart that live in no namespace.
var clusterKinds = map[string]bool{
	"CustomResourceDefinition": true, "ClusterRole": true, "ClusterRoleBinding": true, "FlowSchema": true,
	"MutatingWebhookConfiguration": true, "PriorityLevelConfiguration": true, "ValidatingAdmissionPolicy": true,
	"ValidatingWebhookConfiguration":   true,
	"ValidatingAdmissionPolicyBinding": true,
}

// broken says what does not hold in an installation, whatever its values: it begins with the object.
func broken(rendered *Rendered, release Release) []string {
	objects, err := rendered.objects()
	if err != nil {
		return []string{err.Error()}
	}
	var found []string
	complain := func(id, format string, args ...interface{}) {
		found = append(found, id+": "+fmt.Sprintf(format, args...))
	}
	workloads := objects.workloads()
	if len(workloads) != 1 {
		return []string{fmt.Sprintf("there are %d workloads", len(workloads))}
	}
	deployment := workloads[0]
	for _, id := range sortedKeys(objects) {
		each := objects[id]
		checkPlace(each, release, complain)
		checkBinding(each, objects, deployment, release, complain)
		checkSelectors(each, objects, deployment, complain)
	}
	for _, each := range append(objects.of("DaemonSet"), deployment) {
		checkMounts(each, objects, complain)
	}
	for name, text := range rendered.Manifests {
		if release.Namespace != "evacuator-system" && strings.Contains(text, "evacuator-system") {
			complain(name, "names evacuator-system, and the release is in %s", release.Namespace)
		}
		for _, hole := range []string{"<nil>", "%!", "map["} {
			if strings.Contains(text, hole) {
				complain(name, "has %q", hole)
			}
		}
	}
	if strings.TrimSpace(rendered.Notes) == "" {
		complain("NOTES.txt", "is empty")
	}
	return append(found, rendered.Holes...)
}

type complaint func(id, format string, args ...interface{})

func (s set) of(kind string) []object {
	var found []object
	for _, id := range sortedKeys(s) {
		if s[id].kind() == kind {
			found = append(found, s[id])
		}
	}
	return found
}

// workloads are what runs pods: each with its template where a Deployment has it.
func (s set) workloads() []object {
	found := append(s.of("Deployment"), s.of("Job")...)
	for _, each := range s.of("CronJob") {
		inner, _ := at(each, "spec/jobTemplate/spec")
		found = append(found, object{"apiVersion": each["apiVersion"], "kind": "CronJob", "metadata": each["metadata"], "spec": inner})
	}
	return found
}

func checkPlace(o object, release Release, complain complaint) {
	id := o.id()
	isElsewhere := o.kind() == "RoleBinding" // features.*.namespaces
	if clusterKinds[o.kind()] && o.namespace() != "" {
		complain(id, "has a namespace")
	}
	if !clusterKinds[o.kind()] && o.namespace() != release.Namespace && !(isElsewhere && o.namespace() != "") {
		complain(id, "is in the namespace %q", o.namespace())
	}
	if len(o.name()) > 63 {
		complain(id, "has a name of more than 63 characters")
	}
	for label, want := range map[string]string{"app.kubernetes.io/managed-by": "Helm", "app.kubernetes.io/instance": release.Name} {
		if got, _ := at(o, "metadata/labels/"+strings.ReplaceAll(label, "/", "~1")); got != want {
			complain(id, "has the label %s=%v", label, got)
		}
	}
}

func checkBinding(o object, objects set, deployment object, release Release, complain complaint) {
	if o.kind() != "RoleBinding" && o.kind() != "ClusterRoleBinding" {
		return
	}
	role, _ := o["roleRef"].(values)
	if _, ok := objects[fmt.Sprintf("%v/%v", role["kind"], role["name"])]; !ok {
		complain(o.id(), "is for %v %v, which is not there", role["kind"], role["name"])
	}
	accounts := map[interface{}]bool{}
	for _, each := range append(objects.of("DaemonSet"), deployment) {
		account, _ := at(each, "spec/template/spec/serviceAccountName")
		accounts[account] = true
	}
	subjects, _ := o["subjects"].([]interface{})
	if len(subjects) != 1 {
		complain(o.id(), "has %d subjects", len(subjects))
		return
	}
	subject := subjects[0].(values)
	if subject["kind"] != "ServiceAccount" || !accounts[subject["name"]] || subject["namespace"] != release.Namespace {
		complain(o.id(), "is for %v, and the pods run as %v", subject, accounts)
	}
}

func checkSelectors(o object, objects set, deployment object, complain complaint) {
	pointer := map[string]string{
		"Service": "spec/selector", "NetworkPolicy": "spec/podSelector/matchLabels", "Deployment": "spec/selector/matchLabels",
		"DaemonSet": "spec/selector/matchLabels", "PodDisruptionBudget": "spec/selector/matchLabels", "ServiceMonitor": "spec/selector/matchLabels",
	}[o.kind()]
	if pointer == "" {
		return
	}
	labels, _ := at(deployment, "spec/template/metadata/labels")
	if o.kind() == "DaemonSet" {
		labels, _ = at(o, "spec/template/metadata/labels")
	}
	if o.kind() == "ServiceMonitor" {
		for _, each := range objects.of("Service") {
			if strings.HasSuffix(each.name(), "-metrics") {
				labels = each.metadata()["labels"]
			}
		}
	}
	selector, _ := at(o, pointer)
	wanted, _ := selector.(values)
	if len(wanted) == 0 {
		complain(o.id(), "selects everything")
	}
	for label, value := range wanted {
		if got, _ := labels.(values); got[label] != value {
			complain(o.id(), "selects %s=%v, and that has %v", label, value, got[label])
		}
	}
}

// Every mount has a volume and the other way round; ConfigMaps of ours are there.
func checkMounts(deployment object, objects set, complain complaint) {
	mounted := map[string]bool{}
	mounts, _ := at(deployment, "spec/template/spec/containers/0/volumeMounts")
	for _, each := range mounts.([]interface{}) {
		mounted[fmt.Sprint(each.(values)["name"])] = true
	}
	volumes, _ := at(deployment, "spec/template/spec/volumes")
	for _, each := range volumes.([]interface{}) {
		name := fmt.Sprint(each.(values)["name"])
		if !mounted[name] {
			complain(deployment.id(), "does not mount its volume %s", name)
		}
		delete(mounted, name)
		if config, ok := at(each, "configMap/name"); ok && name == "config" {
			if _, isThere := objects[fmt.Sprintf("ConfigMap/%v", config)]; !isThere {
				complain(deployment.id(), "mounts ConfigMap %v, which is not there", config)
			}
		}
	}
	for name := range mounted {
		complain(deployment.id(), "mounts %s, which is no volume", name)
	}
}
