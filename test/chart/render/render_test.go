package main

import (
	"strings"
	"testing"
)

// What Helm 3 does with a template; each case is a whole chart of one.
var renderCases = []struct {
	name, template, want, fails string
	defaults, user              values
	cluster                     []object
}{
	{name: "PrintsAValue", template: `a: {{ .Values.a }}`, defaults: values{"a": "x"}, want: "a: x"},
	{name: "PutsTheUsersOverTheDefaults", template: `{{ .Values.a.b }}{{ .Values.a.c }}`,
		defaults: values{"a": values{"b": "1", "c": "2"}}, user: values{"a": values{"c": "3"}}, want: "13"},
	{name: "ReplacesListsAsAWhole", template: `{{ .Values.a }}`, defaults: values{"a": []interface{}{"1", "2"}},
		user: values{"a": []interface{}{"3"}}, want: "[3]"},
	{name: "TakesAwayWhatIsNull", template: `{{ hasKey .Values "a" }}`, defaults: values{"a": "1"},
		user: values{"a": nil}, want: "false"},
	{name: "TakesAwayBelow", template: `{{ .Values.a | toJson }}`, defaults: values{"a": values{"b": "1", "c": "2"}},
		user: values{"a": values{"b": nil}}, want: `{"c":"2"}`},
	{name: "PrintsNothingForWhatIsMissing", template: `a{{ .Values.a }}b`, want: "ab"},
	{name: "KnowsTheRelease", template: `{{ .Release.Name }} {{ .Release.Namespace }} {{ .Release.Service }}`, want: "one here Helm"},
	{name: "KnowsTheChart", template: `{{ .Chart.Name }}-{{ .Chart.Version }}`, want: "c-1.2.3"},
	{name: "KnowsTheServer", template: `{{ semverCompare ">=1.25-0" .Capabilities.KubeVersion.Version }}{{ .Capabilities.APIVersions.Has "x/v1" }}`, want: "truefalse"},
	{name: "KnowsItsName", template: `{{ .Template.Name }}`, want: "c/templates/it.yaml"},
	{name: "IncludesHelpers", template: `{{ include "help" (list 1 2) | nindent 2 }}`, want: "\n  2 of them"},
	{name: "EvaluatesText", template: `{{ tpl .Values.a . }}`, defaults: values{"a": "{{ .Release.Name }}{{ include \"help\" (list) }}"}, want: "one0 of them"},
	{name: "ReadsFiles", template: `{{ .Files.Get "f/a.txt" }}{{ .Files.Get "none" }}`, want: "hello"},
	{name: "FindsFiles", template: `{{ range $name, $_ := .Files.Glob "f/*.txt" }}{{ base $name }}{{ end }}`, want: "a.txt"},
	{name: "WritesYAML", template: `{{ dict "b" 1 "a" (list "x") | toYaml }}`, want: "a:\n- x\nb: 1"},
	{name: "ReadsYAML", template: `{{ (fromYaml "a: {b: 2}").a.b }}`, want: "2"},
	{name: "SaysWhatIsNoYAML", template: `{{ contains "yaml" (fromYaml "a: [").Error }}`, want: "true"},
	{name: "FindsNothingInTheCluster", template: `{{ empty (lookup "v1" "Secret" "a" "b") }}`, want: "true"},
	{name: "FindsWhatIsInTheCluster", template: `{{ (lookup "v1" "Secret" "a" "b").data.c }}{{ empty (lookup "v1" "Secret" "a" "d") }}`,
		cluster: []object{{"apiVersion": "v1", "kind": "Secret", "metadata": values{"namespace": "a", "name": "b"}, "data": values{"c": "x"}}}, want: "xtrue"},
	{name: "FailsOnRequest", template: `{{ fail "not so" }}`, fails: "not so"},
	{name: "FailsWithoutWhatIsRequired", template: `{{ required "a: say something" .Values.a }}`, fails: "a: say something"},
	{name: "FailsOnUnknownHelpers", template: `{{ include "none" . }}`, fails: "none"},
	{name: "FailsOnEndlessHelpers", template: `{{ include "loop" . }}`, fails: "without an end"},
	{name: "DoesNotShowTheEnvironment", template: `{{ env "HOME" }}`, fails: `"env" not defined`},
	{name: "ChecksTheSchema", template: `x`, user: values{"n": "1"}, fails: "n: Invalid type"},
	{name: "ChecksWhatIsMerged", template: `x`, defaults: values{"n": 1.0}, user: values{"n": nil}, want: "x"},
}

func TestRender(t *testing.T) {
	for _, each := range renderCases {
		t.Run(each.name, func(t *testing.T) {
			chart := &Chart{
				Metadata: Metadata{Name: "c", Version: "1.2.3", KubeVersion: ">=1.20.0-0"},
				Values:   each.defaults,
				Schema:   []byte(`{"properties": {"n": {"type": "integer"}}}`),
				Templates: map[string]string{
					"templates/it.yaml":   each.template,
					"templates/_help.tpl": `{{ define "help" }}{{ len . }} of them{{ end }}{{ define "loop" }}{{ include "loop" . }}{{ end }}`,
				},
				Files: map[string][]byte{"f/a.txt": []byte("hello"), "f/b.yaml": nil},
			}
			got, err := Render(chart, each.user, Release{Name: "one", Namespace: "here", KubeVersion: "1.31.0", Cluster: each.cluster})
			if each.fails != "" {
				if err == nil || !strings.Contains(err.Error(), each.fails) {
					t.Fatalf("error %v lacks %q", err, each.fails)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if text := got.Manifests["templates/it.yaml"]; text != each.want {
				t.Fatalf("got %q, want %q", text, each.want)
			}
		})
	}
}

func TestComparisonNotices(t *testing.T) {
	one := func() values { return values{"a": values{"b": "1"}, "c": []interface{}{"2", values{"d": "3"}}} }
	if found := differences("", one(), one()); len(found) > 0 {
		t.Fatal(found)
	}
	for name, change := range map[string]func(values){
		"a value":            func(v values) { v["a"].(values)["b"] = "9" },
		"a field too many":   func(v values) { v["e"] = "1" },
		"a field too few":    func(v values) { delete(v, "a") },
		"an item too many":   func(v values) { v["c"] = append(v["c"].([]interface{}), "9") },
		"an item":            func(v values) { v["c"].([]interface{})[1].(values)["d"] = "9" },
		"a text, not a map":  func(v values) { v["a"] = "1" },
		"a number, not text": func(v values) { v["a"].(values)["b"] = 1.0 },
	} {
		other := one()
		change(other)
		if len(differences("", one(), other)) == 0 || len(differences("", other, one())) == 0 {
			t.Errorf("%s is not noticed", name)
		}
	}
}

func TestObjectsAreReadStrictly(t *testing.T) {
	for name, text := range map[string]string{
		"a field twice": "{apiVersion: v1, kind: A, metadata: {name: a, name: b}}",
		"no name":       "{apiVersion: v1, kind: A, metadata: {}}",
		"no kind":       "{apiVersion: v1, metadata: {name: a}}",
		"no YAML":       "a: [",
	} {
		if _, err := Objects(text); err == nil {
			t.Errorf("%s is taken", name)
		}
	}
	found, err := Objects("# only a comment\n---\n{apiVersion: v1, kind: A, metadata: {name: a}}\n---\n")
	if err != nil || len(found) != 1 {
		t.Fatal(found, err)
	}
	if err := (set{}).add(append(found, found...)); err == nil {
		t.Error("one object twice is taken")
	}
}
