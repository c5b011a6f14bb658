package dashboard_test

import (
	"crypto/rand"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/tributary-io/tributary/internal/account"
	"github.com/tributary-io/tributary/internal/commerce"
)

// An owner types the details in the language of the page; an analyst sees them masked.
func TestDetailsAreTypedByOwnersAndMaskedForAnalysts(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	owner, analyst := s.loggedIn(), s.join(account.RoleAnalyst, "bia@loja.example", s.Store.StoreID)
	made, err := s.DB.RegisterInfluencer(t.Context(), commerce.Author{CompanyID: s.live, Actor: "cli", At: time.Now()},
		commerce.Registration{Name: "Ana Prado", CampaignID: "outono-26", Links: []string{"https://loja.example.com/"}}, rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	page := "/dashboard/influencer?company=" + s.live + "&id=" + made.InfluencerID
	form := strings.Replace(page, "influencer?", "influencer/details?", 1)
	typed := url.Values{"email": {"Zq.Ana@Example.com"}, "phone": {"(11) 98888-7766"}, "document": {"529.982.247-25"},
		"pix_type": {"cpf"}, "pix_key": {"529.982.247-25"}, "handles": {"@zqana\r\n\r\n@zqprado"}, "notes": {"zq"}}
	if status, text, _ := s.send(owner, form, typed); status != http.StatusSeeOther {
		t.Fatalf("%d %s", status, text)
	}
	i, err := s.DB.Influencer(t.Context(), s.live, made.InfluencerID)
	if err != nil || i.Details.Email != "zq.ana@example.com" || i.Details.Pix.Key != "52998224725" || len(i.Details.Handles) != 2 {
		t.Errorf("%+v %v", i.Details, err)
	}
	if n := len(i.Details.Changed); n != 3 {
		t.Errorf("%d fields have an author", n)
	}
	whole, masked := s.readRaw(owner, page), s.readRaw(analyst, page)
	for _, text := range []string{"zq.ana@example.com", "5511988887766", "529.982.247-25", "@zqana"} {
		if !strings.Contains(whole, text) {
			t.Errorf("the owner's page has no %s", text)
		}
		if text != "@zqana" && strings.Contains(masked, text) {
			t.Errorf("the analyst's page has %s", text)
		}
	}
	if !strings.Contains(masked, "z…@example.com") || strings.Contains(masked, "52998224725") {
		t.Error("the analyst's page is not masked")
	}
	if !strings.Contains(whole, "outono-26") {
		t.Error("a campaign without a name is not called by the id that the merchant gave")
	}
	typed.Set("pix_type", "")
	typed.Set("email", "zq")
	status, text, _ := s.send(owner, form, typed)
	if status != http.StatusUnprocessableEntity || !strings.Contains(text, "never guessed") ||
		!strings.Contains(text, "is no e-mail address") {
		t.Errorf("%d: the page does not say what is wrong", status)
	}
}

// A change of where money goes is stored, and said to be safe only once Kafka has it.
func TestAPayeesChangeIsDoneWhenKafkaHasIt(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	owner, ana := s.loggedIn(), s.Influencer(s.live, "Ana Prado")
	form := "/dashboard/influencer/details?company=" + s.live + "&id=" + ana
	typed := url.Values{"email": {""}, "phone": {""}, "document": {""}, "pix_type": {"cpf"}, "pix_key": {"529.982.247-25"},
		"handles": {""}, "notes": {""}}
	s.mu.Lock()
	s.kafkaAway = fmt.Errorf("%w: away", commerce.ErrNotOnKafka)
	s.mu.Unlock()
	if status, text, _ := s.send(owner, form, typed); status != http.StatusServiceUnavailable ||
		!strings.Contains(text, "Do not do it again") {
		t.Errorf("%d %s", status, text)
	}
	if i, err := s.DB.Influencer(t.Context(), s.live, ana); err != nil || i.Details.Pix.Key != "52998224725" {
		t.Errorf("%+v %v", i.Details, err)
	}
	if waiting, err := s.DB.OutboxWaits(t.Context(), s.live, 0); err != nil || waiting == 0 {
		t.Errorf("the change of a key leaves no record; %v", err)
	}
}
