package main

import (
	"bytes"
	"encoding/json"
	"net/http"
	"strings"
	"testing"
)

// commandWith is command with something on standard input.
func commandWith(t *testing.T, stdin string, args ...string) (output string, status int) {
	t.Helper()
	var out bytes.Buffer
	status = runWith(t.Context(), strings.NewReader(stdin), args, &out, &out)
	return out.String(), status
}

func TestACompanyIsArchivedByAnAnswer(t *testing.T) {
	live, _ := installation(t)
	f := func(stdin string, wantStatus int, want string, args ...string) string {
		t.Helper()
		out, status := commandWith(t, stdin, append([]string{"company"}, args...)...)
		if status != wantStatus || !strings.Contains(out, want) {
			t.Fatalf("company %v with %q: exit status %d and\n%s\nwant %d and %q", args, stdin, status, out, wantStatus, want)
		}
		return out
	}
	f("", 1, "no such company: c_zz", "archive", "c_zz", "--yes")
	f("no\n", 1, "nothing was changed", "archive", live.CompanyID)
	f("", 1, "nothing was changed", "archive", live.CompanyID)
	f("", 0, "is not archived: nothing was changed", "unarchive", live.CompanyID)
	f("yes\n", 0, live.CompanyID+" (Loja Exemplo, live) is archived; edges and admins learn of it", "archive", live.CompanyID)
	f("", 0, "nothing was changed", "archive", live.CompanyID) // and nobody is asked
	f("", 0, "archived ", "show", live.CompanyID)
	f("", 1, "the company is archived, and nothing of it can be changed: `tributary company unarchive COMPANY`", "set",
		live.CompanyID, "--hold-days", "3")
	out, status := command(t, "keys", "create", "erp", "--company", live.CompanyID)
	if status != 1 || !strings.Contains(out, "the company is archived") {
		t.Errorf("a key of an archived company: %d %s", status, out)
	}
	var list []struct {
		CompanyID, Environment string
		ArchivedAt             *string
		Changed                bool
	}
	read := func(text string) {
		t.Helper()
		text = strings.NewReplacer("company_id", "companyid", "archived_at", "archivedat").Replace(text)
		if err := json.Unmarshal([]byte(text), &list); err != nil {
			t.Fatalf("%v in %s", err, text)
		}
	}
	read(f("", 0, "", "archive", live.CompanyID, "--both", "--yes", "--json"))
	if len(list) != 2 || list[0].ArchivedAt == nil || list[1].ArchivedAt == nil || list[0].Changed == list[1].Changed {
		t.Errorf("%+v", list)
	}
	f("no\n", 1, "nothing was changed", "unarchive", live.CompanyID)
	f("yes\n", 0, live.CompanyID+" (Loja Exemplo, live) is in use again", "unarchive", live.CompanyID)
	f("", 0, "is archived", "archive", live.CompanyID, "--yes")
	read(f("", 0, "", "unarchive", live.CompanyID, "--both", "--yes", "--json"))
	if len(list) != 2 || list[0].ArchivedAt != nil || !list[0].Changed || !list[1].Changed {
		t.Errorf("%+v", list)
	}
	read(f("", 0, "", "list", "--json"))
	if len(list) != 2 || list[0].ArchivedAt != nil {
		t.Errorf("%+v", list)
	}
}

// A running installation learns of it: the edge refuses events, admin refuses keys, and both take them
// again once the company is taken back.
func TestARunningInstallationLearnsOfAnArchivedCompany(t *testing.T) {
	s := startServices(t)
	event := func() *http.Request { return s.request(http.MethodPost, s.edge.origin()+"/v1/events", s.event()) }
	order := func() *http.Request { return s.request(http.MethodPost, s.admin.origin()+"/admin/v1/order", anOrder) }
	s.admin.is(http.StatusOK, order)
	if out, status := command(t, "company", "archive", s.company, "--yes"); status != 0 {
		t.Fatal(out)
	}
	for _, said := range []string{s.edge.is(http.StatusForbidden, event), s.admin.is(http.StatusForbidden, order)} {
		if !strings.Contains(said, "company_archived") {
			t.Errorf("refused otherwise: %s", said)
		}
	}
	if out, status := command(t, "company", "unarchive", s.company, "--yes"); status != 0 {
		t.Fatal(out)
	}
	s.edge.is(http.StatusOK, event)
	s.admin.is(http.StatusOK, order)
}
