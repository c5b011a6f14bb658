package core

import (
	"slices"
	"strings"
	"testing"
)

func TestEveryNameHasACanonicalOne(t *testing.T) {
	canonical := []string{PageView, ProductView, AddToCart, InitiateCheckout, CheckoutCompleted}
	names := Names()
	if len(names) < 30 {
		t.Errorf("only %d names", len(names))
	}
	for i, name := range names {
		if got, ok := CanonicalName(name); !ok || !slices.Contains(canonical, got) {
			t.Errorf("%q is %q, %v", name, got, ok)
		}
		if slices.Contains(names[i+1:], name) {
			t.Errorf("%q is there twice", name)
		}
	}
}

func TestNames(t *testing.T) {
	f := func(name, want string) {
		t.Helper()
		if got, ok := CanonicalName(name); got != want || ok != (want != "") {
			t.Errorf("%q is %q, %v; want %q", name, got, ok, want)
		}
	}
	f("PAGE_VIEW", PageView)
	f("Loaded a Page", PageView)
	f("ViewContent", ProductView)
	f("Product Added", AddToCart)
	f("begin_checkout", InitiateCheckout)
	f("purchase", CheckoutCompleted)
	f("A", "A")
	f("Z9_", "Z9_")
	f("AZ09", "AZ09")
	f("A"+strings.Repeat("B", 63), "A"+strings.Repeat("B", 63))
	f("A"+strings.Repeat("B", 64), "")
	for _, name := range []string{"", "9A", "_A", "@A", "[A", "a", "Purchase ", "PURCHASe", "A-B", "A/B", "A:B", "A@B", "A[B", "A`B", "É"} {
		f(name, "")
	}
}
