package postgres_test

import (
	"crypto/rand"
	"crypto/sha256"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/shopspring/decimal"

	"github.com/tributary-io/tributary/internal/account"
	"github.com/tributary-io/tributary/internal/commerce"
	"github.com/tributary-io/tributary/internal/facts"
	"github.com/tributary-io/tributary/internal/postgres"
	"github.com/tributary-io/tributary/internal/postgres/merchant"
	"github.com/tributary-io/tributary/internal/wire"
	"github.com/tributary-io/tributary/test/devtest"
	"github.com/tributary-io/tributary/test/statements"
)

func merchantStatements(t *testing.T, recorder *statements.Recorder) {
	opened, err := postgres.Open(t.Context(), devtest.Postgres(t), postgres.WithTracer(recorder))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(opened.Close)
	db := merchant.New(opened)
	store, err := db.CreateStore(t.Context(), commerce.NewStore{Name: "Loja", Actor: "test", Random: rand.Reader, KeyCheck: noKeyCheck})
	if err != nil {
		t.Fatal(err)
	}
	companyStatements(t, db, store)
	keyStatements(t, db, store.Live.CompanyID)
	exportStatements(t, db, opened, store.Live.CompanyID)
	author := commerce.Author{CompanyID: store.Live.CompanyID, Actor: "test", At: time.Now()}
	ruleStatements(t, db, author)
	if _, err := db.KnownNames(t.Context(), store.Live.CompanyID, []string{"ana"}); err != nil {
		t.Fatal(err)
	}
	additionalCostStatements(t, db, author)
	if _, err := db.InfluencerID(t.Context(), store.Live.CompanyID, "ana"); err != nil {
		t.Fatal(err)
	}
	statementStatements(t, db, opened, author)
	idempotencyStatements(t, db, store.Live.CompanyID)
	personStatements(t, db, store.StoreID)
	memberStatements(t, db, store)
	connectionStatements(t, db, opened, author)
	outboxStatements(t, db)
}

func noKeyCheck(string) string { return "" }

func companyStatements(t *testing.T, db *merchant.Store, store commerce.Store) {
	must, ctx := mustOf(t), t.Context()
	_, err := db.Company(ctx, store.Live.CompanyID)
	must(err)
	_, err = db.Companies(ctx, 10)
	must(err)
	must(db.AddOrigins(ctx, store.Live.CompanyID, []string{"https://loja.example.com"}, nil, "test"))
	must(db.RenameStore(ctx, commerce.Author{CompanyID: store.Live.CompanyID, Actor: "test"}, "Another name"))
	_, _, err = db.ChangeSettings(ctx,
		commerce.SettingsChange{CompanyID: store.Live.CompanyID, Actor: "test", Change: func(s *commerce.Settings) {
			s.Country, s.HoldDays = "AR", 7
		}})
	must(err)
	for _, back := range []bool{false, true} {
		_, _, err = db.Archive(ctx, commerce.Archiving{CompanyIDs: []string{store.Live.CompanyID}, Back: back, Actor: "test"})
		must(err)
	}
}

func exportStatements(t *testing.T, db *merchant.Store, opened *postgres.DB, company string) {
	must, ctx := mustOf(t), t.Context()
	exported := commerce.Export{CompanyID: company, ExportID: uuid.NewString(), Kind: "orders", Format: "parquet", Place: "here"}
	must(db.BeginExport(ctx, &exported))
	must(db.NoteExportedDay(ctx, exported, "2026-11-05", commerce.ExportedDay{}))
	_, err := db.ExportedDays(ctx, exported)
	must(err)
	must(db.ForgetExportedDay(ctx, exported, "2026-11-05"))
	_, err = opened.Pool().Exec(ctx, `
		insert into erasure_export (company_id, erasure_id, export_id, kind, begun) values ($1, gen_random_uuid(), $2, 'orders', 0)`,
		company, exported.ExportID)
	must(err)
	for _, exported.Whole = range []bool{false, true} {
		_, err = db.EndExport(ctx, exported)
		must(err)
	}
	_, err = db.Exports(ctx, company)
	must(err)
	_, err = db.ForgetExport(ctx, company, exported.ExportID)
	must(err)
}

