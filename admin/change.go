package admin

import (
	"context"
	"net/http"

	"github.com/tributary-io/tributary/internal/background"
	"github.com/tributary-io/tributary/internal/commerce"
)

// change is a change of rules that was read and checked. It makes itself in an author's
// name, and returns the answer.
type change func(ctx context.Context, author commerce.Author) (answer, error)

// changeReader reads a change from a body and checks it.
type changeReader func(ctx context.Context, c caller, o object) (change, error)

// makes returns the handler of a route that changes rules.
func (s *Server) makes(read changeReader) handler {
	return func(w http.ResponseWriter, r *http.Request, c caller) (answer, error) {
		o, err := readObject(w, r)
		if err != nil {
			return answer{}, err
		}
		if id := r.PathValue("orderId"); id != "" {
			o.values["orderId"] = id
		}
		made, err := read(r.Context(), c, o)
		if err != nil {
			return answer{}, err
		}
		ctx, cancel := context.WithTimeout(r.Context(), s.config.DependencyTimeout)
		defer cancel()
		result, err := made(ctx, c.author(s.now()))
		if err == nil {
			background.Wake(s.wake)
		}
		return result, err
	}
}
