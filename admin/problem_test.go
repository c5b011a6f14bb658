package admin

import (
	"errors"
	"fmt"
	"net/url"
	"slices"
	"testing"
	"time"

	"github.com/tributary-io/tributary/internal/commerce"
)

func TestViolationsAreOneProblem(t *testing.T) {
	t.Parallel()
	f := func(want string, codes ...string) {
		t.Helper()
		bad := &commerce.Violations{}
		for i, code := range codes {
			bad.Add(fmt.Sprintf("f%d", i), code, "is wrong")
		}
		var got *problem
		if !errors.As(brokenRules(bad), &got) {
			t.Fatalf("%v: %v", codes, brokenRules(bad))
		}
		if got.code != want || len(got.details) != len(bad.List) {
			t.Errorf("%v: %s with %d details, want %s", codes, got.code, len(got.details), want)
		}
	}
	f(codeValidation, "required")
	f(codeInvalidURL, codeInvalidURL, codeInvalidURL)
	f(codeInvalidDate, codeInvalidDate)
	f(codeValidation, codeInvalidDate, codeInvalidURL)
	f(codeValidation, make([]string, 300)...)
	if brokenRules(&commerce.Violations{}) != nil {
		t.Error("no violation is a problem")
	}
}

func TestPagesOfAList(t *testing.T) {
	t.Parallel()
	after := commerce.InfluencerCursor{CreatedAt: testNow.Add(1234567 * time.Microsecond),
		InfluencerID: "01890a5d-ac96-774b-bcce-b302099a8057"}
	f := func(query string, limit int, want commerce.InfluencerCursor, violated ...string) {
		t.Helper()
		values, err := url.ParseQuery(query)
		if err != nil {
			t.Fatal(err)
		}
		bad := &commerce.Violations{}
		n, got := pageQuery(values, bad)
		var fields []string
		for _, d := range bad.List {
			fields = append(fields, d.Field)
		}
		if !slices.Equal(fields, violated) || len(violated) == 0 && (n != limit || got != want) {
			t.Errorf("%s: %d, %+v, %v; want %d, %+v, %v", query, n, got, fields, limit, want, violated)
		}
	}
	none := commerce.InfluencerCursor{}
	f("", 0, none)
	f("limit=7", 7, none)
	f("limit=7&cursor="+after.String(), 7, after)
	f("cursor="+after.String(), maxPage, after)
	f("limit=0", 0, none, "limit")
	f("limit=101", 0, none, "limit")
	f("limit=x&cursor=x", 0, none, "limit", "cursor")
	f("cursor=", 0, none, "cursor")
}
