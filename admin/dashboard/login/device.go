package login

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/tributary-io/tributary/admin/dashboard/site"
)

const (
	deviceCookie = "trb_device"
	// devicePath: the cookie is sent with log-ins alone.
	devicePath = "/dashboard/login"
	// maxDeviceCookie bounds what is parsed; ours have about 110 bytes.
	maxDeviceCookie = 256
)

// deviceText encodes the binary parts of the cookie. It is strict, so that each
// has one text only.
var deviceText = base64.RawURLEncoding.Strict()

// signDevice makes the cookie of a device on which somebody logged in:
// "<kid>.<id>.<Unix seconds>.<HMAC-SHA-256>". The e-mail is signed and not
// written.
func (k signingKeys) signDevice(id [16]byte, email string, until time.Time) string {
	text := k.kid + "." + deviceText.EncodeToString(id[:]) + "." + strconv.FormatInt(until.Unix(), 10)
	return text + "." + deviceText.EncodeToString(signDevice(k.devices[k.kid], text, email))
}

// knownDevice returns the id of the device that a cookie names, or "" where the
// cookie is not ours, not of that e-mail, or expired.
func (k signingKeys) knownDevice(cookie, email string, now time.Time) string {
	parts := strings.Split(cookie, ".")
	if len(cookie) > maxDeviceCookie || len(parts) != 4 || k.devices[parts[0]] == nil {
		return ""
	}
	sum, err := deviceText.DecodeString(parts[3])
	text := strings.Join(parts[:3], ".")
	if err != nil || !hmac.Equal(sum, signDevice(k.devices[parts[0]], text, email)) {
		return ""
	}
	until, err := strconv.ParseInt(parts[2], 10, 64)
	if err != nil || now.Unix() >= until {
		return ""
	}
	return parts[1]
}

func signDevice(key []byte, text, email string) []byte {
	mac := hmac.New(sha256.New, key)
	mac.Write([]byte(text + "." + email))
	return mac.Sum(nil)
}

// deviceOf returns the known device that a log-in comes from, or "".
func (s *Pages) deviceOf(r *http.Request, email string) string {
	cookie, ok := s.Cookie(r, deviceCookie)
	if !ok {
		return ""
	}
	return s.keys.knownDevice(cookie, email, s.Now())
}

// rememberDevice marks the browser as one on which the e-mail has logged in.
func (s *Pages) rememberDevice(w http.ResponseWriter, r *http.Request, email string) error {
	var id [16]byte
	if _, err := io.ReadFull(s.Random, id[:]); err != nil {
		return fmt.Errorf("dashboard: make a device's id: %w", err)
	}
	s.SetCookie(w, r, deviceCookie, devicePath, s.keys.signDevice(id, email, s.Now().Add(site.LongestCookie)), site.LongestCookie)
	return nil
}
