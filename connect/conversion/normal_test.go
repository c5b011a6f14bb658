package conversion

import "testing"

// Cases that Meta publishes with its capi-param-builder (nodejs/capi-param-builder/tests), by which its pixel and this side agree. Values
// that are hashed already are not among them: an order has none.
func TestTextsAreNormalisedAsMetaDoes(t *testing.T) {
	t.Parallel()
	for name, of := range map[string]struct {
		f     func(string) string
		cases map[string]string
	}{
		"email": {email, map[string]string{
			"     John_Smith@gmail.com    ": "john_smith@gmail.com", "\tTEST@EXAMPLE.COM\n": "test@example.com",
			"user.name+tag@domain.co.uk": "user.name+tag@domain.co.uk", "test'name@example.com": "test'name@example.com",
			"test`name@example.com": "test`name@example.com", "test{name@example.com": "test{name@example.com",
			"email123@123domain.com": "email123@123domain.com", "x@y.co": "x@y.co", "test-email@example-domain.com": "test-email@example-domain.com",
			"": "", " \t\n\r ": "", "plaintext": "", "@example.com": "", "test@": "", "test..test@example.com": "", "test@example": "",
			"test@example.": "", "test @example.com": "", "test@exam ple.com": "", "test@@example.com": "", "test@.example.com": "",
			"test@example..com": "", ".test@example.com": "", "test.@example.com": "", "test@example.com.": "",
		}},
		"phone": {metaPhone, map[string]string{
			"+1 (616) 954-78 88": "16169547888", "1(650)123-4567": "16501234567", "+001 (616) 954-78 88": "16169547888",
			"01(650)123-4567": "16501234567", "4792813113": "4792813113", "322-735-2263": "3227352263", "": "", " \t ": "",
		}},
		"city": {metaWord, map[string]string{
			"London": "london", "Menlo Park": "menlopark", "    Menlo-Park  ": "menlopark", "São Paulo": "sopaulo", "México City": "mxicocity",
			"Zürich": "zrich", "København": "kbenhavn", "Москва": "", "北京": "", "123": "", "": "", "New😀York": "newyork",
		}},
		"zip": {metaZip, map[string]string{
			"    37221": "37221", "37221-3312": "37221", "K1a0A6": "k1a0a6", "\t90210-1234\n": "90210", "12345-6789-extra": "12345",
			"código123": "código123",
		}},
		"name": {metaName, map[string]string{
			"JoHn": "john", "  John   Smith  ": "johnsmith", "O'Connor": "oconnor", "José María González": "josémaríagonzález",
			"Øystein": "øystein", "李明": "李明", "Mary–Jane": "mary–jane", "José\u00a0María": "josémaría", "": "",
		}},
		"id": {metaID, map[string]string{"EXTERNAL123": "external123", "USER-ID-456": "user-id-456", " \t\n": "", "-42": "-42"}},
	} {
		for raw, want := range of.cases {
			if got := of.f(raw); got != want {
				t.Errorf("%s %q: %q, not %q", name, raw, got, want)
			}
		}
	}
}

// A code that could be a part of a name is none.
func TestACodeHasTwoLetters(t *testing.T) {
	t.Parallel()
	for raw, want := range map[string]string{"SP": "sp", " ca ": "ca", "BR": "br", "California": "", "S": "", "BR-SP": "", "12": "", "": ""} {
		if got := metaCode(raw); got != want {
			t.Errorf("%q: %q, not %q", raw, got, want)
		}
	}
}

// Cases that Google publishes with its data-manager libraries (data-manager-python, tests/formatter_test.py).
func TestTextsAreNormalisedAsGoogleDoes(t *testing.T) {
	t.Parallel()
	for name, of := range map[string]struct {
		f     func(string) string
		cases map[string]string
	}{
		"email": {googleEmail, map[string]string{
			"QuinnY@EXAMPLE.com": "quinny@example.com", "Jefferson.Loves.hiking@gmail.com": "jeffersonloveshiking@gmail.com",
			"Jefferson.LOVES.Hiking@googlemail.com": "jeffersonloveshiking@googlemail.com", "": "", "  ": "", "quinn": "",
			" @googlemail.com": "", " ...@gmail.com": "",
		}},
		"email for Google Ads": {adsEmail, map[string]string{
			"cloudy.sanfrancisco+shopping@gmail.com": "cloudysanfrancisco@gmail.com", "ana+loja@example.com": "ana+loja@example.com", "": "",
		}},
		"name":         {googleName, map[string]string{"  O'Hara-Smith. ": "oharasmith", "da  Silva": "da silva", "José": "josé"}},
		"name for GA4": {ga4Name, map[string]string{"São Paulo 2": "são paulo", "Jo3hn!": "john"}},
		"phone": {plusPhone, map[string]string{
			"1 800 555 0100": "+18005550100", "18005550100": "+18005550100", "+1 800-555-0100": "+18005550100",
			"441134960987": "+441134960987", "+44-113-496-0987": "+441134960987", "": "", "  ": "", " +A BCD EFG ": "",
		}},
		"hash of an email": {func(s string) string { return hashed(googleEmail(s)) }, map[string]string{
			"  ALEXZ@example.com   ": "509e933019bb285a134a9334b8bb679dff79d0ce023d529af4bd744d47b4fd8a", "": "",
		}},
		"hash of a phone": {func(s string) string { return hashed(plusPhone(s)) }, map[string]string{
			"   +1-800-555-0100": "fb4f73a6ec5fdb7077d564cdd22c3554b43ce49168550c3b12c547b78c517b30",
		}},
		"hash of a name": {func(s string) string { return hashed(googleName(s)) }, map[string]string{
			"  GivenName  ": "128a07bfe2df877c52076e60d7774cf5baaa046c5a6c48daf30ff43ecca2f814",
			" FamilyName":   "77762c287e61ce065bee5c15464012c6fbe088398b8057627d5577249430d574",
		}},
		"region": {googleCode, map[string]string{" uS ": "US"}},
	} {
		for raw, want := range of.cases {
			if got := of.f(raw); got != want {
				t.Errorf("%s %q: %q, not %q", name, raw, got, want)
			}
		}
	}
}

func TestANameIsDividedAfterItsFirstWord(t *testing.T) {
	t.Parallel()
	for full, want := range map[string][2]string{"Maria da Silva": {"Maria", "da Silva"}, "Pelé": {"Pelé", ""}, "  ": {}} {
		if given, family := names(full); [2]string{given, family} != want {
			t.Errorf("%q: %q, %q", full, given, family)
		}
	}
}