func keyStatements(t *testing.T, db *merchant.Store, company string) {
	must, ctx := mustOf(t), t.Context()
	now := time.Now()
	must(db.LogExport(ctx, commerce.Author{CompanyID: company, Actor: "test"}, []string{"email"}, rand.Reader))
	erasure, err := db.AskErasure(ctx, commerce.Author{CompanyID: company, Actor: "test", At: noon}, []string{"email"},
		[]facts.Key{{Kind: facts.KeyEmail, Value: "k1:nobody"}}, rand.Reader)
	must(err)
	_, err = db.Erasures(ctx, company, 10)
	must(err)
	_, err = db.Erasure(ctx, company, erasure.ErasureID)
	must(err)
	key, text, err := db.CreateAPIKey(ctx, account.NewAPIKey{CompanyID: company, Scopes: account.Scopes, Actor: "test", Random: rand.Reader})
	must(err)
	_, _, err = db.RotateAPIKey(ctx,
		account.KeyRotation{CompanyID: company, KeyID: key.KeyID, At: now, Grace: time.Hour, Actor: "test", Random: rand.Reader})
	must(err)
	_, err = db.ListAPIKeys(ctx, company, 10)
	must(err)
	_, err = db.RevokeAPIKey(ctx, company, key.KeyID, now, "test")
	must(err)
	_, err = db.APIKeyByHash(ctx, account.KeyHash(text))
	must(err)
	_, err = db.APIKeysByHash(ctx, [][32]byte{account.KeyHash(text)})
	must(err)
	must(db.TouchAPIKeys(ctx, map[string]time.Time{key.KeyID: now}))
}

func ruleStatements(t *testing.T, db *merchant.Store, author commerce.Author) {
	must, ctx := mustOf(t), t.Context()
	terms := commerce.CostTerms{VarFee: decimal.NewFromInt(10), StartDate: "2026-01-01"}
	registration := commerce.Registration{Name: "Ana", Category: "moda", Campaign: "Spring",
		Links:   []string{"https://loja.example.com/"},
		Coupons: []commerce.CouponTerms{{Code: "ANA10", StartDate: "2026-01-01", EndDate: "2026-12-31"}},
		Costs:   []commerce.CostTerms{terms},
	}
	made, err := db.RegisterInfluencer(ctx, author, registration, rand.Reader)
	must(err)
	_, err = db.RegisterInfluencer(ctx, author, registration, rand.Reader)
	must(err, commerce.ErrConflict)
	registration.Coupons = nil
	_, err = db.RegisterInfluencer(ctx, author, registration, rand.Reader)
	must(err)
	registration.CampaignID = made.CampaignID
	_, err = db.RegisterInfluencer(ctx, author, registration, rand.Reader)
	must(err)
	_, err = db.RegisterAll(ctx, author, []commerce.Registration{registration}, func([]commerce.Imported) bool { return false }, rand.Reader)
	must(err)
	fresh := commerce.Registration{Name: "Fresh", Details: commerce.DetailsChange{Email: wire.Some("fresh@example.com"),
		Keys: []commerce.IdentityKey{{Field: commerce.DetailEmail, Kind: 1, Key: []byte("fresh")}}}}
	clash := commerce.Registration{Name: "Clash", Coupons: []commerce.CouponTerms{{Code: "ANA10", StartDate: "2026-02-01"}}}
	_, err = db.RegisterAll(ctx, author, []commerce.Registration{fresh, clash}, func([]commerce.Imported) bool { return true }, rand.Reader)
	must(err)
	coupon := commerce.CouponTerms{Code: "ANA20"}
	_, err = db.AddCoupon(ctx, author, made.CampaignID, coupon, rand.Reader)
	must(err)
	_, err = db.AddCoupon(ctx, author, made.CampaignID, coupon, rand.Reader)
	must(err, commerce.ErrConflict)
	_, err = db.DeleteCoupon(ctx, author, made.CampaignID, "ANA20")
	must(err)
	terms.CampaignCost = true
	_, cost, err := db.AddCost(ctx, author, "Ana", made.CampaignID, terms, rand.Reader)
	must(err)
	must(db.DeleteCost(ctx, author, cost.CostID, true))
	daily := commerce.CostTerms{ValueMinor: 1, Frequency: commerce.Daily, StartDate: "2026-03-01"}
	_, _, err = db.AddCost(ctx, author, "Ana", "", daily, rand.Reader)
	must(err)
	for range 2 { // the second time the details are as they were
		must(db.UpdateInfluencer(ctx, author, "Ana", commerce.InfluencerChange{Category: wire.Some("casa"),
			Details: commerce.DetailsChange{Email: wire.Some("ana@example.com"),
				Keys: []commerce.IdentityKey{{Field: commerce.DetailEmail, Kind: facts.KeyEmail.Code(), Key: []byte("k1:nobody")}}}}))
	}
	must(db.UpdateInfluencer(ctx, author, "Ana", commerce.InfluencerChange{Name: "Ana Prado"}))
	must(db.SetUnproven(ctx, author, "Ana", commerce.UnprovenPay))
	_, err = db.UnprovenOf(ctx, author.CompanyID, "01938a4e-6f5a-7c11-a6c1-0d3cf5a0a5b2")
	must(err)
	must(db.DecideEvidence(ctx, author,
		commerce.EvidenceDecision{OrderID: "o1", InfluencerID: made.InfluencerID, Decision: commerce.EvidenceAccept}))
	proposalStatements(t, db, author, made.InfluencerID)
	_, err = db.Influencers(ctx, author.CompanyID, commerce.InfluencerCursor{}, 10)
	must(err)
	_, err = db.Influencer(ctx, author.CompanyID, made.InfluencerID)
	must(err)
	_, err = db.InfluencersWithCosts(ctx, author.CompanyID, commerce.InfluencerCursor{}, 10)
	must(err)
	for place, more := (commerce.ContactsPlace{}), true; more; {
		place, more, err = db.HashAgain(ctx, place, 10, noon, func(string, string, commerce.Contacts) []commerce.IdentityKey {
			return []commerce.IdentityKey{{Field: commerce.DetailEmail, Kind: facts.KeyEmail.Code(), Key: []byte{1}}}
		})
		must(err)
	}
	// The directory has a link only as long as it is live.
	outboxDirectory(t, db)
	_, err = db.ArchiveInfluencer(ctx, author, "Ana", "")
	must(err)
	anaID, err := db.InfluencerID(ctx, author.CompanyID, "Ana")
	must(err)
	_, err = db.RestoreInfluencer(ctx, author, anaID, "")
	must(err)
	must(db.EraseInfluencer(ctx, author, "", "Ana"))
	_, err = db.ArchiveInfluencer(ctx, author, "Ana", "")
	must(err)
}

