package devstack

import (
	"net/url"
	"testing"
)

func TestTheLibraryStillSaysWhereItsBinariesAre(t *testing.T) {
	from, err := repository()
	if err != nil {
		t.Fatal(err)
	}
	if u, err := url.Parse(from); err != nil || u.Scheme != "https" || u.Host == "" {
		t.Errorf("repository %q, %v; want an https URL", from, err)
	}
}
