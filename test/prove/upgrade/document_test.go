package upgrade

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"github.com/tributary-io/tributary/test/devtest"
)

// change is one that oasdiff finds between two OpenAPI documents.
type change struct {
	ID, Text, Operation, Path, Section string
	Level                              int
}

func (c change) String() string {
	return c.ID + ": " + strings.TrimSpace(c.Operation+" "+c.Path) + ": " + strings.NewReplacer("`", "", "'", "").Replace(c.Text)
}

// errorLevel is oasdiff's level of what breaks clients.
const errorLevel = 3

// broken are the changes from one document to another that break clients.
func broken(t *testing.T, root, from, to string) (found []change) {
	t.Helper()
	diff := exec.CommandContext(t.Context(), "go", "tool", "-modfile="+filepath.Join(".ci", "oasdiff.mod"), "oasdiff", "breaking",
		"--format", "json", from, to)
	diff.Dir = root
	var problems strings.Builder
	diff.Stderr = &problems
	output, err := diff.Output()
	if err != nil {
		t.Fatalf("oasdiff: %v: %s", err, problems.String())
	}
	var all []change
	if len(strings.TrimSpace(string(output))) > 0 {
		if err := json.Unmarshal(output, &all); err != nil {
			t.Fatalf("oasdiff: %v: %s", err, output)
		}
	}
	for _, c := range all {
		if c.Level >= errorLevel {
			found = append(found, c)
		}
	}
	return found
}

// consent is a change that breaks clients and may be made all the same.
type consent struct {
	Changes string // a regular expression that String of each matches
	Reason  string
}

// unconsented are the changes that no consent speaks of, and the consents that speak of no change.
func unconsented(t *testing.T, changes []change, consents []consent) (left []change, idle []consent) {
	t.Helper()
	used := make([]bool, len(consents))
next:
	for _, c := range changes {
		for i, of := range consents {
			if of.Changes == "" || strings.TrimSpace(of.Reason) == "" {
				t.Fatalf("a consent has no changes or no reason: %+v", of)
			}
			if regexp.MustCompile(of.Changes).MatchString(c.String()) {
				used[i] = true
				continue next
			}
		}
		left = append(left, c)
	}
	for i, of := range consents {
		if !used[i] {
			idle = append(idle, of)
		}
	}
	return left, idle
}

// Who wrote a client from the document of the version before can use it with this version. What breaks it is named in
// admin/openapi/consented.yaml, with its reason, or fails.
func TestTheAPIBreaksNoClientOfTheFormerVersion(t *testing.T) {
	devtest.NeedsIntegration(t) // it builds oasdiff
	root, err := git(t.Context(), "rev-parse", "--show-toplevel")
	if err != nil {
		t.Fatal(err)
	}
	commit, err := formerVersion(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	// As it was committed, but for the last line's end, which git() cuts off.
	text, err := git(t.Context(), "show", commit+":admin/openapi/openapi.yaml")
	if err != nil {
		t.Fatal(err)
	}
	former, now := filepath.Join(t.TempDir(), "former.yaml"), filepath.Join(root, "admin", "openapi", "openapi.yaml")
	if err := os.WriteFile(former, []byte(text+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	written, err := os.ReadFile(filepath.Join(root, "admin", "openapi", "consented.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	var consents []consent
	if err := yaml.Unmarshal(written, &consents); err != nil {
		t.Fatal(err)
	}
	left, idle := unconsented(t, broken(t, root, former, now), consents)
	for _, c := range left {
		t.Errorf("breaks clients of %s: %s", formerTag, c)
	}
	for _, of := range idle {
		t.Errorf("admin/openapi/consented.yaml consents to what is not: %s", of.Changes)
	}

	// An operation that is gone, a field that is gone from an answer and one that a request now needs are found.
	current, err := os.ReadFile(now)
	if err != nil {
		t.Fatal(err)
	}
	cut := string(current)
	for _, edit := range [][2]string{
		{"  /product:\n", "  /goods:\n"},
		{"      required: [orderId, orderStatus, createdAt, totalPrice, currency]\n",
			"      required: [orderId, orderStatus, createdAt, totalPrice, currency, name]\n"},
		{"    Outcomes:\n      type: object\n      required: [message, data]\n      properties:\n        message: {type: string}\n",
			"    Outcomes:\n      type: object\n      required: [data]\n      properties:\n"},
	} {
		if strings.Count(cut, edit[0]) != 1 {
			t.Fatalf("the document has not once:\n%s", edit[0])
		}
		cut = strings.Replace(cut, edit[0], edit[1], 1)
	}
	spoiled := filepath.Join(t.TempDir(), "spoiled.yaml")
	if err := os.WriteFile(spoiled, []byte(cut), 0o600); err != nil {
		t.Fatal(err)
	}
	left, _ = unconsented(t, broken(t, root, now, spoiled), consents)
	found := fmt.Sprint(left)
	for _, want := range []string{"removed-without-deprecation: POST /product", "request-property-became-required: POST /order: ",
		"response-required-property-removed: DELETE /influencers: "} {
		if !strings.Contains(found, want) {
			t.Errorf("oasdiff does not find %q in a document that has it: %s", want, found)
		}
	}
}