func proposalStatements(t *testing.T, db *merchant.Store, author commerce.Author, influencerID string) {
	must, ctx := mustOf(t), t.Context()
	rule := func(on bool) {
		_, _, err := db.ChangeSettings(ctx, commerce.SettingsChange{CompanyID: author.CompanyID, Actor: "cli",
			Change: func(s *commerce.Settings) { s.ConfirmDecisions = on }})
		must(err)
	}
	rule(true)
	first, second := author, author
	first.Actor, second.Actor = "user/0195b2c0-0000-7000-8000-00000000000a", "user/0195b2c0-0000-7000-8000-00000000000b"
	must(db.ProposeDecision(ctx, first, commerce.Proposal{EvidenceDecision: commerce.EvidenceDecision{OrderID: "o1",
		InfluencerID: influencerID, Decision: commerce.DisputeAssign}}), commerce.ErrNotFound)
	seen := func() commerce.SeenProposal {
		must(db.ProposeDecision(ctx, first, commerce.Proposal{EvidenceDecision: commerce.EvidenceDecision{Decision: commerce.RuleOff}}))
		list, err := db.Proposals(ctx, second)
		must(err)
		return commerce.SeenProposal{At: list[0].At}
	}
	must(db.EndProposal(ctx, first, seen(), ""))
	must(db.ConfirmProposal(ctx, second, seen()))
	rule(true)
	rule(false)
	_, err := db.ActorNames(ctx, author.CompanyID, []string{first.Actor})
	must(err)
}

