package main

import (
	"fmt"
	"reflect"
	"regexp"
	"strings"

	"sigs.k8s.io/yaml"
)

// What Helm charts write and kustomize does not.
var (
	helmLabels = []string{"helm.sh/chart", "app.kubernetes.io/instance", "app.kubernetes.io/version",
		"app.kubernetes.io/managed-by"}
	helmAnnotations = []string{"helm.sh/resource-policy", "checksum/config"}
	hashedConfig    = regexp.MustCompile(`^(evacuator-config)-[a-z0-9]{10}$`)
)

// normalised is the object without Helm's labels and annotations, without the hash in the name of the configuration,
// and with the configuration as fields instead of text: comments and the order of fields mean nothing.
func normalised(o object) (object, error) {
	result := object(rewritten(map[string]interface{}(o)).(values))
	for _, place := range []string{"metadata", "spec/template/metadata", "spec/jobTemplate/metadata", "spec/jobTemplate/spec/template/metadata"} {
		found, _ := at(result, place)
		metadata, _ := found.(values)
		drop(metadata, "labels", helmLabels)
		drop(metadata, "annotations", helmAnnotations)
	}
	data, _ := result["data"].(values)
	for _, name := range []string{"config.yaml", "extender.yaml"} {
		text, isConfig := data[name].(string)
		if result.kind() != "ConfigMap" || !isConfig {
			continue
		}
		config := values{}
		if err := yaml.UnmarshalStrict([]byte(text), &config); err != nil {
			return result, err
		}
		data[name] = config
	}
	return result, nil
}

func drop(metadata values, field string, names []string) {
	found, _ := metadata[field].(values)
	if found == nil {
		return
	}
	for _, name := range names {
		delete(found, name)
	}
	if len(found) == 0 {
		delete(metadata, field)
	}
}

func rewritten(value interface{}) interface{} {
	switch value := value.(type) {
	case values:
		result := values{}
		for key, each := range value {
			result[key] = rewritten(each)
		}
		return result
	case []interface{}:
		result := make([]interface{}, len(value))
		for i, each := range value {
			result[i] = rewritten(each)
		}
		return result
	case string:
		return hashedConfig.ReplaceAllString(value, "$1")
	default:
		return value
	}
}

// differences says where two values differ, by path; at most a few.
func differences(where string, want, got interface{}) []string {
	wantMap, isMap := want.(values)
	gotMap, wasMap := got.(values)
	if isMap && wasMap {
		var found []string
		for _, key := range keysOfEither(wantMap, gotMap) {
			below := where + "/" + strings.ReplaceAll(key, "/", "~1")
			found = append(found, differences(below, wantMap[key], gotMap[key])...)
		}
		return found
	}
	wantList, isList := want.([]interface{})
	gotList, wasList := got.([]interface{})
	if isList && wasList && len(wantList) == len(gotList) {
		var found []string
		for i := range wantList {
			found = append(found, differences(fmt.Sprintf("%s/%d", where, i), wantList[i], gotList[i])...)
		}
		return found
	}
	if reflect.DeepEqual(want, got) {
		return nil
	}
	return []string{fmt.Sprintf("%s: kustomize has %s, the chart %s", where, brief(want), brief(got))}
}

func keysOfEither(one, other values) []string {
	keys := sortedKeys(one)
	for _, key := range sortedKeys(other) {
		if _, ok := one[key]; !ok {
			keys = append(keys, key)
		}
	}
	return keys
}

func brief(value interface{}) string {
	text := toJSON(value)
	if len(text) > 120 {
		return text[:117] + "..."
	}
	return text
}

// compareSets says where they differ and how many objects were compared.
func compareSets(want, got set) ([]string, int) {
	var found []string
	compared := 0
	for _, id := range sortedKeys(want) {
		other, ok := got[id]
		if !ok {
			found = append(found, id+": kustomize has it, the chart has not")
			continue
		}
		compared++
		found = append(found, differences(id, values(want[id]), values(other))...)
	}
	for _, id := range sortedKeys(got) {
		if _, ok := want[id]; !ok {
			found = append(found, id+": the chart has it, kustomize has not")
		}
	}
	return found, compared
}

// eachLeaf calls visit for each leaf below value, with something that changes it for the time of the call.
func eachLeaf(where string, value interface{}, change func(interface{}), visit func(where string)) {
	switch value := value.(type) {
	case values:
		for _, key := range sortedKeys(value) {
			key := key
			eachLeaf(where+"/"+key, value[key], func(to interface{}) { value[key] = to }, visit)
		}
	case []interface{}:
		for i := range value {
			i := i
			eachLeaf(fmt.Sprintf("%s/%d", where, i), value[i], func(to interface{}) { value[i] = to }, visit)
		}
	default:
		change("something else")
		visit(where)
		change(value)
	}
}

// unnoticed proves the comparison: every leaf of every object is changed once, and each change must be reported. It
// returns those that were not, and how many were tried.
func unnoticed(want, got set) ([]string, int) {
	var found []string
	tried := 0
	for _, id := range sortedKeys(got) {
		id := id
		eachLeaf(id, values(got[id]), func(interface{}) {}, func(where string) {
			tried++
			if len(differences(id, values(want[id]), values(got[id]))) == 0 {
				found = append(found, where+": a change of it is not noticed")
			}
		})
	}
	return found, tried
}
