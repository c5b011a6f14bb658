package edge

import (
	"strconv"
	"strings"

	"github.com/tributary-io/tributary/internal/identity"
	"github.com/tributary-io/tributary/internal/scrub"
	"github.com/tributary-io/tributary/internal/wire"
	"github.com/tributary-io/tributary/sdk/core"
)

// landingClick is what the trb_click in a page's URL says, nil for none.
func (s *Server) landingClick(pageURL string) *wire.Click {
	if !strings.Contains(pageURL, core.TrbClick+"=") {
		return nil
	}
	_, ids := core.ParseCampaign(pageURL)
	for _, id := range ids {
		if id.Name == core.TrbClick {
			return s.readClick(id.Value)
		}
	}
	return nil
}

// readClick reads a trb_click, signed or as it was before signatures; nil for a
// text of another form.
func (s *Server) readClick(text string) *wire.Click {
	name, _, verified := s.signer.Verify(identity.SignedClick, text)
	if !verified {
		name = wire.ClickName(text)
	}
	code, id, _ := strings.Cut(name, ".")
	if shortCode(code) != code || code == "" || !core.ValidUUIDv7(id) {
		return nil
	}
	return &wire.Click{ID: strings.ToLower(id), Code: code, Verified: verified}
}

func (s *Server) appendClick(dst []byte, click *wire.Click, companyID string) []byte {
	dst = append(dst, `,"click":{"id":`...)
	dst = core.AppendString(dst, click.ID)
	dst = appendMember(dst, 0, "code", click.Code)
	dst = append(dst, `,"verified":`...)
	dst = strconv.AppendBool(dst, click.Verified)
	dst = appendMember(dst, 0, "linkId", click.LinkID)
	if !scrub.Clean(click.Destination) {
		keep := func(value string) bool { return s.directory.isName(companyID, value) }
		click.Destination = scrub.Keeping(click.Destination, keep, scrub.Text)
	}
	dst = appendMember(dst, 0, "destination", click.Destination)
	return append(dst, '}')
}