func additionalCostStatements(t *testing.T, db *merchant.Store, author commerce.Author) {
	must, ctx := mustOf(t), t.Context()
	rent := commerce.AdditionalCost{ID: "0195b2c0-0000-7000-8000-000000000000", Name: "Aluguel", ValueMinor: 1, Frequency: commerce.Monthly,
		StartDate: "2026-01-01"}
	must(db.AddAdditionalCost(ctx, author, rent))
	ahead := rent
	ahead.ID, ahead.StartDate = "0195b2c0-0000-7000-8000-000000000001", "2190-01-01" // a change of it has no past to keep
	must(db.AddAdditionalCost(ctx, author, ahead))
	for _, c := range []commerce.AdditionalCost{rent, ahead} {
		must(db.ChangeAdditionalCost(ctx, author, c.ID, c.Frequency, func(*commerce.AdditionalCost) error { return nil }))
	}
	_, err := db.AdditionalCosts(ctx, author.CompanyID, commerce.CostFilter{From: "2026-01-01"}, 10)
	must(err)
	_, err = db.AdditionalCostVersions(ctx, author.CompanyID, commerce.CostFilter{From: "2026-01-01", To: "2026-01-31"}, 10)
	must(err)
	must(db.DeleteAdditionalCost(ctx, author, rent.ID, rent.Frequency))
}

func statementStatements(t *testing.T, db *merchant.Store, opened *postgres.DB, author commerce.Author) {
	must, ctx := mustOf(t), t.Context()
	const id = "0195b2c0-0000-7000-8000-000000000001"
	_, err := opened.Pool().Exec(ctx,
		`insert into ledger_entry (company_id, order_id, entry, at, kind, influencer_id, cost_id, amount_minor, currency, rule_rev, cause,
			payable_on)
		select company_id, 'o1', 1, now(), 'earned', influencer_id, influencer_id, 100, 'BRL', 1, 'rule 1 settings', '2026-01-01' from influencer
		where company_id = $1 limit 1`, author.CompanyID)
	must(err)
	_, err = db.AskStatements(ctx, author, commerce.Closing{EndDate: "2026-01-31", InfluencerID: id}, rand.Reader)
	must(err, commerce.ErrNotFound)
	entry := commerce.NewEntry{EntryID: id, InfluencerID: id, Kind: commerce.EntryBonus, AmountMinor: 1, Currency: "BRL", Day: "2026-03-01"}
	_, err = db.ClaimEntry(ctx, author, entry)
	must(err, commerce.ErrNotFound)
	must(opened.Pool().QueryRow(ctx, `select influencer_id::text from influencer where company_id = $1 limit 1`,
		author.CompanyID).Scan(&entry.InfluencerID))
	_, err = db.ClaimEntry(ctx, author, entry)
	must(err)
	entry.AmountMinor++
	_, err = db.ClaimEntry(ctx, author, entry)
	must(err, commerce.ErrEntryExists)
	_, err = db.Payees(ctx, author.CompanyID, []string{entry.InfluencerID})
	must(err)
	_, err = db.LastPaid(ctx, author.CompanyID, []string{entry.InfluencerID})
	must(err)
	_, err = opened.Pool().Exec(ctx, `
		insert into influencer_personal (company_id, influencer_id, pix_type, pix_key, pix_at, pix_by) values ($1, $2, 'email', 'a', $3, 'key/k')
		on conflict (company_id, influencer_id) do update set pix_type = 'email', pix_key = 'a', pix_at = $3, pix_by = 'key/k'`,
		author.CompanyID, entry.InfluencerID, noon)
	must(err)
	must(db.ConfirmPix(ctx, commerce.Author{CompanyID: author.CompanyID, Actor: "user/" + id, At: noon}, entry.InfluencerID, noon))
	shown, err := db.PreviewStatements(ctx, author, commerce.Closing{EndDate: "2026-01-31"})
	must(err)
	if len(shown) != 1 || shown[0].TotalMinor.String() != "100" || shown[0].Carried {
		t.Errorf("%+v would be closed", shown)
	}
	asked, err := db.AskStatements(ctx, author, commerce.Closing{EndDate: "2026-01-31"}, rand.Reader)
	must(err)
	if len(asked) != 1 {
		t.Fatalf("asked for %+v", asked)
	}
	_, err = opened.Pool().Exec(ctx, `update statement set closed_at = now(), carried = false where company_id = $1`, author.CompanyID)
	must(err)
	must(db.Withhold(ctx, author, commerce.Withholding{StatementID: asked[0].StatementID, Invoice: "1"}))
	must(db.PayStatement(ctx, author, commerce.StatementPayment{StatementID: asked[0].StatementID, PaidAt: noon, Reference: "1"}))
	must(db.UndoPayment(ctx, author, commerce.PaymentUndo{StatementID: asked[0].StatementID, Reason: "1"}))
	for _, revoke := range []bool{false, true} {
		_, err = db.LinkNumber(ctx, author, asked[0].StatementID, revoke)
		must(err)
	}
	_, err = db.MarkRestored(ctx, map[string]commerce.LostChanges{author.CompanyID: {Rev: 1 << 30, Codes: []string{"abc"}}})
	must(err)
	_, err = db.Restored(ctx)
	must(err)
	_, err = db.ConfirmRestored(ctx, author)
	must(err)
}

