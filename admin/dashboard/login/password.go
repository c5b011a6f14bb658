package login

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/alexedwards/argon2id"

	"github.com/tributary-io/tributary/internal/lang"
)

// Bounds of a password. NIST SP 800-63B asks for at least 8 characters; the
// upper bound only keeps a request's work bounded.
const (
	MinPasswordCharacters = 10
	MaxPasswordBytes      = 256
)

// Why a password is refused.
var (
	ErrPasswordLength = errors.New("dashboard: a password has 10 characters or more, and 256 bytes at most")
	ErrPasswordCommon = errors.New("dashboard: a common word with digits, or few characters again and again, is guessed at once")
)

// commonWords are the letters of the passwords that are tried first, in English and Portuguese (SecLists' and NordPass' lists of
// the most common ones, without their digits and signs).
var commonWords = []string{"", "password", "passwd", "pass", "senha", "minhasenha", "admin", "administrador", "administrator", "qwerty",
	"qwertyuiop", "asdf", "asdfghjkl", "abc", "abcd", "abcdef", "mudar", "teste", "test", "welcome", "letmein", "iloveyou", "brasil", "loja",
	"tributary", "changeme", "secret", "master", "user", "usuario", "login", "root", "deus", "jesus", "flamengo", "corinthians"}

// fewestCharacters is how many different ones a password has at least. The number was chosen, not measured.
const fewestCharacters = 5

// isCommon reports whether a password is a common word with digits and signs, or has few characters.
func isCommon(password string) bool {
	letters, different := "", map[rune]bool{}
	for _, r := range strings.ToLower(password) {
		if different[r] = true; unicode.IsLetter(r) {
			letters += string(r)
		}
	}
	return len(different) < fewestCharacters || slices.Contains(commonWords, letters)
}

// passwordRefused says why a new password is refused; "" for another error.
func passwordRefused(l *lang.Printer, err error) string {
	switch {
	case errors.Is(err, ErrPasswordLength):
		return l.T("join.length", MinPasswordCharacters, MaxPasswordBytes)
	case errors.Is(err, ErrPasswordCommon):
		return l.T("join.common")
	}
	return ""
}

// argon2 parameters: OWASP's Password Storage Cheat Sheet (19 MiB, 2 passes, 1 lane).
var argon2 = argon2id.Params{Memory: 19 * 1024, Iterations: 2, Parallelism: 1, SaltLength: 16, KeyLength: 32}

// HashPassword returns the argon2id PHC string that is stored for a person.
func HashPassword(password string) (string, error) {
	if utf8.RuneCountInString(password) < MinPasswordCharacters || len(password) > MaxPasswordBytes {
		return "", ErrPasswordLength
	}
	if isCommon(password) {
		return "", ErrPasswordCommon
	}
	params := argon2
	hash, err := argon2id.CreateHash(password, &params)
	if err != nil {
		return "", fmt.Errorf("dashboard: hash password: %w", err)
	}
	return hash, nil
}
