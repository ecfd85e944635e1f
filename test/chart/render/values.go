package main

import (
	"errors"
	"fmt"
	"strings"

	"github.com/xeipuuv/gojsonschema"
)

type values = map[string]interface{}

// Merged is the chart's values with the user's over them, as Helm coalesces them: maps field by field, everything else
// as a whole, and null takes a field of the chart away.
func Merged(chart, user values) values {
	result := values{}
	for key, value := range chart {
		result[key] = copied(value)
	}
	for key, value := range user {
		old, isKnown := result[key]
		below, isMap := value.(values)
		oldBelow, wasMap := old.(values)
		switch {
		case value == nil && isKnown:
			delete(result, key)
		case isMap && wasMap:
			result[key] = Merged(oldBelow, below)
		default:
			result[key] = copied(value)
		}
	}
	return result
}

func copied(value interface{}) interface{} {
	switch value := value.(type) {
	case values:
		return Merged(value, nil)
	case []interface{}:
		list := make([]interface{}, len(value))
		for i, each := range value {
			list[i] = copied(each)
		}
		return list
	default:
		return value
	}
}

// CheckSchema says what is wrong, a line for each field.
func CheckSchema(chart string, schema []byte, merged values) error {
	if schema == nil {
		return nil
	}
	result, err := gojsonschema.Validate(gojsonschema.NewBytesLoader(schema), gojsonschema.NewGoLoader(merged))
	if err != nil {
		return fmt.Errorf("values.schema.json: %w", err)
	}
	if result.Valid() {
		return nil
	}
	lines := []string{"values don't meet the specifications of the schema(s) in the following chart(s):", chart + ":"}
	for _, each := range result.Errors() {
		lines = append(lines, "- "+each.String())
	}
	return errors.New(strings.Join(lines, "\n"))
}
