package site

import "testing"

func TestWhereALogInLeads(t *testing.T) {
	t.Parallel()
	f := func(next, want string) {
		t.Helper()
		if got := LocalPath(next); got != want {
			t.Errorf("localPath(%q) = %q, want %q", next, got, want)
		}
	}
	const first = "/dashboard/"
	f("", first)
	f("/dashboard/?day=2026-11-21", "/dashboard/?day=2026-11-21")
	f("/dashboard/order?id=%2F%2Fx", "/dashboard/order?id=%2F%2Fx")
	f("https://evil.example/dashboard/", first)
	f("//evil.example/dashboard/", first)
	f(`/\evil.example`, first)
	f(`/dashboard/\..\..//evil.example`, first)
	f("/dashboard/login?next=/dashboard/login", first)
	f("/dashboard/logout", first)
	f("/elsewhere", first)
	f("javascript:alert(1)", first)
}
