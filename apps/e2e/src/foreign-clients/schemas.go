package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"regexp"

	google "github.com/google/jsonschema-go/jsonschema"
	santhosh "github.com/santhosh-tekuri/jsonschema/v6"
)

// A schema of a tool or of the components of a document, and texts that its users would match.
type named struct {
	Name   string          `json:"name"`
	Schema json.RawMessage `json:"schema"`
}

// compileAll reads a list of named schemas, and compiles each with two validators and every pattern with RE2.
func compileAll(file string) error {
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	var all []named
	if err := json.Unmarshal(text, &all); err != nil {
		return err
	}
	var faults []error
	for _, one := range all {
		if err := compile(one); err != nil {
			faults = append(faults, fmt.Errorf("%s: %w", one.Name, err))
		}
	}
	if len(faults) == 0 {
		fmt.Printf("compiled %d\n", len(all))
	}
	return errors.Join(faults...)
}

func compile(one named) error {
	var schema google.Schema
	if err := json.Unmarshal(one.Schema, &schema); err != nil {
		return err
	}
	if _, err := schema.Resolve(&google.ResolveOptions{ValidateDefaults: true}); err != nil {
		return fmt.Errorf("google/jsonschema-go: %w", err)
	}
	var value any
	if err := json.Unmarshal(one.Schema, &value); err != nil {
		return err
	}
	if err := compilePatterns(value); err != nil {
		return err
	}
	compiler := santhosh.NewCompiler()
	compiler.AssertFormat()
	if err := compiler.AddResource(one.Name+".json", value); err != nil {
		return err
	}
	if _, err := compiler.Compile(one.Name + ".json"); err != nil {
		return fmt.Errorf("santhosh-tekuri/jsonschema: %w", err)
	}
	return nil
}

func compilePatterns(value any) error {
	switch value := value.(type) {
	case map[string]any:
		if pattern, ok := value["pattern"].(string); ok {
			if _, err := regexp.Compile(pattern); err != nil {
				return err
			}
		}
		for _, inner := range value {
			if err := compilePatterns(inner); err != nil {
				return err
			}
		}
	case []any:
		for _, inner := range value {
			if err := compilePatterns(inner); err != nil {
				return err
			}
		}
	}
	return nil
}
