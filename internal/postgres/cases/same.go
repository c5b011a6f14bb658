package cases

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"

	"github.com/jackc/pgx/v5"

	"github.com/tributary-io/tributary/internal/facts"
	"github.com/tributary-io/tributary/internal/identity"
	"github.com/tributary-io/tributary/internal/packed"
	"github.com/tributary-io/tributary/internal/postgres"
)

// readSame finds by which other ids visitors were named while the hashing secret was being rotated: one
// who was seen with such an id as key, and one whose id another was seen with. mostSame bounds the rows
// of one id: a visitor has at most two other ids, and a row for each day.
var readSame = func() string {
	user := strconv.Itoa(int(facts.KeyUser.Code()))
	return `
	select v.id, o.other from unnest(@visitors::bytea[]) as v (id)
	cross join lateral (
		select distinct other from (
			(select s.key as other from observation s
			where s.company_id = @company_id and s.visitor = v.id and s.kind = ` + user +
		` and s.slot between @first_day and @last_day order by s.slot limit @most)
			union all
			(select s.visitor from observation s
			where s.company_id = @company_id and s.kind = ` + user +
		` and s.key = v.id and s.slot between @first_day and @last_day order by s.slot, s.visitor limit @most)) r
		where other <> v.id) o`
}()

// same reads which visitors are one, into the cases that a rotation of the hashing secret concerns: each
// secret names those whose ids are no UUIDs in its own way.
func (t Tx) same(ctx context.Context, companyID string, limits facts.Limits, list []*facts.Case) error {
	var visitors [][]byte
	var of []*facts.Case
	known := map[string]bool{}
	var first, last int32
	for _, c := range list {
		if !rotates(c) {
			continue
		}
		from, to := facts.SlotOf(facts.DayOf(c.Order.CreatedAt.Add(-limits.WindowAt(c.Order.CreatedAt)))),
			facts.SlotOf(facts.DayOf(c.Order.CreatedAt.Add(limits.ObservationsAfter)))
		if len(of) == 0 {
			first, last = from, to
		}
		of, first, last = append(of, c), min(first, from), max(last, to)
		for _, k := range c.Keys {
			for _, v := range k.Visitors {
				if !facts.IsSecretID(v) && !known[v] {
					known[v], visitors = true, append(visitors, packed.ID(v))
				}
			}
		}
	}
	if len(visitors) == 0 {
		return nil
	}
	var groups [][]string
	var id, other []byte
	if err := postgres.Each(ctx, t.tx, []any{&id, &other}, func() error {
		a, errA := packed.Text(id)
		b, errB := packed.Text(other)
		if errA != nil || errB != nil {
			return packed.ErrPacked
		}
		groups = joinedWith(groups, a, b)
		return nil
	}, readSame, pgx.NamedArgs{
		"company_id": companyID, "visitors": visitors, "first_day": first, "last_day": last, "most": 3 * days(limits),
	}); err != nil {
		return fmt.Errorf("read other ids of visitors: %w", err)
	}
	for _, ids := range groups {
		slices.Sort(ids)
	}
	for _, c := range of {
		c.Same = groups
	}
	return nil
}

// rotates reports whether an order was made while the hashing secret was being rotated, or its keys and
// visitors are named by two secrets.
func rotates(c *facts.Case) bool {
	if len(c.Order.Former) > 0 {
		return true
	}
	mark := ""
	another := func(id string) bool {
		is := identity.Mark(id)
		before := mark
		mark = cmp.Or(is, mark)
		return is != "" && before != "" && is != before
	}
	return slices.ContainsFunc(c.Keys, func(k facts.KeyReach) bool { return another(k.Value) || slices.ContainsFunc(k.Visitors, another) })
}

// joinedWith returns the groups of ids with two of them in one.
func joinedWith(groups [][]string, a, b string) [][]string {
	group := []string{a, b}
	kept := groups[:0:0]
	for _, ids := range groups {
		if !slices.Contains(ids, a) && !slices.Contains(ids, b) {
			kept = append(kept, ids)
			continue
		}
		for _, id := range ids {
			if !slices.Contains(group, id) {
				group = append(group, id)
			}
		}
	}
	return append(kept, group)
}
