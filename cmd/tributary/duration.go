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
func (d *duration) String() string {
	switch span := time.Duration(*d); {
	case span == 0:
		return "0"
	case span%(24*time.Hour) == 0:
		return strconv.Itoa(int(span/(24*time.Hour))) + "d"
	default:
		return span.String()
	}
}

// Type implements pflag.Value. It is not pflag's "duration", whose zero is another.
func (d *duration) Type() string { return "time" }

// durationVar is pflag's DurationVar, with days.
func durationVar(flags *pflag.FlagSet, at *time.Duration, name string, value time.Duration, usage string) {
	*at = value
	example := "; such as 36h or 90d"
	if value > 0 && value < time.Hour {
		example = "; such as 10s or 2m"
	}
	flags.Var((*duration)(at), name, usage+example)
}

// days is a flag's whole number of days: "90" or, as other time spans are given, "90d".
type days int

// Set implements pflag.Value.
func (d *days) Set(text string) error {
	n, err := strconv.Atoi(strings.TrimSuffix(text, "d"))
	if err != nil {
		return fmt.Errorf("%q is no number of days, such as 90 or 90d", text)
	}
	*d = days(n)
	return nil
}

// String implements pflag.Value.
func (d *days) String() string { return strconv.Itoa(int(*d)) }

// Type implements pflag.Value. It is not pflag's "int", which takes no "90d".
func (d *days) Type() string { return "days" }

// daysVar is pflag's IntVar for days.
func daysVar(flags *pflag.FlagSet, at *int, name string, value int, usage string) {
	*at = value
	flags.Var((*days)(at), name, usage+"; 90 or 90d")
}
