package main

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/spf13/pflag"
)

func TestPeopleAreListedInvitedAndRemoved(t *testing.T) {
	live, _ := installation(t)
	t.Setenv("TRIBUTARY_PASSWORD", "a good long password")
	f := func(wantStatus int, want string, args ...string) string {
		t.Helper()
		out, status := command(t, append(args, "--company", live.CompanyID)...)
		if status != wantStatus || !strings.Contains(out, want) {
			t.Errorf("%v: exit status %d and\n%s\nwant %d and %q", args, status, out, wantStatus, want)
		}
		return out
	}
	f(0, "may log in", "person", "create", "ana@loja.example")
	f(1, "is the last owner", "person", "remove", "ana@loja.example")
	f(0, "may log in", "person", "create", "bia@loja.example", "--role", "analyst")
	f(0, "https://painel.example.com/dashboard/join?token=", "person", "invite", "carla@loja.example", "--role", "analyst", "--dashboard",
		"https://painel.example.com/")
	out := f(0, "", "person", "list", "--json")
	var list []struct{ Email, Role string }
	if err := json.Unmarshal([]byte(out), &list); err != nil || len(list) != 2 || list[0].Email != "ana@loja.example" ||
		list[1].Role != "analyst" {
		t.Errorf("%s, %v", out, err)
	}
	f(0, "may no longer log in", "person", "remove", "bia@loja.example")
	f(1, "is not one of", "person", "remove", "bia@loja.example")
	f(0, "ana@loja.example", "person", "list")
	f(0, "", "keys", "create", "erp", "--expires-in", "90d")
	var keys []struct{ Name, State string }
	if err := json.Unmarshal([]byte(f(0, "", "keys", "list", "--json")), &keys); err != nil || len(keys) != 1 || keys[0].Name != "erp" {
		t.Errorf("%+v, %v", keys, err)
	}
	f(statusUsage, "--expires-in", "keys", "create", "erp", "--expires-in", "90x")
}

func TestTimeSpansInDays(t *testing.T) {
	f := func(text string, want time.Duration, good bool) {
		t.Helper()
		var got time.Duration
		flags := pflag.NewFlagSet("", pflag.ContinueOnError)
		durationVar(flags, &got, "x", time.Hour, "")
		if err := flags.Set("x", text); (err == nil) != good || good && got != want {
			t.Errorf("%q: %s, %v; want %s", text, got, err, want)
		}
	}
	f("90d", 90*24*time.Hour, true)
	f("36h", 36*time.Hour, true)
	f("0", 0, true)
	f("-1d", -24*time.Hour, true)
	f("1.5d", 0, false)
	f("99999999d", 0, false)
	f("d", 0, false)
}
