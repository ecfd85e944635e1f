package main

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"strings"
	"text/template"

	"github.com/Masterminds/semver"
	"github.com/Masterminds/sprig"
	"sigs.k8s.io/yaml"
)

// Release is what a user says on the command line.
type Release struct {
	Name, Namespace string
	KubeVersion     string // of the server
	Upgrade         bool
	Cluster         []object // what lookup finds; helm template finds nothing
}

// Rendered is what the templates gave: manifests by path, without those that are blank, and the notes.
type Rendered struct {
	Manifests map[string]string
	Notes     string
	Holes     []string // templates that printed a value that is not there; Helm leaves nothing of it
}

type kubeVersion struct{ Version, GitVersion, Major, Minor string }

func (version kubeVersion) String() string { return version.Version }

type apiVersions []string

// Has is what templates call: .Capabilities.APIVersions.Has "policy/v1".
func (list apiVersions) Has(name string) bool {
	for _, each := range list {
		if each == name {
			return true
		}
	}
	return false
}

// files is .Files.
type files map[string][]byte

func (all files) Get(name string) string      { return string(all[name]) }
func (all files) GetBytes(name string) []byte { return all[name] }

func (all files) Lines(name string) []string {
	return strings.Split(strings.TrimSuffix(string(all[name]), "\n"), "\n")
}

// Glob takes patterns within one folder; Helm's know ** as well.
func (all files) Glob(pattern string) files {
	found := files{}
	for name, data := range all {
		if ok, _ := path.Match(pattern, name); ok {
			found[name] = data
		}
	}
	return found
}

func (all files) AsConfig() string {
	return all.asData(func(data []byte) string { return string(data) })
}

func (all files) AsSecrets() string { return all.asData(base64.StdEncoding.EncodeToString) }

func (all files) asData(text func([]byte) string) string {
	data := map[string]string{}
	for name, bytes := range all {
		data[path.Base(name)] = text(bytes)
	}
	return toYAML(data)
}

func toYAML(value interface{}) string {
	text, err := yaml.Marshal(value)
	if err != nil {
		return "" // as Helm does
	}
	return strings.TrimSuffix(string(text), "\n")
}

func toJSON(value interface{}) string {
	text, err := json.Marshal(value)
	if err != nil {
		return ""
	}
	return string(text)
}

// fromYAML gives a map; what was wrong is its field Error.
func fromYAML(text string) values {
	result := values{}
	if err := yaml.Unmarshal([]byte(text), &result); err != nil {
		result = values{"Error": err.Error()}
	}
	return result
}

func fromYAMLArray(text string) []interface{} {
	result := []interface{}{}
	if err := yaml.Unmarshal([]byte(text), &result); err != nil {
		result = []interface{}{err.Error()}
	}
	return result
}

func required(message string, value interface{}) (interface{}, error) {
	if value == nil || value == "" {
		return value, errors.New(message)
	}
	return value, nil
}

// lookup finds one object; lists are not there.
func lookup(cluster []object) func(version, kind, namespace, name string) values {
	return func(version, kind, namespace, name string) values {
		for _, each := range cluster {
			if each["apiVersion"] == version && each.kind() == kind && each.namespace() == namespace && each.name() == name {
				return values(each)
			}
		}
		return values{}
	}
}

const deepest = 1000 // templates that include each other

// functions are sprig's and Helm's own. Those that look at the machine are not there.
func functions(root *template.Template, cluster []object) template.FuncMap {
	all := sprig.TxtFuncMap()
	delete(all, "env")
	delete(all, "expandenv")
	depth := 0
	include := func(name string, data interface{}) (string, error) {
		if depth++; depth > deepest {
			return "", fmt.Errorf("include %q: templates include each other without an end", name)
		}
		defer func() { depth-- }()
		var text strings.Builder
		err := root.ExecuteTemplate(&text, name, data)
		return text.String(), err
	}
	evaluate := func(text string, data interface{}) (string, error) {
		own, err := root.Clone()
		if err != nil {
			return "", err
		}
		own, err = own.New("tpl").Parse(text)
		if err != nil {
			return "", err
		}
		var result strings.Builder
		err = own.Execute(&result, data)
		return strings.ReplaceAll(result.String(), "<no value>", ""), err
	}
	own := template.FuncMap{
		"include":       include,
		"tpl":           evaluate,
		"required":      required,
		"toYaml":        toYAML,
		"fromYaml":      fromYAML,
		"fromYamlArray": fromYAMLArray,
		"toJson":        toJSON,
		"fromJson":      fromYAML, // JSON is YAML
		"fromJsonArray": fromYAMLArray,
		"lookup":        lookup(cluster),
		"getHostByName": func(string) string { return "" },
	}
	for name, function := range own {
		all[name] = function
	}
	return all
}

