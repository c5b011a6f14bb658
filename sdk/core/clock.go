package core

const (
	second = 1000 // milliseconds
	day    = 24 * 60 * 60 * second
	// maxTime is 9999-12-31T23:59:59.999Z: RFC 3339 has four digits for a year.
	maxTime = 253402300799999
	// lastTime is 2199-12-31T23:59:59.999Z, the last instant of a fact
	// (internal/commerce.Recordable is the processor's check of it).
	lastTime = 7258118399999
)

// Recordable tells whether Unix milliseconds lie in the years 1970 to 2199: only
// then can an event of that time be stored.
func Recordable(ms int64) bool { return ms >= 0 && ms <= lastTime }

// ParseTime reads an RFC 3339 date and time as Unix milliseconds, UTC. Digits
// below a millisecond are cut. Years 0000 to 9999; a leap second counts as
// the first of the next minute.
func ParseTime(s string) (int64, bool) {
	if len(s) < len("2006-01-02T15:04:05Z") || s[4] != '-' || s[7] != '-' || s[10]|0x20 != 't' || s[13] != ':' || s[16] != ':' {
		return 0, false
	}
	year, ok1 := digits(s[0:4], 9999)
	month, ok2 := digits(s[5:7], 12)
	date, ok3 := digits(s[8:10], 31)
	hour, ok4 := digits(s[11:13], 23)
	minute, ok5 := digits(s[14:16], 59)
	sec, ok6 := digits(s[17:19], 60)
	if !(ok1 && ok2 && ok3 && ok4 && ok5 && ok6) || month == 0 || date == 0 || date > daysIn(year, month) {
		return 0, false
	}
	ms := int64(0)
	rest := s[19:]
	if rest[0] == '.' {
		n := 1
		for n < len(rest) && rest[n] >= '0' && rest[n] <= '9' {
			switch n {
			case 1:
				ms += int64(rest[n]-'0') * 100
			case 2:
				ms += int64(rest[n]-'0') * 10
			case 3:
				ms += int64(rest[n] - '0')
			}
			n++
		}
		if n == 1 || n > 10 { // nobody sends more digits than nanoseconds have
			return 0, false
		}
		rest = rest[n:]
	}
	offset, ok := parseOffset(rest)
	if !ok {
		return 0, false
	}
	t := daysSinceEpoch(year, month, date)*day + (hour*3600+minute*60+sec-offset)*second + ms
	return t, true
}

// parseOffset reads "Z" or "+03:00" as seconds east of UTC.
func parseOffset(s string) (int64, bool) {
	if s == "Z" || s == "z" {
		return 0, true
	}
	if len(s) != len("+03:00") || s[3] != ':' || s[0] != '+' && s[0] != '-' {
		return 0, false
	}
	h, ok1 := digits(s[1:3], 23)
	m, ok2 := digits(s[4:6], 59)
	offset := h*3600 + m*60
	if s[0] == '-' {
		offset = -offset
	}
	return offset, ok1 && ok2
}

func digits(s string, max int64) (n int64, ok bool) {
	for i := 0; i < len(s); i++ {
		if s[i] < '0' || s[i] > '9' {
			return 0, false
		}
		n = n*10 + int64(s[i]-'0')
	}
	return n, n <= max
}

// AppendTime appends Unix milliseconds as RFC 3339 in UTC, with milliseconds.
// Times outside the years 0 to 9999 are clamped to them.
func AppendTime(dst []byte, ms int64) []byte {
	ms = min(max(ms, -62167219200000), maxTime)
	days := ms / day
	rest := ms % day
	if rest < 0 {
		rest += day
		days--
	}
	year, month, date := civil(days)
	seconds, millis := uint32(rest/second), uint32(rest%second)
	const form = "0000-00-00T00:00:00.000Z"
	begin := len(dst)
	dst = append(dst, form...)
	b := dst[begin : begin+len(form)]
	twoDigits(b[0:2], uint32(year/100))
	twoDigits(b[2:4], uint32(year%100))
	twoDigits(b[5:7], uint32(month))
	twoDigits(b[8:10], uint32(date))
	twoDigits(b[11:13], seconds/3600)
	twoDigits(b[14:16], seconds/60%60)
	twoDigits(b[17:19], seconds%60)
	b[20] = byte('0' + millis/100)
	twoDigits(b[21:23], millis%100)
	return dst
}

func twoDigits(to []byte, n uint32) { to[0], to[1] = byte('0'+n/10), byte('0'+n%10) }

func daysIn(year, month int64) int64 {
	switch month {
	case 2:
		if year%4 == 0 && (year%100 != 0 || year%400 == 0) {
			return 29
		}
		return 28
	case 4, 6, 9, 11:
		return 30
	}
	return 31
}

// daysSinceEpoch and civil are Howard Hinnant's days_from_civil and
// civil_from_days (chrono-Compatible Low-Level Date Algorithms): the time
// package would cost the browser 69 KB.
func daysSinceEpoch(year, month, date int64) int64 {
	if month <= 2 {
		year--
	}
	era := floor(year, 400)
	yoe := year - era*400
	doy := (153*((month+9)%12)+2)/5 + date - 1
	return era*146097 + yoe*365 + yoe/4 - yoe/100 + doy - 719468
}

func civil(days int64) (year, month, date int64) {
	days += 719468
	era := floor(days, 146097)
	doe := days - era*146097
	yoe := (doe - doe/1460 + doe/36524 - doe/146096) / 365
	doy := doe - (365*yoe + yoe/4 - yoe/100)
	mp := (5*doy + 2) / 153
	month = (mp+2)%12 + 1
	year = yoe + era*400
	if month <= 2 {
		year++
	}
	return year, month, doy - (153*mp+2)/5 + 1
}

func floor(a, b int64) int64 {
	if a < 0 {
		return (a - b + 1) / b
	}
	return a / b
}

// ValidUUIDv7 tells whether s is a UUID of version 7 (RFC 9562) in its
// 36-character form, in either case.
func ValidUUIDv7(s string) bool {
	if len(s) != 36 || s[14] != '7' || unhex(s[19])&^3 != 8 { // 8, 9, a, b
		return false
	}
	for i := 0; i < len(s); i++ {
		if i == 8 || i == 13 || i == 18 || i == 23 {
			if s[i] != '-' {
				return false
			}
		} else if unhex(s[i]) < 0 {
			return false
		}
	}
	return true
}

// AppendUUIDv7 appends a UUID of version 7 (RFC 9562, 5.7), in lower case: ms, Unix milliseconds, and then rest, but
// for the bits of the version and of the variant.
func AppendUUIDv7(dst []byte, ms int64, rest [10]byte) []byte {
	id := [16]byte{byte(ms >> 40), byte(ms >> 32), byte(ms >> 24), byte(ms >> 16), byte(ms >> 8), byte(ms)}
	copy(id[6:], rest[:])
	id[6] = id[6]&0x0f | 0x70
	id[8] = id[8]&0x3f | 0x80
	for i, b := range id {
		if i == 4 || i == 6 || i == 8 || i == 10 {
			dst = append(dst, '-')
		}
		dst = append(dst, hexDigits[b>>4], hexDigits[b&15])
	}
	return dst
}

// UUIDv7Time is the time inside a valid UUIDv7, Unix milliseconds.
func UUIDv7Time(s string) (ms int64) {
	if len(s) != 36 {
		return 0
	}
	for i := 0; i < 13; i++ {
		if i != 8 {
			ms = ms<<4 | int64(unhex(s[i]))
		}
	}
	return ms
}
