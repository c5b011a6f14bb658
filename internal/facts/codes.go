package facts

import "fmt"

// kindCodes are the numbers by which kinds are stored.
var kindCodes = func() map[KeyKind]int16 {
	codes := map[KeyKind]int16{}
	for _, k := range keyKinds {
		codes[k.kind] = k.code
	}
	return codes
}()

// Code returns the number by which the kind is stored.
func (k KeyKind) Code() int16 { return kindCodes[k] }

// Codes returns the numbers of kinds.
func Codes(kinds []KeyKind) []int16 {
	codes := make([]int16, len(kinds))
	for i, k := range kinds {
		codes[i] = k.Code()
	}
	return codes
}

// KindOf returns the kind of a number. An unknown number is an error: another version
// of the program wrote it.
func KindOf(code int16) (KeyKind, error) {
	for _, k := range keyKinds {
		if k.code == code {
			return k.kind, nil
		}
	}
	return "", fmt.Errorf("no kind of key has the number %d", code)
}

// hubCodes are the hubs of keys by the number by which they are stored. They never
// change.
var hubCodes = [...]Hub{NoHub, HubOfOrders, HubOfVisitors, HubOfKeys}

// Code returns the number by which the hub of a key is stored.
func (h Hub) Code() int16 {
	for code, known := range hubCodes {
		if known == h {
			return int16(code)
		}
	}
	panic("facts: " + string(h) + " is no hub of a key")
}

// HubOf returns the hub of a number. An unknown number is an error.
func HubOf(code int16) (Hub, error) {
	if code < 0 || int(code) >= len(hubCodes) {
		return "", fmt.Errorf("no hub has the number %d", code)
	}
	return hubCodes[code], nil
}
