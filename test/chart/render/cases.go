package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strings"

	"sigs.k8s.io/yaml"
)

// Cases is what test/chart/cases/*.yaml say.
type Cases struct {
	Same     []SameCase    `json:"same"`
	Bad      []BadCase     `json:"bad"`
	Variants []VariantCase `json:"variants"`
}

// Install is how a case is installed; what is absent is as in the documented command.
type Install struct {
	Name        string            `json:"name"`
	Values      values            `json:"values"`
	Release     string            `json:"release"`
	Namespace   string            `json:"namespace"`
	KubeVersion string            `json:"kubeVersion"`
	Files       map[string]string `json:"files"`   // added to the chart
	Cluster     []object          `json:"cluster"` // objects that are there already
}

// SameCase: the chart gives what kustomize gives.
type SameCase struct {
	Install   `json:",inline"`
	Kustomize []string `json:"kustomize"` // folders
	Plain     []string `json:"plain"`     // files that kubectl applies as they are
	Rules     string   `json:"rules"`     // a rule file of Prometheus, which the chart has as a PrometheusRule
	Except    []string `json:"except"`    // objects that a chart does not have
	Adjust    []Expect `json:"adjust"`    // what the values change in kustomize's objects
	Objects   int      `json:"objects"`   // so many are compared
	Prove     bool     `json:"prove"`     // change each leaf once, and see that the comparison notices
}

// BadCase: rendering fails, and the message has these words.
type BadCase struct {
	Install `json:",inline"`
	Says    []string `json:"says"`
}

// VariantCase: rendering succeeds, the installation is whole, and these things hold.
type VariantCase struct {
	Install `json:",inline"`
	Expect  []Expect `json:"expect"`
}

// Expect is about one object, or one field of it, or the notes.
type Expect struct {
	Object string      `json:"object"`
	Absent string      `json:"absent"` // an object; with * any of that kind
	At     string      `json:"at"`
	Is     interface{} `json:"is"`
	Has    interface{} `json:"has"` // the list at At has this, or the text this part
	Lacks  bool        `json:"lacks"`
	Notes  string      `json:"notes"`
}

func readCases(folder string) (Cases, error) {
	all := Cases{}
	names, err := filepath.Glob(filepath.Join(folder, "*.yaml"))
	for _, name := range names {
		text, failed := os.ReadFile(name)
		some := Cases{}
		if failed == nil {
			failed = yaml.UnmarshalStrict(text, &some)
		}
		if failed != nil {
			return all, fmt.Errorf("%s: %w", name, failed)
		}
		all.Same = append(all.Same, some.Same...)
		all.Bad = append(all.Bad, some.Bad...)
		all.Variants = append(all.Variants, some.Variants...)
	}
	return all, err
}

func (i Install) render(chart *Chart) (*Rendered, Release, error) {
	release := Release{Name: i.Release, Namespace: i.Namespace, KubeVersion: i.KubeVersion, Cluster: i.Cluster}
	if release.Name == "" {
		release.Name = "evacuator"
	}
	if release.Namespace == "" {
		release.Namespace = "evacuator-system"
	}
	if release.KubeVersion == "" {
		release.KubeVersion = "1.31.0"
	}
	if len(i.Files) > 0 {
		own := *chart
		own.Files = map[string][]byte{}
		for name, data := range chart.Files {
			own.Files[name] = data
		}
		for name, text := range i.Files {
			own.Files[name] = []byte(text)
		}
		chart = &own
	}
	rendered, err := Render(chart, i.Values, release)
	return rendered, release, err
}

// ---------------------------------------------------------------- same

func kustomize(folder string) ([]object, error) {
	command := exec.Command("kubectl", "kustomize", folder)
	command.Stderr = os.Stderr
	text, err := command.Output()
	if err != nil {
		return nil, fmt.Errorf("kubectl kustomize %s: %w", folder, err)
	}
	return Objects(string(text))
}

