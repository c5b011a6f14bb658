package scrub

import "testing"

func TestFold(t *testing.T) {
	f := func(text, want string) {
		t.Helper()
		if got := fold(text); got != want {
			t.Errorf("fold(%q) = %q, want %q", text, got, want)
		}
	}
	f("%61%5a%30%39%2D%2e%5F%7E", "aZ09-._~")
	f("%2561%252561", "aa")
	f("%40%2f%252f%25252f%25%2", "%40%2f%252f%25252f%25%2") // signs that need their escape, and what is none
	f("%EF%BC%A0%EF%BC%8b%ef%bd%9a%EF%BC%91", "%40%2Bz1")
	f("%25EF%25BC%25A0%2525EF%2525BD%2525A1", "%2540%2525EF%2525BD%2525A1")
	f("%EF%BC%81%EF%BD%9E", "%21~")                                                                 // the first and the last
	f("%EF%BC%80%EF%BD%9F%EF%BF%A0%EF%BB%BF", "%EF%BC%80%EF%BD%9F%EF%BF%A0%EF%BB%BF")               // before, behind and beside them
	f("%EF%BC%25A0%EF%25BC%A0%EF%BC%EF%BCx%EF%41%EF", "%EF%BC%25A0%EF%25BC%A0%EF%BC%EF%BCx%EFA%EF") // of two levels, or cut
	f("%E0%BC%A0%", "%E0%BC%A0%")
	f("！～﹫。｡Ａ１", "!~@..A1")
	f("\uff00\uff5f", "\uff00\uff5f")
	f("a。b", "a.b")
}
