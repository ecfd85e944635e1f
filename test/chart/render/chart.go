package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"sort"
	"strings"

	"sigs.k8s.io/yaml"
)

// Metadata is Chart.yaml, as templates see it: .Chart.AppVersion.
type Metadata struct {
	APIVersion  string            `json:"apiVersion"`
	Name        string            `json:"name"`
	Description string            `json:"description,omitempty"`
	Type        string            `json:"type,omitempty"`
	Version     string            `json:"version"`
	AppVersion  string            `json:"appVersion,omitempty"`
	KubeVersion string            `json:"kubeVersion,omitempty"`
	Keywords    []string          `json:"keywords,omitempty"`
	Annotations map[string]string `json:"annotations,omitempty"`
}

// Chart is what a folder or an archive holds. Charts within charts are not read: ours has none.
type Chart struct {
	Metadata  Metadata
	Values    map[string]interface{}
	Schema    []byte            // nil: none
	Templates map[string]string // by path below the chart
	Files     map[string][]byte // everything else, as .Files shows it
}

// LoadChart reads a folder, following symbolic links as Helm does, or a .tgz.
func LoadChart(place string) (*Chart, error) {
	info, err := os.Stat(place)
	if err != nil {
		return nil, err
	}
	files := map[string][]byte{}
	if info.IsDir() {
		err = readFolder(place, "", files)
	} else {
		err = readArchive(place, files)
	}
	if err != nil {
		return nil, err
	}
	return chartOf(withoutIgnored(files))
}

func readFolder(root, below string, files map[string][]byte) error {
	entries, err := os.ReadDir(filepath.Join(root, below))
	if err != nil {
		return err
	}
	for _, entry := range entries {
		name := path.Join(below, entry.Name())
		info, err := os.Stat(filepath.Join(root, name)) // a dangling link is an error
		if err != nil {
			return err
		}
		if info.IsDir() {
			err = readFolder(root, name, files)
		} else {
			files[name], err = os.ReadFile(filepath.Join(root, name))
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func readArchive(place string, files map[string][]byte) error {
	packed, err := os.Open(place)
	if err != nil {
		return err
	}
	defer packed.Close()
	unzipped, err := gzip.NewReader(packed)
	if err != nil {
		return err
	}
	for archive := tar.NewReader(unzipped); ; {
		header, err := archive.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if header.Typeflag == tar.TypeDir {
			continue
		}
		if header.Typeflag != tar.TypeReg {
			return fmt.Errorf("%s: %s is no regular file", place, header.Name)
		}
		_, name, ok := strings.Cut(header.Name, "/") // below the folder of the chart's name
		if !ok {
			return fmt.Errorf("%s: %s is not below a folder", place, header.Name)
		}
		if files[name], err = io.ReadAll(archive); err != nil {
			return err
		}
	}
}

// Of .helmignore only what ours uses: patterns without "/" and "!", for names at any depth.
func withoutIgnored(files map[string][]byte) map[string][]byte {
	var patterns []string
	for _, line := range strings.Split(string(files[".helmignore"]), "\n") {
		if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "#") {
			patterns = append(patterns, line)
		}
	}
	kept := map[string][]byte{}
	for name, data := range files {
		if !anyMatches(patterns, path.Base(name)) {
			kept[name] = data
		}
	}
	return kept
}

func anyMatches(patterns []string, name string) bool {
	for _, pattern := range patterns {
		if ok, _ := path.Match(pattern, name); ok {
			return true
		}
	}
	return false
}

func chartOf(files map[string][]byte) (*Chart, error) {
	chart := &Chart{Values: map[string]interface{}{}, Templates: map[string]string{}, Files: map[string][]byte{}}
	for _, name := range sortedKeys(files) {
		var err error
		data := bytes.ReplaceAll(files[name], []byte("\r\n"), []byte("\n"))
		switch {
		case name == "Chart.yaml":
			err = yaml.UnmarshalStrict(data, &chart.Metadata)
		case name == "values.yaml":
			err = yaml.UnmarshalStrict(data, &chart.Values)
		case name == "values.schema.json":
			chart.Schema = data
		case strings.HasPrefix(name, "templates/"):
			chart.Templates[name] = string(data)
		case strings.HasPrefix(name, "crds/"), strings.HasPrefix(name, "charts/"):
			err = errors.New("this folder of charts is not supported here")
		default:
			chart.Files[name] = data
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
	}
	if chart.Metadata.APIVersion != "v2" || chart.Metadata.Name == "" || chart.Metadata.Version == "" {
		return nil, errors.New("Chart.yaml: apiVersion v2, name and version are required")
	}
	return chart, nil
}

func sortedKeys[V any](of map[string]V) []string {
	keys := make([]string, 0, len(of))
	for key := range of {
		keys = append(keys, key)
	}
	sort.Strings(keys)
	return keys
}
