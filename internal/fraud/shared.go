package fraud

// The bounds of SharedPlace and SharedNetwork.
const (
	sharedBuyers = 8  // with one code at one place, at least: more than a household, or colleagues who tell each other
	sharedPoints = 40 // of a hundred: above the code's part elsewhere by that much at least
	sharedMost   = 2  // more than one in so many buyers there: where most use other codes or none, it is an office or a town
)

// shared finds codes that many buyers of one postal code or network use, though
// few buyers elsewhere do. A household is too small for it; in a town, an office or
// a mobile network, most buyers use no code or others.
func shared(sales []Sale, buyers []string, kind Kind, placeOf func(*Sale) string) []Signal {
	everyone := map[string]bool{}
	withCode := map[string]map[string]bool{} // buyers by code
	at := map[string]map[string]bool{}       // buyers by place
	here := map[string]*usedAt{}             // by place and code
	for i := range sales {
		s, buyer := &sales[i], buyers[i]
		if buyer == "" {
			continue
		}
		everyone[buyer] = true
		if s.Code != "" {
			add(withCode, s.Code, buyer)
		}
		place := placeOf(s)
		if place == "" {
			continue
		}
		add(at, place, buyer)
		if s.Code != "" {
			key := s.Code + "\x00" + place
			if here[key] == nil {
				here[key] = &usedAt{place: place, code: s.Code, buyers: map[string]bool{}}
			}
			here[key].buyers[buyer] = true
			here[key].sales = append(here[key].sales, s)
		}
	}
	var found []Signal
	for _, key := range sortedKeys(here) {
		used := here[key]
		seen := Rate{len(used.buyers), len(at[used.place])}
		elsewhere := Rate{len(withCode[used.code]) - seen.Count, len(everyone) - seen.Of}
		if seen.Count >= sharedBuyers && seen.Count*sharedMost > seen.Of && above(seen, elsewhere, sharedPoints) {
			s := sign(kind, used.sales[0].Influencer, seen, elsewhere, used.sales)
			s.Code = used.code
			found = append(found, s)
		}
	}
	return found
}

// usedAt are the sales by one code at one place.
type usedAt struct {
	place, code string
	buyers      map[string]bool
	sales       []*Sale
}

func add(sets map[string]map[string]bool, name, member string) {
	if sets[name] == nil {
		sets[name] = map[string]bool{}
	}
	sets[name][member] = true
}
