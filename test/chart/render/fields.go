package main

import (
	"encoding/json"
	"fmt"
	"os"
	"regexp"
	"strings"
)

// The chart's schema and the documented fields of the operator's configuration are the same ones.

// Set by the chart, so the schema refuses them.
var setByTheChart = []string{"leaderElection.namespace", "webhook.enabled", "webhook.admission.enabled",
	"webhook.certFile", "webhook.keyFile"}

var inBackquotes = regexp.MustCompile("`([a-zA-Z.\\[\\]]+)`")

// documentedFields reads the first column of the table of docs/operations.md: `client.qps` / `burst` are two fields.
func documentedFields(page string) (map[string]bool, error) {
	text, err := os.ReadFile(page)
	if err != nil {
		return nil, err
	}
	_, section, _ := strings.Cut(string(text), "\n## Configuration\n")
	section, _, _ = strings.Cut(section, "\n## ")
	fields := map[string]bool{}
	for _, line := range strings.Split(section, "\n") {
		cells := strings.Split(line, "|")
		if !strings.HasPrefix(line, "| `") || len(cells) < 3 {
			continue
		}
		below := ""
		for i, match := range inBackquotes.FindAllStringSubmatch(cells[1], -1) {
			name := strings.TrimSuffix(match[1], "[]")
			if i == 0 {
				below = name[:strings.LastIndex(name, ".")+1]
			} else if !strings.Contains(name, ".") {
				name = below + name
			}
			fields[name] = true
		}
	}
	return fields, nil
}

// schemaFields is every leaf below a property: limits.inFlight.total. Lists are leaves.
func schemaFields(schema values, below string, fields map[string]bool) {
	properties, _ := schema["properties"].(values)
	for name, each := range properties {
		if inner, _ := each.(values); inner["properties"] != nil {
			schemaFields(inner, below+name+".", fields)
		} else {
			fields[below+name] = true
		}
	}
}

func checkFields(chart *Chart, page string) ([]string, int) {
	documented, err := documentedFields(page)
	if err != nil {
		return []string{err.Error()}, 0
	}
	schema := values{}
	if err := json.Unmarshal(chart.Schema, &schema); err != nil {
		return []string{err.Error()}, 0
	}
	config, _ := at(schema, "properties/config")
	known := map[string]bool{}
	schemaFields(config.(values), "", known)
	for _, name := range setByTheChart {
		if known[name] {
			return []string{"values.schema.json: config." + name + " is set by the chart and must not be a value"}, 0
		}
		known[name] = true
	}
	var found []string
	for _, name := range sortedKeys(documented) {
		if !known[name] && !anyBelow(known, name) {
			found = append(found, fmt.Sprintf("values.schema.json: config.%s is missing, and %s has it", name, page))
		}
	}
	for _, name := range sortedKeys(known) {
		if !documented[name] && !anyAbove(documented, name) {
			found = append(found, fmt.Sprintf("values.schema.json: config.%s is in no line of %s", name, page))
		}
	}
	return found, len(documented)
}

func anyBelow(names map[string]bool, name string) bool {
	for each := range names {
		if strings.HasPrefix(each, name+".") {
			return true
		}
	}
	return false
}

func anyAbove(names map[string]bool, name string) bool {
	for each := range names {
		if strings.HasPrefix(name, each+".") {
			return true
		}
	}
	return false
}
