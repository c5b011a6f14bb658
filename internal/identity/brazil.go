package identity

// brazilianMobile reads the most frequent kind of phone, a mobile number of
// Brazil written in full: area, 9 and eight digits, after +55 or, in Brazil,
// after 55 or nothing; with spaces, brackets, hyphens and dots anywhere. It
// returns "" for any other text, which may still be a phone. A test compares it
// with parsedPhone.
func brazilianMobile(raw, country string) string {
	const code, national = len("+55"), len("11987654321")
	var number [code + national]byte
	digits := number[:1]
	international := raw[0] == '+'
	if international {
		raw = raw[1:]
	}
	for i := range len(raw) {
		switch c := raw[i]; c {
		case ' ', '(', ')', '-', '.':
		default:
			if !isDigit(c) || len(digits) == len(number) {
				return ""
			}
			digits = append(digits, c)
		}
	}
	if !international && country != "BR" {
		return ""
	}
	whole := len(digits) == len(number) && number[1] == '5' && number[2] == '5'
	if !whole {
		if international || len(digits) != 1+national {
			return ""
		}
		copy(number[code:], number[1:])
		number[1], number[2] = '5', '5'
	}
	if !brazilianArea(number[3], number[4]) || number[5] != '9' {
		return ""
	}
	number[0] = '+'
	return string(number[:])
}

// brazilianArea tells whether an area code is in use (Anatel's Plano Geral de
// Códigos Nacionais): of all from 11 to 99 without a zero, these are not.
func brazilianArea(tens, units byte) bool {
	if tens < '1' || units < '1' {
		return false
	}
	switch tens {
	case '2':
		return units != '3' && units != '5' && units != '6' && units != '9'
	case '3':
		return units != '6' && units != '9'
	case '5':
		return units != '2' && units < '6'
	case '7':
		return units != '2' && units != '6' && units != '8'
	}
	return true
}
