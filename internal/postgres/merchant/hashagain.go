package merchant

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/tributary-io/tributary/internal/commerce"
	"github.com/tributary-io/tributary/internal/postgres"
	"github.com/tributary-io/tributary/internal/wire"
)

func contactColumns(c *commerce.Contacts) postgres.Columns {
	return postgres.Columns{
		postgres.Into("influencer_id::text", &c.InfluencerID),
		postgres.Into("email", &c.Email),
		postgres.Into("phone", &c.Phone),
		postgres.Into("document", &c.Document),
	}
}

// HashAgain looks at the contacts of the next influencers after a place, limit at most, and adds those keys that they lack: by a
// hashing secret of after they were saved. They count for orders from now on. It returns the place of the last one, and false
// behind the last one of all companies. Of a company that is archived nothing is added. Where a company fails, the place is behind
// that company, and the error names it; where none was reached, the place is after.
func (s *Store) HashAgain(ctx context.Context, after commerce.ContactsPlace, limit int, at time.Time,
	keys commerce.ContactKeys) (next commerce.ContactsPlace, more bool, err error) {
	next, more, err = s.hashAgain(ctx, after, limit, at, keys)
	return next, more, postgres.Wrapf(postgres.Translate(err), "postgres: hash contacts of company %q again", next.CompanyID)
}

func (s *Store) hashAgain(ctx context.Context, after commerce.ContactsPlace, limit int, at time.Time,
	keys commerce.ContactKeys) (next commerce.ContactsPlace, more bool, err error) {
	var id, country string
	err = s.db.Pool().QueryRow(ctx, `
		select company_id, country from company where (company_id > @company_id or company_id = @company_id and @begun) and archived_at is null
		order by company_id limit 1`, pgx.NamedArgs{"company_id": after.CompanyID, "begun": after.InfluencerID != ""}).Scan(&id, &country)
	if errors.Is(err, pgx.ErrNoRows) {
		return after, false, nil
	}
	if err != nil {
		return after, false, err
	}
	if id != after.CompanyID {
		after = commerce.ContactsPlace{CompanyID: id}
	}
	list, err := postgres.Collect(ctx, s.db.Pool(), postgres.Scan(contactColumns), `
		select `+postgres.List(contactColumns)+` from influencer_personal
		where company_id = @company_id and influencer_id > coalesce(nullif(@after, ''), '00000000-0000-0000-0000-000000000000')::uuid
			and (email <> '' or phone <> '' or document <> '')
		order by influencer_id limit @limit`, pgx.NamedArgs{"company_id": id, "after": after.InfluencerID, "limit": limit})
	if err != nil {
		return commerce.ContactsPlace{CompanyID: id}, false, err
	}
	lacking, err := s.lackingContacts(ctx, id, country, list, keys)
	if err == nil && len(lacking) > 0 {
		err = s.addContactKeys(ctx, commerce.Author{CompanyID: id, Actor: "admin/rotation", At: at}, country, lacking, keys)
	}
	if err != nil || len(list) < limit {
		return commerce.ContactsPlace{CompanyID: id}, err == nil, err
	}
	return commerce.ContactsPlace{CompanyID: id, InfluencerID: list[limit-1].InfluencerID}, true, nil
}

// lackingContacts returns the ids of the influencers who lack one of their keys.
func (s *Store) lackingContacts(ctx context.Context, companyID, country string, list []commerce.Contacts,
	keys commerce.ContactKeys) (ids []string, err error) {
	var all []string
	for _, c := range list {
		all = append(all, c.InfluencerID)
	}
	known := map[string]bool{}
	var id string
	var kind int16
	var key []byte
	err = postgres.Each(ctx, s.db.Pool(), []any{&id, &kind, &key}, func() error {
		known[fmt.Sprint(id, kind, key)] = true
		return nil
	}, `select influencer_id::text, kind, key from influencer_identity
		where company_id = @company_id and influencer_id = any(@ids::uuid[]) and until is null`,
		pgx.NamedArgs{"company_id": companyID, "ids": notNil(all)})
	for _, c := range list {
		for _, k := range keys(companyID, country, c) {
			if !known[fmt.Sprint(c.InfluencerID, k.Kind, k.Key)] {
				ids = append(ids, c.InfluencerID)
				break
			}
		}
	}
	return ids, err
}

// addContactKeys adds the keys that influencers lack, of the contacts that they have now.
func (s *Store) addContactKeys(ctx context.Context, author commerce.Author, country string, ids []string,
	keys commerce.ContactKeys) error {
	err := s.changeRules(ctx, author, func(c *ruleChange) error {
		list, err := postgres.Collect(ctx, c.tx, postgres.Scan(contactColumns), `
			select `+postgres.List(contactColumns)+` from influencer_personal
			where company_id = @company_id and influencer_id = any(@ids::uuid[]) order by influencer_id`,
			pgx.NamedArgs{"company_id": author.CompanyID, "ids": ids})
		if err != nil {
			return err
		}
		added := 0
		for _, contacts := range list {
			lacking, err := c.lackingKeys(ctx, contacts.InfluencerID, keys(author.CompanyID, country, contacts), nil)
			if err != nil {
				return err
			}
			if len(lacking) == 0 {
				continue // saved again since it was looked at
			}
			added++
			if err := c.setIdentities(ctx, contacts.InfluencerID, nil, lacking); err != nil {
				return err
			}
			if err := c.outbox.rule(c.change, contacts.InfluencerID,
				wire.Rule{Type: wire.RuleInfluencer, Change: wire.RuleUpdated, InfluencerID: contacts.InfluencerID}); err != nil {
				return err
			}
		}
		c.change.Action, c.change.Subject = "influencer.hash", author.CompanyID
		c.change.Detail = map[string]any{"influencers": added}
		if added == 0 {
			return errNoneLacks
		}
		return nil
	})
	if errors.Is(err, errNoneLacks) || errors.Is(err, commerce.ErrArchived) {
		return nil
	}
	return err
}

// errNoneLacks rolls back a change that changes nothing.
var errNoneLacks = errors.New("no influencer lacks a key")