func idempotencyStatements(t *testing.T, db *merchant.Store, company string) {
	must, ctx := mustOf(t), t.Context()
	claim := account.Claim{CompanyID: company, Key: "k", Keep: time.Hour} // a lease that is over at once
	first, err := db.ClaimKey(ctx, claim)
	must(err)
	claim.Lease = time.Hour
	second, err := db.ClaimKey(ctx, claim)
	must(err)
	must(first.Attempt.Finish(ctx, []byte(`{}`)), account.ErrKeyInProgress)
	must(second.Attempt.Abandon(ctx))
	third, err := db.ClaimKey(ctx, claim)
	must(err)
	must(third.Attempt.Finish(ctx, []byte(`{}`)))
	replayed, err := db.ClaimKey(ctx, claim)
	must(err)
	if replayed.Attempt != nil {
		t.Error("an answered key was claimed")
	}
	_, _, err = db.ForgetAnswers(ctx, "", 10)
	must(err)
}

func personStatements(t *testing.T, db *merchant.Store, storeID string) {
	must, ctx := mustOf(t), t.Context()
	person, err := db.CreatePerson(ctx, "ana@loja.example", "hash")
	must(err)
	must(db.SetMembership(ctx, storeID, person.ID, account.RoleOwner))
	_, err = db.CreateMember(ctx, storeID, account.RoleOwner, "bia@loja.example", "hash")
	must(err)
	_, err = db.PersonByEmail(ctx, person.Email)
	must(err)
	_, err = db.Accesses(ctx, person.ID)
	must(err)
	_, err = db.SessionAccesses(ctx, person.ID, "0195b2c0-0000-7000-8000-000000000000")
	must(err, commerce.ErrNotFound)
	token := func(name string) [32]byte { return sha256.Sum256([]byte(name)) }
	now := time.Now()
	must(db.LogInFailed(ctx, "ana@loja.example", now))
	session, err := db.StartSession(ctx, person.ID, "Chrome", token("a"), now, now.Add(time.Hour))
	must(err)
	rotation := account.SessionRotation{Token: token("a"), Next: token("b"), At: now, ExpiresAt: now.Add(time.Hour), Leeway: time.Minute}
	_, err = db.RotateSession(ctx, rotation)
	must(err)
	_, err = db.RotateSession(ctx, rotation) // a second tab
	must(err)
	rotation.At = now.Add(2 * time.Minute)
	_, err = db.RotateSession(ctx, rotation) // stolen
	must(err, commerce.ErrConflict)
	must(db.EndSession(ctx, session.Family))
	must(db.EndSessionOf(ctx, token("b")))
	must(db.SetPassword(ctx, person.ID, "new"))
	must(db.SetSecondFactor(ctx, account.SecondFactorChange{PersonID: person.ID, Actor: "test", Sealed: []byte("s"),
		RecoveryCodes: [][]byte{[]byte("r")}}))
	must(db.UseCode(ctx, person.ID, 1, []byte("s"), []byte("t")))
	must(db.UseCode(ctx, person.ID, 1, []byte("t"), []byte("t")), commerce.ErrNotFound)
	must(db.UseRecoveryCode(ctx, person.ID, []byte("r")))
	must(db.UseRecoveryCode(ctx, person.ID, []byte("r")), commerce.ErrNotFound)
	must(db.SetSecondFactor(ctx, account.SecondFactorChange{PersonID: person.ID, Actor: "test", Before: []byte("s")}), commerce.ErrConflict)
}

