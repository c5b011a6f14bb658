package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/alexedwards/argon2id"

	"github.com/tributary-io/tributary/internal/account"
)

func TestAPersonLogsInWithThePasswordGiven(t *testing.T) {
	live, dsn := installation(t)
	db, err := openStores(t.Context(), dsn)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(db.Close)
	f := func(email, password, role string, args ...string) {
		t.Helper()
		out, status := command(t, append([]string{"person"}, args...)...)
		if status != 0 {
			t.Errorf("%v: exit status %d\n%s", args, status, out)
			return
		}
		if password == "" { // made by the command: the last line
			lines := strings.Split(strings.TrimSpace(out), "\n")
			password = lines[len(lines)-1]
		} else if strings.Contains(out, password) {
			t.Errorf("%v shows a password that was given:\n%s", args, out)
		}
		person, err := db.PersonByEmail(t.Context(), email)
		if err != nil {
			t.Error(err)
			return
		}
		if good, err := argon2id.ComparePasswordAndHash(password, person.PasswordHash); !good || err != nil {
			t.Errorf("%v: %q does not open the log-in: %v", args, password, err)
		}
		list, err := db.Accesses(t.Context(), person.ID)
		if err != nil || len(list) != 2 || list[0].StoreID != live.StoreID || list[0].Role != role {
			t.Errorf("%v: %s sees %+v, %v", args, email, list, err)
		}
	}
	file := filepath.Join(t.TempDir(), "password")
	if err := os.WriteFile(file, []byte("from the file\nand not this\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	f("ana@loja.example", "", account.RoleOwner, "create", " Ana@Loja.example ", "--company", live.CompanyID)
	f("beto@loja.example", "from the file", account.RoleAnalyst, "create", "beto@loja.example", "--store", live.StoreID, "--role", "analyst",
		"--password-file", file)
	f("ana@loja.example", "from the file", account.RoleOwner, "passwd", "ana@loja.example", "--password-file", file)
	t.Setenv("TRIBUTARY_PASSWORD", "from the variable")
	f("caio@loja.example", "from the variable", account.RoleOwner, "create", "caio@loja.example", "--store", live.StoreID)
	f("beto@loja.example", "from the variable", account.RoleAnalyst, "passwd", "beto@loja.example")
}

func TestAPasswordComesFromStandardInput(t *testing.T) {
	f := func(input, want, wantErr string) {
		t.Helper()
		cmd := newPersonPasswd()
		cmd.SetIn(strings.NewReader(input))
		got, generated, err := (&passwordFlag{file: "-"}).read(cmd)
		if got != want || generated || (err != nil) != (wantErr != "") || err != nil && !strings.Contains(err.Error(), wantErr) {
			t.Errorf("%.20q: %q, %v; want %q, %q", input, got, err, want, wantErr)
		}
	}
	f(" with spaces \r\n", " with spaces ", "")
	f("without an end of line", "without an end of line", "")
	f("", "", "empty")
	f("\nsecond line", "", "empty")
	long := strings.Repeat("x", 1000)
	if got, _ := firstLine(bytes.NewBufferString(long)); len(got) >= len(long) {
		t.Error("all of a long input was read")
	} else if _, err := hashPassword(got); err == nil {
		t.Error("a password that is too long was cut instead of refused")
	}
}

// A log-in is no proof of whose an e-mail is, so only somebody who is in the store already gets
// another role at once.
func TestGrantMakesALinkForWhoIsNotInTheStore(t *testing.T) {
	live, _ := installation(t)
	for _, email := range []string{"ana@loja.example", "bia@loja.example"} {
		if out, status := command(t, "person", "create", email, "--company", live.CompanyID); status != 0 {
			t.Fatal(out)
		}
	}
	if out, status := command(t, "person", "grant", "bia@loja.example", "--company", live.CompanyID, "--role", "analyst"); status != 0 ||
		!strings.Contains(out, "as analyst") {
		t.Errorf("a member: %d\n%s", status, out)
	}
	if out, status := command(t, "person", "remove", "bia@loja.example", "--company", live.CompanyID); status != 0 {
		t.Fatal(out)
	}
	out, status := command(t, "person", "grant", "bia@loja.example", "--company", live.CompanyID, "--dashboard", "https://painel.example")
	if status != 0 || !strings.Contains(out, "https://painel.example/dashboard/join?token=") || !strings.Contains(out, "sets a new password") {
		t.Errorf("nobody's member: %d\n%s", status, out)
	}
	if out, _ := command(t, "person", "list", "--company", live.CompanyID); strings.Contains(out, "bia@") {
		t.Errorf("a link that was only made lets somebody in:\n%s", out)
	}
}

func TestPersonSaysWhatIsWrong(t *testing.T) {
	live, _ := installation(t)
	if out, status := command(t, "person", "create", "ana@loja.example", "--company", live.CompanyID); status != 0 {
		t.Fatal(out)
	}
	t.Setenv("TRIBUTARY_PASSWORD", "short")
	f := func(want string, args ...string) {
		t.Helper()
		out, status := command(t, append([]string{"person"}, args...)...)
		if !refused(status) || !strings.Contains(out, want) || strings.Contains(out, "postgres:") || strings.Count(out, "\n") != 1 {
			t.Errorf("%v: exit status %d and\n%s\nwant 1 and a line with %q", args, status, out, want)
		}
	}
	f("has a log-in already", "create", "ana@loja.example", "--company", live.CompanyID)
	f("no such person", "passwd", "bia@loja.example")
	f("is the last owner", "grant", "ana@loja.example", "--company", live.CompanyID, "--role", "analyst")
	f("no such person", "grant", "bia@loja.example", "--company", live.CompanyID)
	f("10 characters or more, and 256 bytes", "passwd", "ana@loja.example")
	f("no e-mail address", "create", "ana", "--company", live.CompanyID)
	f("no such company", "create", "bia@loja.example", "--company", "c_zz")
	f("no such store", "create", "bia@loja.example", "--store", "zz")
	f("--store or --company", "create", "bia@loja.example")
	f("--role", "create", "bia@loja.example", "--company", live.CompanyID, "--role", "boss")
	f("no such file", "passwd", "ana@loja.example", "--password-file", "/nowhere/password")
}

// A new password keeps the second factor, unless the operator turns it off.
func TestANewPasswordKeepsTheSecondFactor(t *testing.T) {
	live, dsn := installation(t)
	db, err := openStores(t.Context(), dsn)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(db.Close)
	if out, status := command(t, "person", "create", "ana@loja.example", "--company", live.CompanyID); status != 0 {
		t.Fatal(out)
	}
	on := func() bool {
		t.Helper()
		person, err := db.PersonByEmail(t.Context(), "ana@loja.example")
		if err != nil {
			t.Fatal(err)
		}
		return len(person.SecondFactor) > 0
	}
	person, err := db.PersonByEmail(t.Context(), "ana@loja.example")
	if err != nil {
		t.Fatal(err)
	}
	change := account.SecondFactorChange{PersonID: person.ID, Actor: "test", Sealed: []byte("s")}
	if err := db.SetSecondFactor(t.Context(), change); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{{"person", "passwd", "ana@loja.example"},
		{"person", "passwd", "ana@loja.example", "--second-factor-off"}} {
		if out, status := command(t, args...); status != 0 || on() != (len(args) == 3) {
			t.Errorf("%v: %d, on %t\n%s", args, status, on(), out)
		}
	}
}
