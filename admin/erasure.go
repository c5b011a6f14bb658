package admin

import (
	"context"
	"errors"

	"github.com/tributary-io/tributary/internal/commerce"
	"github.com/tributary-io/tributary/internal/facts"
)

// erasureRecord is an erasure as it is answered.
type erasureRecord struct {
	ID    string `json:"id"`
	State string `json:"state"` // commerce.Erasing or commerce.Erased
}

// erase is POST /erasures: asks to remove a person. What names the person goes no further
// than its keyed hashes.
func (s *Server) erase(_ context.Context, c caller, o object) (change, error) {
	person := commerce.DataSubject{
		Email: optional(o, "email", given).Value, Phone: optional(o, "phone", given).Value,
		CustomerID: optional(o, "customer_id", given).Value, Visitor: optional(o, "visitor", given).Value,
	}
	if !o.bad.Any() {
		o.bad.AddAll(person.Check())
	}
	keys, wrong := facts.SubjectKeys(person, c.keys)
	for _, field := range wrong {
		o.bad.Add(field, commerce.CodeInvalidValue, "names nobody: no order and no visit can have it")
	}
	return func(ctx context.Context, author commerce.Author) (answer, error) {
		e, err := s.deps.Database.AskErasure(ctx, author, person.Kinds(), keys, s.random)
		if errors.Is(err, commerce.ErrTooManyErasures) {
			o.bad.Add(person.Kinds()[0], commerce.CodeTooMany, "%d erasures are not done yet: ask again when some are", commerce.MaxErasing)
			return answer{}, brokenRules(o.bad)
		}
		if err != nil {
			return answer{}, err
		}
		return answer{data: erasureRecord{e.ErasureID, e.State}}, nil
	}, o.broken()
}
