package merchant_test

import (
	"crypto/rand"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/tributary-io/tributary/internal/commerce"
)

// What was archived with an influencer comes back with them, and nothing else: not what was removed before, no
// agreement, and no coupon whose code somebody else has meanwhile.
func TestAnInfluencerIsTakenBack(t *testing.T) {
	t.Parallel()
	db, store, _ := newStore(t)
	ctx := t.Context()
	author := commerce.Author{CompanyID: store.Live.CompanyID, Actor: "cli", At: time.Now()}
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	register := func(name string, codes ...string) commerce.Registered {
		t.Helper()
		r := commerce.Registration{Name: name, Links: []string{"https://loja.example.com/"}}
		for _, code := range codes {
			r.Coupons = append(r.Coupons, commerce.CouponTerms{Code: code})
		}
		made, err := db.RegisterInfluencer(ctx, author, r, rand.Reader)
		must(err)
		return made
	}
	ana := register("Ana", "ANA10", "ANA20", "REMOVED")
	_, err := db.DeleteCoupon(ctx, author, ana.CampaignID, "removed")
	must(err)
	_, _, err = db.AddCost(ctx, author, "ana", "", commerce.CostTerms{FixedFeeMinor: 1, StartDate: "2026-01-01"}, rand.Reader)
	must(err)
	if _, err := db.RestoreInfluencer(ctx, author, ana.InfluencerID, ""); !errors.Is(err, commerce.ErrNotFound) {
		t.Errorf("one who is not archived: %v", err)
	}
	_, err = db.ArchiveInfluencer(ctx, author, "ana", "")
	must(err)
	beto := register("Beto", "ANA20")
	other := register("ANA")
	if _, err := db.RestoreInfluencer(ctx, author, ana.InfluencerID, ""); !errors.As(err, new(*commerce.NameTakenError)) {
		t.Errorf("while another has the name: %v", err)
	}
	_, err = db.ArchiveInfluencer(ctx, author, "ana", "")
	must(err)
	restored, err := db.RestoreInfluencer(ctx, author, ana.InfluencerID, "")
	if err != nil || restored.Links != 1 || restored.Coupons != 1 || !slices.Equal(restored.Taken, []string{"ANA20"}) {
		t.Fatalf("%+v, %v", restored, err)
	}
	now, err := db.Influencer(ctx, author.CompanyID, ana.InfluencerID)
	if err != nil || !now.ArchivedAt.IsZero() || len(now.Links) != 1 || now.Links[0].Code != ana.Codes[0] || len(now.Campaigns) != 1 ||
		len(now.Coupons) != 1 || now.Coupons[0].Code != "ANA10" || len(now.Costs) != 0 {
		t.Errorf("%+v, %v", now, err)
	}
	for _, of := range []struct {
		id      string
		live    bool
		coupons int
	}{{beto.InfluencerID, true, 1}, {other.InfluencerID, false, 0}} {
		i, err := db.Influencer(ctx, author.CompanyID, of.id)
		if err != nil || i.ArchivedAt.IsZero() != of.live || len(i.Coupons) != of.coupons {
			t.Errorf("%+v, %v", i, err)
		}
	}
	elsewhere := author
	elsewhere.CompanyID = store.Sandbox.CompanyID
	if _, err := db.RestoreInfluencer(ctx, elsewhere, other.InfluencerID, ""); !errors.Is(err, commerce.ErrNotFound) {
		t.Errorf("of the other environment: %v", err)
	}
}
