package main

import (
	"strings"
	"testing"
)

func TestCompaniesAreListedWithTheirSettings(t *testing.T) {
	live, _ := installation(t)
	out, status := command(t, "company", "create", "Tienda\x1b[31m", "--country", "AR", "--timezone", "America/Argentina/Buenos_Aires",
		"--currency", "ARS", "--origin", "https://tienda.example.com", "--host", "tienda.example.com")
	if status != 0 {
		t.Fatal(out)
	}
	out, status = command(t, "company", "list")
	if status != 0 || strings.Count(out, "\n") != 5 || strings.Contains(out, "\x1b") {
		t.Errorf("exit status %d and\n%s\nwant a title and 4 companies", status, out)
	}
	for _, want := range []string{live.CompanyID, live.StoreID, "Loja Exemplo", "America/Argentina/Buenos_Aires", "ARS", "https://tienda.example.com"} {
		if !strings.Contains(out, want) {
			t.Errorf("the list does not show %s:\n%s", want, out)
		}
	}
}