func (c SameCase) wanted() (set, error) {
	all := set{}
	for _, folder := range c.Kustomize {
		found, err := kustomize(folder)
		if err == nil {
			err = all.add(found)
		}
		if err != nil {
			return nil, err
		}
	}
	for _, name := range c.Plain {
		text, err := os.ReadFile(name)
		if err != nil {
			return nil, err
		}
		found, err := Objects(string(text))
		if err == nil {
			err = all.add(found)
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
	}
	if c.Rules != "" {
		rule, err := prometheusRule(c.Rules)
		if err != nil {
			return nil, err
		}
		all[rule.id()] = rule
	}
	for _, id := range c.Except {
		if _, ok := all[id]; !ok {
			return nil, fmt.Errorf("except: there is no %s", id)
		}
		delete(all, id)
	}
	all, err := all.normalised()
	if err != nil {
		return nil, err
	}
	for _, each := range c.Adjust {
		if err := each.adjust(all); err != nil {
			return nil, err
		}
	}
	return all, nil
}

func prometheusRule(file string) (object, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	spec := values{}
	err = yaml.UnmarshalStrict(text, &spec)
	return object{
		"apiVersion": "monitoring.coreos.com/v1", "kind": "PrometheusRule", "spec": spec,
		"metadata": values{"name": "evacuator", "namespace": "evacuator-system",
			"labels": values{"app.kubernetes.io/name": "evacuator"}},
	}, err
}

func (s set) normalised() (set, error) {
	result := set{}
	for _, id := range sortedKeys(s) {
		each, err := normalised(s[id])
		if err != nil {
			return nil, fmt.Errorf("%s: %w", id, err)
		}
		if err := result.add([]object{each}); err != nil {
			return nil, err
		}
	}
	return result, nil
}

func (e Expect) adjust(all set) error {
	parent, name := values(all[e.Object]), e.At
	if cut := strings.LastIndex(e.At, "/"); cut >= 0 {
		found, _ := at(all[e.Object], e.At[:cut])
		parent, _ = found.(values)
		name = strings.ReplaceAll(e.At[cut+1:], "~1", "/")
	}
	if parent == nil {
		return fmt.Errorf("adjust: %s has no %s", e.Object, e.At)
	}
	parent[name] = e.Is
	return nil
}

func (c SameCase) problems(chart *Chart) ([]string, string) {
	want, err := c.wanted()
	if err != nil {
		return []string{err.Error()}, ""
	}
	rendered, release, err := c.render(chart)
	if err != nil {
		return []string{err.Error()}, ""
	}
	found := broken(rendered, release)
	got, err := rendered.objects()
	if err == nil {
		got, err = got.normalised()
	}
	if err != nil {
		return append(found, err.Error()), ""
	}
	different, compared := compareSets(want, got)
	found = append(found, different...)
	if compared != c.Objects {
		found = append(found, fmt.Sprintf("%d objects were compared, and objects says %d", compared, c.Objects))
	}
	if len(found) > 0 {
		return found, ""
	}
	if !c.Prove {
		return nil, fmt.Sprintf("%d objects are the same", compared)
	}
	missed, tried := unnoticed(want, got)
	return missed, fmt.Sprintf("%d objects are the same; each of %d changes of a leaf is noticed", compared, tried)
}

// ---------------------------------------------------------------- bad and variants

func (c BadCase) problems(chart *Chart) []string {
	if len(c.Says) == 0 {
		return []string{"says nothing"}
	}
	_, _, err := c.render(chart)
	if err == nil {
		return []string{"it renders"}
	}
	var found []string
	for _, part := range c.Says {
		if !strings.Contains(err.Error(), part) {
			found = append(found, fmt.Sprintf("the message lacks %q:\n%s", part, err))
		}
	}
	return found
}

func (c VariantCase) problems(chart *Chart) []string {
	rendered, release, err := c.render(chart)
	if err != nil {
		return []string{err.Error()}
	}
	found := broken(rendered, release)
	objects, err := rendered.objects()
	if err == nil {
		objects, err = objects.normalised()
	}
	if err != nil {
		return append(found, err.Error())
	}
	if len(c.Expect) == 0 {
		found = append(found, "expects nothing")
	}
	for _, each := range c.Expect {
		if problem := each.problem(objects, rendered.Notes); problem != "" {
			found = append(found, problem)
		}
	}
	return found
}

func (e Expect) problem(objects set, notes string) string {
	switch {
	case e.Notes != "":
		if !strings.Contains(notes, e.Notes) {
			return fmt.Sprintf("the notes lack %q:\n%s", e.Notes, notes)
		}
		return ""
	case e.Absent != "":
		kind := strings.TrimSuffix(e.Absent, "/*")
		isAny := kind != e.Absent
		if _, ok := objects[e.Absent]; ok || (isAny && len(objects.of(kind)) > 0) {
			return e.Absent + " is there"
		}
		return ""
	}
	found, ok := objects[e.Object]
	if !ok {
		return fmt.Sprintf("there is no %q among %s", e.Object, strings.Join(sortedKeys(objects), ", "))
	}
	if e.At == "" {
		return ""
	}
	value, ok := at(found, e.At)
	switch {
	case e.Lacks && ok:
		return fmt.Sprintf("%s has %s: %s", e.Object, e.At, brief(value))
	case e.Lacks:
		return ""
	case e.Has != nil && !has(value, e.Has):
		return fmt.Sprintf("%s: %s is %s and has no %s", e.Object, e.At, brief(value), brief(e.Has))
	case e.Is != nil && !reflect.DeepEqual(value, e.Is):
		return fmt.Sprintf("%s: %s is %s, not %s", e.Object, e.At, brief(value), brief(e.Is))
	case e.Has == nil && e.Is == nil:
		return fmt.Sprintf("%s: says nothing of %s", e.Object, e.At)
	}
	return ""
}

func has(value, part interface{}) bool {
	if text, ok := value.(string); ok {
		return strings.Contains(text, fmt.Sprint(part))
	}
	list, _ := value.([]interface{})
	for _, each := range list {
		if reflect.DeepEqual(each, part) {
			return true
		}
	}
	return false
}
