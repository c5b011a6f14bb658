package main

import (
	"context"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
)

// asTributary is the variable with which this test's program is the program tributary, for the commands of pages.
const asTributary = "RUN_AS_TRIBUTARY"

// runAsTributary runs a command, and does not return, where the variable says so. Questions are answered by the standard input.
func runAsTributary() {
	if os.Getenv(asTributary) == "" {
		return
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	os.Exit(runWith(ctx, struct{ io.Reader }{os.Stdin}, os.Args[1:], os.Stdout, os.Stderr)) //nolint:gocritic // it is done
}

// sectionOf is the text below a heading of a page, up to the next heading of any kind.
func sectionOf(t *testing.T, page, heading string) string {
	t.Helper()
	_, section, found := strings.Cut(page, "\n"+heading+"\n")
	if !found {
		t.Fatalf("there is no section %q", heading)
	}
	section, _, _ = strings.Cut(section, "\n#")
	return section
}

// codeLines are the lines of code of a section, without comments.
func codeLines(section string) (lines []string) {
	for _, fence := range docsFence.FindAllStringSubmatch(section, -1) {
		for line := range strings.Lines(strings.ReplaceAll(fence[1], "\\\n", " ")) {
			line, _, _ = strings.Cut(line, " # ")
			if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "#") {
				lines = append(lines, line)
			}
		}
	}
	return lines
}

// follower carries out the lines of code of a section, one by one, by a shell. The test plays what is not here.
type follower struct {
	t     *testing.T
	lines []string
	plays map[string]func(words []string) // by the name of a program
	etc   string                          // in place of /etc/tributary
	path  string                          // $PATH, where tributary is this test's program
	owner string                          // $OWNER_DSN
	names string                          // in place of c_…
}

func newFollower(t *testing.T, section, etc, owner string) *follower {
	t.Helper()
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	script := "#!/bin/sh\n" + asTributary + "=1 exec '" + program + "' \"$@\"\n"
	if err := os.WriteFile(filepath.Join(dir, "tributary"), []byte(script), 0o700); err != nil {
		t.Fatal(err)
	}
	return &follower{t: t, lines: codeLines(section), plays: map[string]func([]string){}, etc: etc, owner: owner,
		path: dir + string(os.PathListSeparator) + os.Getenv("PATH")}
}

// does carries out the next line, which must begin with these words, and returns what it says.
func (f *follower) does(begins string, status int) string {
	f.t.Helper()
	if len(f.lines) == 0 || !strings.HasPrefix(f.lines[0], begins) {
		f.t.Fatalf("the page goes on with %q, and this test with %q", f.lines, begins)
	}
	line := f.lines[0]
	f.lines = f.lines[1:]
	f.t.Log(line)
	if words := strings.Fields(line); f.plays[words[0]] != nil {
		f.plays[words[0]](words[1:])
		return ""
	}
	line = strings.NewReplacer("/etc/tributary", f.etc, "c_…", f.names).Replace(line)
	shell := exec.CommandContext(f.t.Context(), "bash", "-euo", "pipefail", "-c", line)
	shell.Env = append(os.Environ(), "PATH="+f.path, "OWNER_DSN="+f.owner)
	shell.Stdin = strings.NewReader("yes\n")
	out, err := shell.CombinedOutput()
	if got := shell.ProcessState.ExitCode(); got != status {
		f.t.Fatalf("%s: exit status %d (%v), want %d\n%s", line, got, err, status, out)
	}
	return string(out)
}

// says is does with exit status 0, and wants a text in what is said.
func (f *follower) says(begins, want string) string {
	f.t.Helper()
	out := f.does(begins, 0)
	if !strings.Contains(out, want) {
		f.t.Fatalf("%s: want %q in\n%s", begins, want, out)
	}
	return out
}

// ends wants that no line is left.
func (f *follower) ends() {
	f.t.Helper()
	if len(f.lines) > 0 {
		f.t.Errorf("these commands of the page are not carried out: %q", f.lines)
	}
}

var (
	// disasterTests have each section of "Disasters" and its test.
	disasterTests = map[string]string{
		"Backup and restore":                 "TestThePageOfARestoreIsFollowed",
		"Kafka is lost":                      "TestThePageOfDisastersIsFollowed",
		"A topic was made again":             "TestThePageOfDisastersIsFollowed",
		"Records went before they were read": "TestThePageOfDisastersIsFollowed",
		"The hashing secret is lost":         "TestThePageOfDisastersIsFollowed",
		"Two installations on one database":  "TestThePageOfDisastersIsFollowed",
		"":                                   "TestThePageOfDisastersIsFollowed", // what is said before the first one
	}
	// notRun are commands of the chapter that no test runs, and why.
	notRun = map[string]string{
		"tributary offsets reset":    "the commands have it with its flags",
		"tributary migrate":          "likewise",
		"tributary doctor":           "likewise",
		"tributary connect backfill": "it needs a shop: make prove, section shops",
		"tributary import orders":    "it is no repair of ours: cmd/tributary/importer has its tests",
		"tributary erase":            "it is what the loss is of",
	}
	// played are the programs that a test plays, and why.
	played = []string{
		"systemctl",       // the services run in the test's program
		"kafka-topics.sh", // Kafka's own tool; the test asks the broker for the same
		"editor",
	}
)

// Every section of the chapter has a test that carries out its commands, and commands elsewhere in it are named with a reason.
func TestEveryDisasterHasATestThatFollowsIt(t *testing.T) {
	page := docsPage(t, "operations.md")
	_, chapter, _ := strings.Cut(page, "\n## Disasters\n")
	chapter, _, _ = strings.Cut(chapter, "\n## ")
	headings := []string{""}
	for _, m := range regexp.MustCompile(`(?m)^### (.+)$`).FindAllStringSubmatch(chapter, -1) {
		headings = append(headings, m[1])
	}
	for _, heading := range headings {
		if disasterTests[heading] == "" {
			t.Errorf("no test follows %q", heading)
		}
		for _, part := range []string{"**You see**", "**Lost**"} {
			if heading != "" && !strings.Contains(sectionOf(t, page, "### "+heading), part) {
				t.Errorf("%s does not have %s", heading, part)
			}
		}
	}
	if len(headings) != len(disasterTests) {
		t.Errorf("the page has %q", headings)
	}
	for _, m := range docsInline.FindAllStringSubmatch(docsFence.ReplaceAllString(chapter, ""), -1) {
		if strings.HasPrefix(m[1], "tributary ") && notRun[m[1]] == "" {
			t.Errorf("no test runs `%s`", m[1])
		}
	}
	for _, line := range codeLines(chapter) {
		program := strings.Fields(line)[0]
		if program != "tributary" && program != "(umask" && !slices.Contains(played, program) {
			t.Errorf("who runs %q?", line)
		}
	}
}
