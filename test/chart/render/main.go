// Renders Helm charts the way Helm 3 does, as far as ours needs it, and holds the result against kustomize's.
//
//	render template CHART [-f VALUES]… [--name NAME] [--namespace NAMESPACE] [--kube-version VERSION]
//	render check CHART CASES PAGE
//	render same CHART CASES
//	render equal CHART CHART
package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"reflect"
	"strings"

	"sigs.k8s.io/yaml"
)

func main() {
	if err := command(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "render: "+err.Error())
		os.Exit(1)
	}
}

func command(args []string) error {
	switch {
	case len(args) >= 2 && args[0] == "template":
		return printTemplates(args[1], args[2:])
	case len(args) == 4 && args[0] == "check":
		return check(args[1], args[2], args[3])
	case len(args) == 3 && args[0] == "same":
		return checkSame(args[1], args[2])
	case len(args) == 3 && args[0] == "equal":
		return checkEqual(args[1], args[2])
	}
	return errors.New("usage: render template CHART [flags] | check CHART CASES PAGE | same CHART CASES | equal CHART CHART")
}

type valueFiles []string

func (all *valueFiles) String() string        { return strings.Join(*all, ",") }
func (all *valueFiles) Set(name string) error { *all = append(*all, name); return nil }

func printTemplates(place string, args []string) error {
	release := Release{}
	var given valueFiles
	flags := flag.NewFlagSet("template", flag.ContinueOnError)
	flags.Var(&given, "f", "values")
	flags.StringVar(&release.Name, "name", "evacuator", "of the release")
	flags.StringVar(&release.Namespace, "namespace", "evacuator-system", "of the release")
	flags.StringVar(&release.KubeVersion, "kube-version", "1.31.0", "of the server")
	notes := flags.Bool("notes", false, "print NOTES.txt instead")
	if err := flags.Parse(args); err != nil {
		return err
	}
	chart, err := LoadChart(place)
	if err != nil {
		return err
	}
	user := values{}
	for _, name := range given {
		text, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		some := values{}
		if err := yaml.UnmarshalStrict(text, &some); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		user = Merged(user, some)
	}
	rendered, err := Render(chart, user, release)
	if err != nil {
		return err
	}
	if *notes {
		fmt.Print(rendered.Notes)
		return nil
	}
	for _, name := range sortedKeys(rendered.Manifests) {
		fmt.Printf("---\n# Source: %s/%s\n%s\n", chart.Metadata.Name, name, strings.Trim(rendered.Manifests[name], "\n"))
	}
	return nil
}

// check runs all cases and says of each what is wrong with it.
func check(place, folder, page string) error {
	chart, err := LoadChart(place)
	if err != nil {
		return err
	}
	cases, err := readCases(folder)
	if err != nil {
		return err
	}
	failed := 0
	report := func(kind, name string, problems []string) {
		for _, each := range problems {
			fmt.Printf("%s: %s: %s\n", kind, name, each)
		}
		if len(problems) > 0 {
			failed++
		}
	}
	for _, each := range cases.Same {
		problems, success := each.problems(chart)
		report("same", each.Name, problems)
		if len(problems) == 0 {
			fmt.Printf("same: %s: %s\n", each.Name, success)
		}
	}
	for _, each := range cases.Bad {
		report("bad", each.Name, each.problems(chart))
	}
	for _, each := range cases.Variants {
		report("variant", each.Name, each.problems(chart))
	}
	nulls, taken := checkNulls(chart)
	report("null", "values.yaml", nulls)
	problems, fields := checkFields(chart, page)
	report("schema", page, problems)
	fmt.Printf("%d same, %d bad, %d variants, %d values taken away, %d documented fields\n", len(cases.Same), len(cases.Bad), len(cases.Variants), taken, fields)
	if len(cases.Same) == 0 || len(cases.Bad) == 0 || len(cases.Variants) == 0 || taken == 0 || fields == 0 {
		return errors.New("a kind of cases is empty")
	}
	if failed > 0 {
		return fmt.Errorf("%d cases failed", failed)
	}
	return nil
}

// checkSame runs only the comparisons with kustomize.
func checkSame(place, folder string) error {
	chart, err := LoadChart(place)
	if err != nil {
		return err
	}
	cases, err := readCases(folder)
	if err != nil {
		return err
	}
	var all []string
	for _, each := range cases.Same {
		problems, _ := each.problems(chart)
		all = append(all, problems...)
	}
	if len(all) > 0 {
		return errors.New(strings.Join(all, "\n"))
	}
	return nil
}

// checkEqual: a packed chart holds what the folder holds.
func checkEqual(one, other string) error {
	first, err := LoadChart(one)
	if err != nil {
		return err
	}
	second, err := LoadChart(other)
	if err != nil {
		return err
	}
	if reflect.DeepEqual(first, second) && len(first.Templates) > 0 {
		return nil
	}
	for _, name := range sortedKeys(first.Files) {
		if _, ok := second.Files[name]; !ok {
			fmt.Printf("%s lacks %s\n", other, name)
		}
	}
	return fmt.Errorf("%s and %s differ", one, other)
}