func memberStatements(t *testing.T, db *merchant.Store, store commerce.Store) {
	must, ctx := mustOf(t), t.Context()
	now := time.Now()
	ana, err := db.PersonByEmail(ctx, "ana@loja.example")
	must(err)
	_, err = db.PersonByID(ctx, ana.ID)
	must(err)
	token := func(name string) [32]byte { return sha256.Sum256([]byte(name)) }
	asked := account.NewInvitation{StoreID: store.StoreID, CompanyID: store.Live.CompanyID, Email: "carla@loja.example",
		Role:   account.RoleAnalyst,
		MadeBy: ana.ID, At: now, Life: time.Hour, Random: rand.Reader}
	must(db.Invite(ctx, asked, token("i")))
	_, err = db.InvitationOf(ctx, token("i"), now)
	must(err)
	carla, err := db.UseInvitation(ctx, token("i"), now, "", "hash")
	must(err)
	asked.PersonID, asked.Role = carla, ""
	must(db.Invite(ctx, asked, token("j")))
	_, err = db.UseInvitation(ctx, token("j"), now, "", "hash")
	must(err)
	_, err = db.PasswordLinks(ctx, store.Live.CompanyID, []string{carla}, now.Add(-time.Hour), 10)
	must(err)
	must(db.Invite(ctx, asked, token("k")))
	open, err := db.Invitations(ctx, store.StoreID, now)
	must(err)
	change := account.MembershipChange{StoreID: store.StoreID, CompanyID: store.Live.CompanyID, PersonID: carla,
		Role: account.RoleOwner, Actor: "test"}
	must(db.WithdrawInvitation(ctx, change, open[0].ID))
	_, err = db.Members(ctx, store.StoreID, 10)
	must(err)
	must(db.ChangeMembership(ctx, change))
	change.Role = ""
	must(db.ChangeMembership(ctx, change))
	login, err := db.StartSession(ctx, ana.ID, "Chrome", token("l"), now, now.Add(time.Hour))
	must(err)
	_, err = db.OpenSessions(ctx, ana.ID, now, 10)
	must(err)
	_, err = db.SessionAccesses(ctx, ana.ID, login.Family)
	must(err)
	_, err = db.StillWatching(ctx, []account.Watch{{PersonID: ana.ID, Family: login.Family, CompanyID: store.Live.CompanyID}})
	must(err)
	must(db.EndSessions(ctx, ana.ID, login.Family, false))
	_, err = db.Versions(ctx, store.Live.CompanyID, []string{store.Live.CompanyID})
	must(err)
	_, err = db.LastChange(ctx, store.Live.CompanyID, store.Live.CompanyID)
	must(err)
	_, _, err = db.ChangeSettings(commerce.WithVersion(ctx, commerce.Version{Subject: "nobody"}),
		commerce.SettingsChange{CompanyID: store.Live.CompanyID, Actor: "test", Change: func(s *commerce.Settings) { s.HoldDays = 9 }})
	must(err)
	_, err = db.AuditLog(ctx, store.Live.CompanyID, "", "person.", 10)
	must(err)
}

func outboxStatements(t *testing.T, db *merchant.Store) {
	must, ctx := mustOf(t), t.Context()
	_, err := db.OutboxWaits(ctx, "c_0000000000000000", 0)
	must(err)
	_, _, err = db.OutboxSize(ctx)
	must(err)
	relay, err := db.AcquireRelay(ctx)
	must(err)
	defer relay.Close()
	pending, err := relay.Pending(ctx, 1)
	must(err)
	must(relay.Published(ctx, []int64{pending[0].ID}))
}

func outboxDirectory(t *testing.T, db *merchant.Store) {
	must, ctx := mustOf(t), t.Context()
	relay, err := db.AcquireRelay(ctx)
	must(err)
	defer relay.Close()
	must(relay.Directory(ctx, "", noKeyCheck, func([]account.OutboxRecord) error { return nil }))
	must(db.Directory(ctx, func([]account.OutboxRecord) error { return nil }))
	must(db.ClaimTopics(ctx, "eu."))
	if id, prefix, claimed, err := db.Installation(ctx); err != nil || id == "" || prefix != "eu." || !claimed {
		t.Error(id, prefix, claimed, err)
	}
	if known, err := db.KnowsCompany(ctx, []string{"c_nobody"}); known || err != nil {
		t.Error(known, err)
	}
	if clusters, err := db.KafkaClusters(ctx); len(clusters) > 0 || err != nil {
		t.Error(clusters, err)
	}
}
