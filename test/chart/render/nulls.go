package main

import (
	"fmt"
	"strings"
)

// checkNulls takes each value of the chart away, as `name:` with nothing behind it does: what is left is whole, or the
// schema names the field.
func checkNulls(chart *Chart) ([]string, int) {
	var problems []string
	paths := pathsBelow(chart.Values, nil)
	for _, path := range paths {
		user := values{
			"metrics":    values{"serviceMonitor": values{"enabled": true}, "prometheusRule": values{"enabled": true}},
			"dashboards": values{"enabled": true},
			"extender":   values{"enabled": true},
		}
		if path[0] == "once" {
			user["kind"] = "CronJob"
		}
		if path[0] != "crds" {
			user["crds"] = values{"install": false} // most of the work, and no other value is in them
		}
		setNull(user, path)
		if problem := problemOf(chart, user, path); problem != "" {
			problems = append(problems, fmt.Sprintf("%s: null: %s", strings.Join(path, "."), problem))
		}
	}
	return problems, len(paths)
}

func problemOf(chart *Chart, user values, path []string) string {
	release := Release{Name: "evacuator", Namespace: "evacuator-system", KubeVersion: "1.31.0"}
	rendered, err := Render(chart, user, release)
	if err == nil {
		return strings.Join(broken(rendered, release), "; ")
	}
	field := path[len(path)-1]
	if strings.Contains(err.Error(), field+" is required") || strings.Contains(err.Error(), "calling fail: "+path[0]+".") {
		return ""
	}
	return err.Error()
}

func pathsBelow(some values, above []string) [][]string {
	var paths [][]string
	for _, key := range sortedKeys(some) {
		path := append(append([]string{}, above...), key)
		paths = append(paths, path)
		if below, ok := some[key].(values); ok {
			paths = append(paths, pathsBelow(below, path)...)
		}
	}
	return paths
}

func setNull(user values, path []string) {
	for _, key := range path[:len(path)-1] {
		below, ok := user[key].(values)
		if !ok {
			below = values{}
			user[key] = below
		}
		user = below
	}
	user[path[len(path)-1]] = nil
}
