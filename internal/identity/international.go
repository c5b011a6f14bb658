package identity

import (
	"regexp/syntax"
	"sync"

	"github.com/nyaruka/phonenumbers"
)

// internationalNumber reads a number that is written in full, with + and its
// country code; spaces, brackets, hyphens and dots may stand anywhere. It returns
// "" for any other text, which may still be a phone, and for numbers whose
// country removes or changes digits. Tests compare it with parsedPhone.
func internationalNumber(raw string) string {
	const longest = 15 // E.164, 6.1
	if raw[0] != '+' {
		return ""
	}
	var number [1 + longest]byte
	number[0] = '+'
	digits := number[:1]
	for i := 1; i < len(raw); i++ {
		switch c := raw[i]; c {
		case ' ', '(', ')', '-', '.':
		default:
			if !isDigit(c) || len(digits) == len(number) {
				return ""
			}
			digits = append(digits, c)
		}
	}
	if len(digits) > 1 && digits[1] == '0' {
		return "" // no country code begins with a zero
	}
	plans := numberPlans()
	code := 0
	for i := 1; i <= 3 && i < len(digits)-1; i++ {
		code = code*10 + int(digits[i]-'0')
		if plan := plans[code]; plan.lengths != 0 {
			first, length := digits[i+1]-'0', len(digits)-1-i
			if plan.firsts>>first&1 == 0 || plan.lengths>>length&1 == 0 {
				return ""
			}
			return string(digits)
		}
	}
	return ""
}

// numberPlan is what the library's metadata say of a country code.
type numberPlan struct {
	lengths uint32 // a bit for each possible length of a national number
	firsts  uint16 // a bit for each first digit of those that stay as they are
}

// numberPlans has a plan for each country code, an empty one where there is no
// such code.
var numberPlans = sync.OnceValue(func() *[1000]numberPlan {
	plans := &[1000]numberPlan{}
	metadata, err := phonenumbers.MetadataCollection()
	if err != nil {
		return plans // all numbers are read by the library itself
	}
	for _, m := range metadata.GetMetadata() {
		code := int(m.GetCountryCode())
		if m.GetId() != phonenumbers.GetRegionCodeForCountryCode(code) {
			continue // the library goes by the code's main region
		}
		plan := numberPlan{}
		for _, length := range m.GetGeneralDesc().GetPossibleLength() {
			if length > 0 {
				plan.lengths |= 1 << length
			}
		}
		for digit := '1'; digit <= '9'; digit++ { // a leading zero may stay or go
			if !mayBegin(m.GetNationalPrefixForParsing(), digit) {
				plan.firsts |= 1 << (digit - '0')
			}
		}
		if code == brazil { // parsedPhone checks and changes these
			plan.firsts = 0
		}
		plans[code] = plan
	}
	return plans
})

// mayBegin tells whether a match of the pattern may begin with a digit.
func mayBegin(pattern string, digit rune) bool {
	parsed, err := syntax.Parse(pattern, syntax.Perl)
	if err != nil {
		return true
	}
	program, err := syntax.Compile(parsed.Simplify())
	if err != nil {
		return true
	}
	seen := make([]bool, len(program.Inst))
	var walk func(at uint32) bool
	walk = func(at uint32) bool {
		if seen[at] {
			return false
		}
		seen[at] = true
		switch i := &program.Inst[at]; i.Op {
		case syntax.InstAlt, syntax.InstAltMatch:
			return walk(i.Out) || walk(i.Arg)
		case syntax.InstCapture, syntax.InstNop, syntax.InstEmptyWidth:
			return walk(i.Out)
		case syntax.InstMatch, syntax.InstFail: // an empty match removes nothing
			return false
		default:
			return i.MatchRune(digit)
		}
	}
	return walk(uint32(program.Start))
}
