package events

import (
	"context"
	"slices"

	"github.com/tributary-io/tributary/admin/dashboard/inspect"
	"github.com/tributary-io/tributary/admin/dashboard/site"
	"github.com/tributary-io/tributary/internal/wire"
)

// erasedLines looks again at events that a page waits for, by their ids: of those that
// are not stored because their person was erased meanwhile, it returns the line that says
// so, as HTML by the event's id.
func (s *Pages) erasedLines(ctx context.Context, v site.Request, waiting []string) (map[string]string, error) {
	end, err := s.reading.Take(ctx, v.Access.PersonID)
	if err != nil {
		return nil, err
	}
	defer end()
	tail, err := s.eventLog.Tail(ctx, wire.TopicEvents, []byte(v.Current.CompanyID), -1, mostTail)
	if err != nil {
		return nil, err
	}
	index, err := s.indexOf(ctx, v.Current.CompanyID)
	if err != nil {
		return nil, err
	}
	var found foundEvents
	var ids []string // of the lines
	zone := v.Zone()
	for _, value := range tail.Values {
		if wire.IsNotice(value) {
			continue
		}
		if e := inspect.Record(value, index); e.Fault == "" && slices.Contains(waiting, e.ID) {
			found.add("", viewEvent(v, &e, zone))
			ids = append(ids, e.ID)
		}
	}
	if err := s.markErased(ctx, v, &found); err != nil {
		return nil, err
	}
	erased := map[string]string{}
	for i := range found.lines {
		if found.lines[i].Kept {
			continue
		}
		html, err := s.Fragment(v.Lang, "events.html", "event-lines", found.lines[i:i+1])
		if err != nil {
			return nil, err
		}
		erased[ids[i]] = html
	}
	return erased, nil
}
