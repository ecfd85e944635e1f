package main

import (
	"fmt"
	"regexp"
	"strings"

	"sigs.k8s.io/yaml"
)

// object is one Kubernetes object.
type object values

func (o object) kind() string { text, _ := o["kind"].(string); return text }

func (o object) metadata() values { found, _ := o["metadata"].(values); return found }

func (o object) name() string { text, _ := o.metadata()["name"].(string); return text }

func (o object) namespace() string { text, _ := o.metadata()["namespace"].(string); return text }

// id names an object within one installation: Deployment/evacuator. Objects of one kind and name in several namespaces
// have the namespace in front.
func (o object) id() string { return o.kind() + "/" + o.name() }

var separator = regexp.MustCompile(`(?m)^---[ \t]*$`)

// Objects reads YAML documents strictly: no field twice, and kind, apiVersion and name are there.
func Objects(text string) ([]object, error) {
	var found []object
	for _, document := range separator.Split(text, -1) {
		each := object{}
		if err := yaml.UnmarshalStrict([]byte(document), &each); err != nil {
			return nil, fmt.Errorf("%w in:\n%s", err, document)
		}
		if len(each) == 0 {
			continue
		}
		if version, _ := each["apiVersion"].(string); version == "" || each.kind() == "" || each.name() == "" {
			return nil, fmt.Errorf("no apiVersion, kind or metadata.name in:\n%s", document)
		}
		found = append(found, each)
	}
	return found, nil
}

// Set is the objects by id; two of one id are an error.
type set map[string]object

func (s set) add(more []object) error {
	for _, each := range more {
		id := each.id()
		if old, ok := s[id]; ok {
			if old.namespace() == each.namespace() {
				return fmt.Errorf("%s is there twice", id)
			}
			id = each.namespace() + "/" + id
		}
		s[id] = each
	}
	return nil
}

func (r *Rendered) objects() (set, error) {
	all := set{}
	for _, name := range sortedKeys(r.Manifests) {
		found, err := Objects(r.Manifests[name])
		if err == nil {
			err = all.add(found)
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
	}
	return all, nil
}

// at follows a JSON pointer: spec/template/spec/containers/0/image, with ~1 for a slash in a name.
func at(value interface{}, pointer string) (interface{}, bool) {
	for _, step := range strings.Split(pointer, "/") {
		step = strings.ReplaceAll(strings.ReplaceAll(step, "~1", "/"), "~0", "~")
		switch here := value.(type) {
		case object:
			value = values(here)[step]
		case values:
			found, ok := here[step]
			if !ok {
				return nil, false
			}
			value = found
		case []interface{}:
			index := 0
			if _, err := fmt.Sscanf(step, "%d", &index); err != nil || index < 0 || index >= len(here) {
				return nil, false
			}
			value = here[index]
		default:
			return nil, false
		}
	}
	return value, value != nil
}
