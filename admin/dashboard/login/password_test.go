package login

import (
	"errors"
	"testing"
)

func TestPasswordsThatAreGuessedAtOnceAreRefused(t *testing.T) {
	t.Parallel()
	for _, password := range []string{"senha12345", "Senha@2026!", "1234567890", "aaaaaaaaaaaa", "PASSWORD-123", "qwertyuiop12",
		"abcabcabcabc"} {
		if _, err := HashPassword(password); !errors.Is(err, ErrPasswordCommon) {
			t.Errorf("%s: %v", password, err)
		}
	}
	for _, password := range []string{"cavalo bateria grampo", "x7Kq-19zL-pp", "senha da minha avó"} {
		if _, err := HashPassword(password); err != nil {
			t.Errorf("%s: %v", password, err)
		}
	}
}
