package main

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/tributary-io/tributary/internal/commerce"
)

// originFlags change a company's origins beside those that are there.
type originFlags struct {
	add, remove []string
}

func (f *originFlags) register(cmd *cobra.Command) {
	cmd.Flags().StringSliceVar(&f.add, "add-origin", nil,
		"origin whose pages may send events too; the others stay; repeat or separate by commas")
	cmd.Flags().StringSliceVar(&f.remove, "remove-origin", nil,
		"origin whose pages may send events no more; the others stay; repeat or separate by commas")
	excludes(cmd.Flags(), "origin", "add-origin", "remove-origin")
}

// apply changes the settings' origins; another list takes the place of theirs. An origin that is given both to add and to
// remove is removed.
func (f *originFlags) apply(s *commerce.Settings) {
	if len(f.add)+len(f.remove) == 0 {
		return
	}
	all := slices.Clone(s.Origins)
	for _, origin := range f.add {
		if !slices.Contains(all, origin) {
			all = append(all, origin)
		}
	}
	s.Origins = slices.DeleteFunc(all, func(origin string) bool { return slices.Contains(f.remove, origin) })
}

// printUnlisted says which origins were given to remove that were not listed before.
func (f *originFlags) printUnlisted(out io.Writer, before []string) {
	unlisted := slices.DeleteFunc(slices.Clone(f.remove), func(origin string) bool {
		return slices.Contains(before, origin) || slices.Contains(f.add, origin)
	})
	if len(unlisted) > 0 {
		fmt.Fprintf(out, "was not listed, so it was not removed: %s\n", strings.Join(unlisted, ","))
	}
}

// printRemoved says which origins were listed and are no more, and how to take them back.
func printRemoved(out io.Writer, before, after []string) {
	removed := slices.DeleteFunc(slices.Clone(before), func(origin string) bool { return slices.Contains(after, origin) })
	if len(removed) > 0 {
		fmt.Fprintf(out, "removed, their pages may send no more: %s; --add-origin takes one back\n", strings.Join(removed, ","))
	}
}
