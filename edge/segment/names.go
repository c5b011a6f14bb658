package segment

import (
	"strings"

	"github.com/tributary-io/tributary/internal/fold"
	"github.com/tributary-io/tributary/sdk/core"
)

// The names of events that are no track calls.
var callNames = map[Call]string{
	Page: core.PageView, Screen: "SCREEN_VIEW", Identify: "IDENTIFY", Group: "GROUP", Alias: "ALIAS",
}

// known are the five events of ours by all names that they have, in the form of an own name.
var known = knownNames()

func knownNames() map[string]string {
	names := map[string]string{}
	for _, name := range core.Names() {
		names[ownName(name)], _ = core.CanonicalName(name)
	}
	return names
}

// eventName is the name of the message's event: that of its call, one of the five where the
// track call's event is a spelling of it, in any case, else a name of its own.
func (m *message) eventName() (string, *core.Violation) {
	if m.call != Track {
		if name := callNames[m.call]; name != "" {
			return name, nil
		}
		return "", &core.Violation{Code: core.CodeInvalidEvent, Field: "type",
			Message: "must be track, page, screen, identify, group or alias"}
	}
	name := ownName(m.event)
	switch {
	case m.event == "":
		return "", &core.Violation{Code: core.CodeInvalidEventName, Field: "event", Message: "is missing, or is no text"}
	case name == "":
		return "", &core.Violation{Code: core.CodeInvalidEventName, Field: "event", Message: "has no Latin letter and no digit"}
	case known[name] != "":
		return known[name], nil
	case name == core.LinkClick: // which short links alone make
		return "LINK_CLICKED", nil
	}
	return name, nil
}

const maxName = 64 // bytes

// ownName writes a name in the form [A-Z][A-Z0-9_]{0,63}: "Produto Visualizado" is
// PRODUTO_VISUALIZADO. It is "" for a text without Latin letters and digits.
func ownName(text string) string {
	var b strings.Builder
	gap := false
	for _, c := range []byte(fold.Name(text)) {
		switch {
		case c >= 'a' && c <= 'z':
			c -= 'a' - 'A'
		case c >= '0' && c <= '9':
			if b.Len() == 0 {
				b.WriteString("EVENT_")
			}
		default:
			gap = b.Len() > 0
			continue
		}
		if gap {
			b.WriteByte('_')
			gap = false
		}
		b.WriteByte(c)
	}
	name := b.String()
	if len(name) > maxName {
		name = strings.TrimRight(name[:maxName], "_")
	}
	return name
}
