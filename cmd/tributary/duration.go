package main

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/pflag"
)

// duration is a flag's time span: as Go writes it ("36h"), or in whole days ("90d").
type duration time.Duration

// Set implements pflag.Value.
func (d *duration) Set(text string) error {
	if days, found := strings.CutSuffix(text, "d"); found {
		n, err := strconv.Atoi(days)
		if err != nil || n > 36500 || n < -36500 {
			return fmt.Errorf("%q is no number of days, such as 90d", text)
		}
		*d = duration(time.Duration(n) * 24 * time.Hour)
		return nil
	}
	parsed, err := time.ParseDuration(text)
	if err != nil {
		return fmt.Errorf("%q is no time span, such as 36h or 90d", text)
	}
	*d = duration(parsed)
	return nil
}

// String implements pflag.Value.
func (d *duration) String() string { return time.Duration(*d).String() }

// Type implements pflag.Value.
func (d *duration) Type() string { return "duration" }

// durationVar is pflag's DurationVar, with days.
func durationVar(flags *pflag.FlagSet, at *time.Duration, name string, value time.Duration, usage string) {
	*at = value
	flags.Var((*duration)(at), name, usage+"; such as 36h or 90d")
}
