package main

import (
	"compress/gzip"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// newManual writes what a package has of the command line. It is for .ci/release, and no help names it. The pages are made
// here: those of cobra's own generator run the lines of a table together.
func newManual() *cobra.Command {
	return &cobra.Command{
		Use: "manual DIR", Short: "Write the manual pages and the shells' completions", Hidden: true, Args: oneArgument,
		Long: `Write a manual page of each command, DIR/man1/tributary-….1.gz, and DIR/tributary.bash,
DIR/_tributary (zsh) and DIR/tributary.fish, which complete commands and flags. The same
program writes the same bytes.`,
		Example: `  tributary manual build/`,
		RunE: func(cmd *cobra.Command, args []string) error {
			pages := filepath.Join(args[0], "man1")
			if err := os.MkdirAll(pages, 0o755); err != nil { //nolint:gosec // for everybody to read
				return err
			}
			root := cmd.Root()
			errs := []error{root.GenBashCompletionFileV2(filepath.Join(args[0], "tributary.bash"), true),
				root.GenZshCompletionFile(filepath.Join(args[0], "_tributary")),
				root.GenFishCompletionFile(filepath.Join(args[0], "tributary.fish"), true)}
			return errors.Join(append(errs, writeManual(root, pages))...)
		},
	}
}

// writeManual writes the pages of a command and of those below it.
func writeManual(cmd *cobra.Command, dir string) error {
	file, err := os.Create(filepath.Join(dir, pageName(cmd)+".1.gz"))
	if err != nil {
		return err
	}
	zipped, err := gzip.NewWriterLevel(file, gzip.BestCompression) // without a time
	if err == nil {
		_, err = zipped.Write([]byte(manualPage(cmd)))
		err = errors.Join(err, zipped.Close())
	}
	if err = errors.Join(err, file.Close()); err != nil {
		return err
	}
	for _, sub := range documented(cmd) {
		if err := writeManual(sub, dir); err != nil {
			return err
		}
	}
	return nil
}

// documented are the commands below one that have a page.
func documented(cmd *cobra.Command) (list []*cobra.Command) {
	for _, sub := range cmd.Commands() {
		if sub.IsAvailableCommand() && sub.Name() != "completion" {
			list = append(list, sub)
		}
	}
	return list
}

// pageName is such as tributary-company-create.
func pageName(cmd *cobra.Command) string { return strings.ReplaceAll(cmd.CommandPath(), " ", "-") }

// manualPage is a command's help in the language of man(7).
func manualPage(cmd *cobra.Command) string {
	var page strings.Builder
	date, _, _ := strings.Cut(releaseDate, "T")
	fmt.Fprintf(&page, ".TH %s 1 \"%s\" \"%s\" \"Tributary\"\n", strings.ToUpper(roff(pageName(cmd))), date,
		roff(strings.TrimSpace("tributary "+releaseVersion)))
	fmt.Fprintf(&page, ".SH NAME\n%s \\- %s\n.SH SYNOPSIS\n.B %s\n", roff(pageName(cmd)), roff(cmd.Short), roff(cmd.UseLine()))
	page.WriteString(".SH DESCRIPTION\n")
	for i, paragraph := range strings.Split(nonEmpty(cmd.Long, cmd.Short+"."), "\n\n") {
		if i > 0 {
			page.WriteString(".PP\n")
		}
		page.WriteString(paragraphOf(paragraph))
	}
	if below := documented(cmd); len(below) > 0 {
		page.WriteString(".SH COMMANDS\n")
		for _, sub := range below {
			fmt.Fprintf(&page, ".TP\n.B %s\n%s: %s(1)\n", roff(sub.Name()), roff(sub.Short), roff(pageName(sub)))
		}
	}
	options := false
	cmd.NonInheritedFlags().VisitAll(func(f *pflag.Flag) {
		if !options {
			page.WriteString(".SH OPTIONS\n")
			options = true
		}
		kind, usage := pflag.UnquoteUsage(f)
		fmt.Fprintf(&page, ".TP\n.B %s\n%s\n", roff(strings.TrimSpace("--"+f.Name+" "+kind)), roff(usage))
	})
	if cmd.Example != "" {
		page.WriteString(".SH EXAMPLES\n" + asTyped(cmd.Example))
	}
	if cmd.HasParent() {
		fmt.Fprintf(&page, ".SH SEE ALSO\n%s(1)\n", roff(pageName(cmd.Parent())))
	}
	return page.String()
}

func nonEmpty(text, otherwise string) string {
	if text == "" {
		return otherwise
	}
	return text
}

// paragraphOf is a paragraph; one with indented lines is a table or JSON, and keeps its lines.
func paragraphOf(text string) string {
	if strings.HasPrefix(text, "  ") || strings.Contains(text, "\n  ") {
		return asTyped(text)
	}
	return roff(text) + "\n"
}

// asTyped keeps lines and columns.
func asTyped(text string) string { return ".nf\n" + roff(text) + "\n.fi\n" }

// roff writes a text so that groff prints it as it is.
func roff(text string) string {
	text = strings.NewReplacer(`\`, `\e`, "-", `\-`, "\"", `\(dq`).Replace(text)
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		if strings.HasPrefix(line, ".") || strings.HasPrefix(line, "'") {
			lines[i] = `\&` + line
		}
	}
	return strings.Join(lines, "\n")
}
