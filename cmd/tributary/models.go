package main

import (
	"context"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	"github.com/tributary-io/tributary/cmd/tributary/pathfile"
)

func newModels() *cobra.Command {
	var report reportFlag
	cmd := &cobra.Command{
		Use:   "models PATHS.csv",
		Short: "Compute all attribution models from a file of paths",
		Long: `Compute all eight attribution models from a file of paths, as users of
attribution libraries have it. It needs no store and no service.

PATHS.csv, or "-" for standard input, is CSV with a first line that names the
columns:

  path                    channels with > between them: email > (direct) > ads
  total_conversions       how many of the journeys with this path bought
  total_conversion_value  what they bought for, together
  total_null              how many journeys with this path did not buy

path is needed, and total_conversions or total_conversion_value. Another column
that is missing is 0, and so is an empty number. Other columns are ignored, but a
name that is nearly one of these is an error. Columns may be separated by commas, semicolons or tabs; with semicolons or
tabs a number may have a decimal comma: 1.234,56.

The result is CSV with the columns channel, model, conversions and value, and ten
decimals: the channels in the order in which the file names them first, each with
the models first, last, last_non_direct, linear, position, time_decay, markov and
shapley. docs/models.md has their rules. The channels "direct" and "(direct)" count
as all others do, but not for last_non_direct. For time_decay the touches of a path
are a day apart.`,
		Example: `  tributary models paths.csv > credits.csv
  gunzip -c paths.csv.gz | tributary models -`,
		Args: oneArgument,
		RunE: func(cmd *cobra.Command, args []string) error {
			paths, err := readPaths(cmd.Context(), args[0], cmd.InOrStdin())
			if err != nil {
				return err
			}
			write := pathfile.WriteCSV
			if report.asJSON {
				write = pathfile.WriteJSON
			}
			return write(cmd.OutOrStdout(), paths.Credits())
		},
	}
	report.registerPlain(cmd, "write a list of JSON objects instead of CSV")
	return cmd
}

// readPaths reads a file of paths, or standard input where its name is "-".
func readPaths(ctx context.Context, name string, stdin io.Reader) (*pathfile.Paths, error) {
	in, shown := stdin, "standard input"
	if name != "-" {
		file, err := os.Open(name)
		if err != nil {
			return nil, err
		}
		defer file.Close()
		in, shown = file, name
	}
	paths, err := pathfile.Read(untilDone{ctx, in})
	if err != nil {
		return nil, fmt.Errorf("%s: %w", shown, err)
	}
	return paths, nil
}

// untilDone reads until a context ends.
type untilDone struct {
	ctx context.Context
	in  io.Reader
}

func (u untilDone) Read(p []byte) (int, error) {
	if err := u.ctx.Err(); err != nil {
		return 0, err
	}
	return u.in.Read(p)
}