func capabilities(version string) (values, error) {
	parsed, err := semver.NewVersion(version)
	if err != nil {
		return nil, fmt.Errorf("Kubernetes version %q: %w", version, err)
	}
	known := kubeVersion{
		Version: "v" + parsed.String(), GitVersion: "v" + parsed.String(),
		Major: fmt.Sprint(parsed.Major()), Minor: fmt.Sprint(parsed.Minor()),
	}
	return values{
		"KubeVersion": known,
		"APIVersions": apiVersions{"v1", "apps/v1", "policy/v1", "rbac.authorization.k8s.io/v1"},
		"HelmVersion": values{"Version": "v3.0.0", "GitCommit": "", "GoVersion": ""},
	}, nil
}

func checkKubeVersion(wanted, version string) error {
	if wanted == "" {
		return nil
	}
	range_, err := semver.NewConstraint(wanted)
	if err != nil {
		return fmt.Errorf("Chart.yaml: kubeVersion: %w", err)
	}
	if parsed, err := semver.NewVersion(version); err == nil && !range_.Check(parsed) {
		return fmt.Errorf("chart requires kubeVersion: %s which is incompatible with Kubernetes v%s", wanted, version)
	}
	return nil
}

// Render is `helm template`: merge, check the values, run every template.
func Render(chart *Chart, user values, release Release) (*Rendered, error) {
	merged := Merged(chart.Values, user)
	if err := CheckSchema(chart.Metadata.Name, chart.Schema, merged); err != nil {
		return nil, err
	}
	if err := checkKubeVersion(chart.Metadata.KubeVersion, release.KubeVersion); err != nil {
		return nil, err
	}
	known, err := capabilities(release.KubeVersion)
	if err != nil {
		return nil, err
	}
	scope := values{
		"Values":       merged,
		"Chart":        chart.Metadata,
		"Files":        files(chart.Files),
		"Capabilities": known,
		"Release": values{
			"Name": release.Name, "Namespace": release.Namespace, "Service": "Helm", "Revision": 1,
			"IsInstall": !release.Upgrade, "IsUpgrade": release.Upgrade,
		},
	}
	return run(chart, scope, release.Cluster)
}

func run(chart *Chart, scope values, cluster []object) (*Rendered, error) {
	root := template.New("chart").Option("missingkey=zero")
	root.Funcs(functions(root, cluster))
	full := func(name string) string { return chart.Metadata.Name + "/" + name }
	for _, name := range sortedKeys(chart.Templates) {
		if _, err := root.New(full(name)).Parse(chart.Templates[name]); err != nil {
			return nil, fmt.Errorf("parse error: %w", err)
		}
	}
	result := &Rendered{Manifests: map[string]string{}}
	for _, name := range sortedKeys(chart.Templates) {
		if strings.HasPrefix(path.Base(name), "_") {
			continue
		}
		own := values{"Template": values{"Name": full(name), "BasePath": full("templates")}}
		for key, value := range scope {
			own[key] = value
		}
		var text strings.Builder
		if err := root.ExecuteTemplate(&text, full(name), own); err != nil {
			return nil, fmt.Errorf("execution error: %w", err)
		}
		rendered := strings.ReplaceAll(text.String(), "<no value>", "")
		if rendered != text.String() {
			result.Holes = append(result.Holes, name+": prints a value that is not there")
		}
		if path.Base(name) == "NOTES.txt" {
			result.Notes = rendered
		} else if strings.TrimSpace(rendered) != "" {
			result.Manifests[name] = rendered
		}
	}
	return result, nil
}
