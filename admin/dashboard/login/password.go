package login

import (
	"errors"
	"fmt"

	"github.com/alexedwards/argon2id"
)

// Bounds of a password, in bytes. NIST SP 800-63B asks for at least 8; the
// upper bound only keeps a request's work bounded.
const (
	MinPasswordBytes = 10
	MaxPasswordBytes = 256
)

// ErrPasswordLength refuses a password that is too short or too long.
var ErrPasswordLength = errors.New("dashboard: a password has 10 to 256 bytes")

// argon2 parameters: OWASP's Password Storage Cheat Sheet (19 MiB, 2 passes, 1 lane).
var argon2 = argon2id.Params{Memory: 19 * 1024, Iterations: 2, Parallelism: 1, SaltLength: 16, KeyLength: 32}

// HashPassword returns the argon2id PHC string that is stored for a person.
func HashPassword(password string) (string, error) {
	if len(password) < MinPasswordBytes || len(password) > MaxPasswordBytes {
		return "", ErrPasswordLength
	}
	params := argon2
	hash, err := argon2id.CreateHash(password, &params)
	if err != nil {
		return "", fmt.Errorf("dashboard: hash password: %w", err)
	}
	return hash, nil
}
