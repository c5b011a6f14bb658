package main

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// flagProblem says what is wrong with a flag, and where its meaning is told.
func flagProblem(cmd *cobra.Command, err error) error {
	var unknown *pflag.NotExistError
	var empty *pflag.ValueRequiredError
	var invalid *pflag.InvalidValueError
	switch {
	case errors.As(err, &unknown):
		err = fmt.Errorf("there is no flag %s", dashed(unknown.GetSpecifiedName()))
		if near := nearFlag(cmd, unknown.GetSpecifiedName()); near != "" {
			err = fmt.Errorf("%w: did you mean --%s?", err, near)
		}
	case errors.As(err, &empty):
		err = fmt.Errorf("--%s needs a value", empty.GetFlag().Name)
	case errors.As(err, &invalid):
		err = valueProblem("--"+invalid.GetFlag().Name, invalid.GetFlag(), invalid.GetValue(), invalid.Unwrap())
	}
	return misuse(fmt.Errorf("%w; see %s --help", err, cmd.CommandPath()))
}

// dashed is a flag as it was written: -x or --name.
func dashed(name string) string {
	if len(name) == 1 {
		return "-" + name
	}
	return "--" + name
}

// nearFlag is the flag whose name begins as an unknown one does, or that begins with it; ""
// where there is none.
func nearFlag(cmd *cobra.Command, name string) (near string) {
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		if near == "" && len(name) > 2 &&
			(strings.HasPrefix(f.Name, name) || strings.HasPrefix(name, f.Name) || strings.HasSuffix(f.Name, "-"+name)) {
			near = f.Name
		}
	})
	return near
}

// valueProblem says why a flag does not take a value. name is how it was given: the flag, or
// its variable.
func valueProblem(name string, f *pflag.Flag, value string, cause error) error {
	switch f.Value.Type() {
	case "int", "int64":
		return fmt.Errorf("%s %q is no whole number", name, value)
	case "float64":
		return fmt.Errorf("%s %q is no number", name, value)
	case "bool":
		return fmt.Errorf("%s %q is neither true nor false", name, value)
	}
	return fmt.Errorf("%s: %w", name, cause)
}
