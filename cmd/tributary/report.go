package main

import (
	"encoding/json"
	"io"
	"strings"

	"github.com/spf13/cobra"
)

// reportFlag is --json of a command that scripts run: one object on standard output that says what came of it, in place of
// the sentences. Progress and errors are on standard error either way, and the exit status is the same.
type reportFlag struct{ asJSON bool }

// register adds the flag, and to the help the object that example is.
func (r *reportFlag) register(cmd *cobra.Command, example any) {
	r.registerPlain(cmd, "write what came of it as JSON, for programs")
	var shape strings.Builder
	encoder := json.NewEncoder(&shape)
	encoder.SetIndent("  ", "  ")
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(example); err != nil {
		panic(err) // our own structs
	}
	cmd.Long += "\n\nWith --json, such as:\n\n  " + strings.TrimSuffix(shape.String(), "\n")
}

// registerPlain adds the flag alone.
func (r *reportFlag) registerPlain(cmd *cobra.Command, usage string) {
	cmd.Flags().BoolVar(&r.asJSON, "json", false, usage)
}

// text is where sentences for people go.
func (r *reportFlag) text(cmd *cobra.Command) io.Writer {
	if r.asJSON {
		return io.Discard
	}
	return cmd.OutOrStdout()
}

// notes is where sentences for people go that say what text is.
func (r *reportFlag) notes(cmd *cobra.Command) io.Writer {
	if r.asJSON {
		return io.Discard
	}
	return cmd.ErrOrStderr()
}

// write writes the object, where it is asked for.
func (r *reportFlag) write(cmd *cobra.Command, value any) error {
	if !r.asJSON {
		return nil
	}
	return writeJSON(cmd.OutOrStdout(), value)
}
