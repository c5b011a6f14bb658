package platform

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/tributary-io/tributary/internal/commerce"
)

// Windows reads a list of a platform that can be bounded by times, and that the platform sorts in no way that can be relied on:
// pages by number would lose what is edited between two of them. The time is cut into windows instead that fit on one page each:
// an edit moves an order to a later window. The last one, of about ten minutes, may need several pages: what is edited between these
// is found by the reader's next poll, which begins a little before the greatest update time that it has stored.
type Windows struct {
	Size     int       // of a full page
	From, To time.Time // To is zero where the list has no end
	// Ask reads one page of the orders from a time on and before another, which may be zero, or a little more on both sides.
	// total is how many there are on all pages, below 0 where it is not told; more: another page follows.
	Ask func(ctx context.Context, from, to time.Time, page int) (raw []json.RawMessage, total int64, more bool, err error)
}

const (
	mostSplits = 40 // of one window
	// settled is how long ago a moment is after which no order gets an update time before it: clocks differ.
	settled = 10 * time.Minute
	// leastCut is how much of the time before that is worth windows of its own: with less a reader would go on as slowly as time does.
	leastCut = time.Minute
)

// WindowPage is one page of a window.
type WindowPage struct {
	Raw      []json.RawMessage
	From, To time.Time // the window's; To zero: it has no end
	Next     string    // the next token; empty: the last page
	Total    int64     // of all windows, as the first request counted; 0: not told
}

// place is where a listing stands: its window begins at from and is span long (0: to the end), and page of it comes next.
type place struct {
	from  time.Time
	span  time.Duration
	page  int
	total int64
}

func (p place) String() string {
	return fmt.Sprintf("%d.%d.%d.%d", p.from.Unix(), p.span/time.Second, p.page, p.total)
}

func readPlace(token string, from time.Time) (place, error) {
	if token == "" {
		return place{from: from, page: 1}, nil
	}
	var p place
	var seconds, span int64
	n, err := fmt.Sscanf(token, "%d.%d.%d.%d", &seconds, &span, &p.page, &p.total)
	if n != 4 || err != nil || span < 0 || span > 1<<32 || p.page < 1 {
		return place{}, Unread("the page's token")
	}
	p.from, p.span = time.Unix(seconds, 0).UTC(), time.Duration(span)*time.Second
	return p, nil
}

// Read reads the page that a token names; the first one for "".
func (w Windows) Read(ctx context.Context, token string) (WindowPage, error) {
	p, err := readPlace(token, w.From)
	if err != nil {
		return WindowPage{}, err
	}
	for range mostSplits {
		end := w.end(p)
		raw, total, more, err := w.Ask(ctx, p.from, end, p.page)
		if err != nil {
			return WindowPage{}, err
		}
		if p.total == 0 {
			p.total = max(total, 0)
		}
		if span := w.narrower(p, total); span > 0 {
			p.span = span
			continue
		}
		page := WindowPage{Raw: raw, From: p.from, To: end, Total: p.total}
		switch {
		case more && end.IsZero():
			page.Next = place{p.from, 0, p.page + 1, p.total}.String() // as time goes on it must not get an end
		case more:
			page.Next = place{p.from, p.span, p.page + 1, p.total}.String()
		case !end.IsZero() && (w.To.IsZero() || end.Before(w.To)):
			if p.page == 1 && len(raw) < w.Size/4 {
				p.span *= 2
			}
			page.Next = place{end, p.span, 1, p.total}.String()
		}
		return page, nil
	}
	return WindowPage{}, &Error{Reason: commerce.ShopUnknownShape, Detail: "the number of orders"}
}

// Page is Read with its orders read: those that were created in the window, oldest first, where created is set, else all that came,
// by their last change.
func (w Windows) Page(ctx context.Context, token string, created bool, read func(body []byte) Item) (Page, error) {
	raw, err := w.Read(ctx, token)
	page := Page{Next: raw.Next, Total: raw.Total}
	for _, body := range raw.Raw {
		if item := read(body); !created || raw.Has(item.CreatedAt) {
			page.Items = append(page.Items, item)
		}
	}
	slices.SortStableFunc(page.Items, func(a, b Item) int {
		if created {
			return a.CreatedAt.Compare(b.CreatedAt)
		}
		return a.UpdatedAt.Compare(b.UpdatedAt)
	})
	return page, err
}

// end is where a window ends; zero: it has no end. One without an end is the last one: what is not settled belongs to it.
func (w Windows) end(p place) time.Time {
	end := p.from.Add(p.span).Truncate(time.Second)
	switch {
	case p.span == 0 || !w.To.IsZero() && !end.Before(w.To):
		return w.To
	case w.To.IsZero() && end.After(time.Now().Add(-settled)):
		return time.Time{}
	}
	return end
}

// narrower is the span of a window that holds about half a page, where this one holds more than a page; 0: it stays as it is.
func (w Windows) narrower(p place, total int64) time.Duration {
	last, least := w.To, 2*time.Second // moment at which it may be cut
	if w.end(p).IsZero() {
		last, least = time.Now().Add(-settled), leastCut
	} else if last.IsZero() {
		last = time.Now().Add(-settled)
	}
	width := last.Sub(p.from)
	if p.span > 0 {
		width = min(width, p.span)
	}
	if p.page > 1 || total <= int64(w.Size) || width < least {
		return 0
	}
	share := time.Duration(int64(width/time.Second) * int64(w.Size) / (2 * total))
	return min(max(share, 1), width/time.Second/2) * time.Second
}

// Has says whether a time is in the page's window; an unknown one may be.
func (p WindowPage) Has(at time.Time) bool {
	return at.IsZero() || !at.Before(p.From) && (p.To.IsZero() || at.Before(p.To))
}
