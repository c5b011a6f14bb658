package core

import (
	"strconv"
	"strings"
)

// rawPayload is Raw for a payload. canonical tells that it has our own list of items,
// each of them valid, and no other that may be one: that is what nearly all have, and
// normalPayload leaves it as it is.
func (s *Scanner) rawPayload() (raw string, canonical bool) {
	start, dirty := s.beginRaw()
	canonical = s.skipPayload()
	return s.endRaw(start, dirty), canonical && s.fault == NoFault
}

func (s *Scanner) skipPayload() (canonical bool) {
	s.Enter()
	lists, canonical := 0, true
	for {
		name, decode, ok := s.key()
		if !ok {
			return canonical && lists == 1
		}
		switch {
		case name == "items" && !decode:
			lists++
			canonical = s.skipItems() && canonical
			continue
		case decode, name == "products", name == "lineItems", name == "line_items", name == "checkout":
			canonical = false
		}
		s.Skip()
	}
}

func (s *Scanner) skipItems() (canonical bool) {
	if s.Kind() != Array {
		s.Skip()
		return false
	}
	s.Enter()
	n, canonical := 0, true
	for s.Element() {
		canonical = s.skipItem() && canonical
		n++
	}
	return canonical && n > 0
}

// skipItem tells whether an item has one item_id and one item_quantity, both valid,
// and nothing that may stand for one of them.
func (s *Scanner) skipItem() (canonical bool) {
	if s.Kind() != Object {
		s.Skip()
		return false
	}
	s.Enter()
	id, quantity, canonical := false, false, true
	for {
		name, decode, ok := s.key()
		if !ok {
			return canonical && id && quantity
		}
		switch {
		case name == "item_id" && !id && s.Kind() == String:
			text, plain := s.plain()
			if id = plain && strings.TrimSpace(text) != ""; plain {
				canonical = canonical && id
				continue
			}
			canonical = false
		case name == "item_quantity" && !quantity && s.Kind() == Number:
			start := s.at
			s.Skip()
			q, err := strconv.ParseInt(s.text[start:s.at], 10, 64)
			quantity = err == nil && q >= 1 && q <= maxQuantity
			canonical = canonical && quantity
			continue
		case decode, idRank(name) > 0, quantityRank(name) > 0, name == "variant":
			canonical = false
		}
		s.Skip()
	}
}
