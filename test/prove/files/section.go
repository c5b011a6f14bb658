// Package files is the part of `make prove` in which LibreOffice, in Brazilian Portuguese, opens the files of the Portuguese
// dashboard: the dashboard's own tests with the build tag libreoffice.
//
// What may enter: how LibreOffice is found, and the lines of those tests.
package files

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"time"

	"github.com/tributary-io/tributary/test/prove"
)

// Soffice is the variable that names LibreOffice's program to the tests.
const Soffice = "TRIBUTARY_SOFFICE"

const text = "" +
	"LibreOffice with the locale pt-BR opens each file that the Portuguese dashboard offers. Numbers are numbers, days are days, accents\n" +
	"are right, and its own sums of the columns are those of the file in English to the cent; of the sales also the report's total. It\n" +
	"saves the file of influencers as `.xlsx`, which another store imports: both have the same influencers."

// Section is the part of `make prove` with LibreOffice.
func Section() prove.Section {
	section := prove.Section{Name: "files", Title: "Files in LibreOffice", Text: text,
		Columns: []string{"passed", "failed", "skipped", "LibreOffice"}}
	for _, c := range []struct{ name, title, test string }{
		{"open", "every file of the Portuguese dashboard is opened and summed", "TestLibreOfficeOpensEveryPortugueseFile"},
		{"influencers", "the file of influencers comes back as .xlsx", "TestInfluencersComeBackFromLibreOffice"},
	} {
		run := func(ctx context.Context, e prove.Env) (prove.Result, error) {
			program, version, err := libreOffice(ctx, e.Say)
			if err != nil {
				return prove.Result{}, err
			}
			counts, problems, err := prove.Tests(ctx, 10*time.Minute, Soffice+"="+program, "-tags=libreoffice", "-run=^"+c.test+"$",
				"./admin/dashboard")
			return prove.Result{Cells: []string{fmt.Sprint(counts["pass"]), fmt.Sprint(counts["fail"]), fmt.Sprint(counts["skip"]), version},
				Problems: problems}, err
		}
		section.Cases = append(section.Cases, prove.Case{Name: c.name, Title: c.title, Run: run})
	}
	return section
}

// libreOffice finds LibreOffice, or installs it where root on Debian may do so.
func libreOffice(ctx context.Context, say func(string, ...any)) (program, version string, err error) {
	if program, err = exec.LookPath("soffice"); err != nil {
		const advice = "LibreOffice is not here (Debian: apt-get install libreoffice-calc-nogui)"
		apt, missing := exec.LookPath("apt-get")
		if missing != nil || os.Getuid() != 0 {
			return "", "", fmt.Errorf(advice+": %w", err)
		}
		say("  installing LibreOffice …")
		//nolint:gosec // apt-get, wherever it is
		install := exec.CommandContext(ctx, apt, "install", "-y", "-qq", "--no-install-recommends", "libreoffice-calc-nogui")
		install.Env = append(os.Environ(), "DEBIAN_FRONTEND=noninteractive")
		if output, err := install.CombinedOutput(); err != nil {
			return "", "", fmt.Errorf(advice+": %w: %s", err, output)
		}
		if program, err = exec.LookPath("soffice"); err != nil {
			return "", "", fmt.Errorf(advice+": %w", err)
		}
	}
	output, err := exec.CommandContext(ctx, program, "--version").Output()
	if err != nil {
		return "", "", err
	}
	words := strings.Fields(string(output)) // LibreOffice 7.4.7.2 40(Build:2)
	return program, words[min(1, len(words)-1)], nil
}
