package webhook

import (
	"strings"
	"testing"
	"time"
)

// The vector that Standard Webhooks publishes (libraries/go/webhook_test.go, 1.0.0).
const (
	vectorSecret    = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
	vectorID        = "msg_p5jXN8AQM9LWM0D4loKWxJek"
	vectorTime      = 1614265330
	vectorBody      = `{"test": 2432232314}`
	vectorSignature = "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="
)

func TestThePublishedVector(t *testing.T) {
	got, err := Sign([]string{vectorSecret}, vectorID, time.Unix(vectorTime, 0), []byte(vectorBody))
	if err != nil || got != vectorSignature {
		t.Errorf("%q %v", got, err)
	}
	other := "whsec_" + strings.Repeat("Zm9v", 8)
	both, err := Sign([]string{other, vectorSecret}, vectorID, time.Unix(vectorTime, 0), []byte(vectorBody))
	if err != nil || !strings.HasSuffix(both, " "+vectorSignature) || strings.Count(both, "v1,") != 2 {
		t.Errorf("with two secrets: %q %v", both, err)
	}
}

func TestWhatIsNoSecretSignsNothing(t *testing.T) {
	for _, secrets := range [][]string{nil, {""}, {"whsec_"}, {"whsec_!"}, {"whsec_c2hvcnQ="}, {strings.TrimPrefix(vectorSecret, "whsec_")},
		{vectorSecret, "x"}, {"whsec_" + strings.Repeat("AAAA", 22)}} {
		if got, err := Sign(secrets, "i", time.Now(), nil); err == nil {
			t.Errorf("%q signs %q", secrets, got)
		}
	}
}
