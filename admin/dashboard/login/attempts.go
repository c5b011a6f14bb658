package login

import (
	"time"

	"github.com/tributary-io/tributary/internal/throttle"
)

// Limits of log-in attempts. A person who mistypes a password does not
// notice them, and guessing at these rates takes for ever.
const (
	// Of one e-mail from one network, and of one known device.
	attemptBurst = 5
	attemptEvery = time.Minute
	// Of one network, whatever the e-mail.
	networkBurst = 20
	networkEvery = 6 * time.Second
	// Of codes of one person from devices that are not known, whatever the network: whoever
	// found the password guesses 6 digits at this rate.
	codeBurst = 5
	codeEvery = 10 * time.Minute
)

// attempts limits log-ins. Those from a device that the e-mail has logged in
// on before have a limit of their own, so that guesses from elsewhere never
// keep a person out. All others are limited by e-mail and network together, and
// by network.
type attempts struct {
	byEmail, byNetwork, byDevice, byPerson *throttle.Buckets
}

func newAttempts() *attempts {
	return &attempts{
		byEmail:   throttle.New(attemptEvery, attemptBurst),
		byNetwork: throttle.New(networkEvery, networkBurst),
		byDevice:  throttle.New(attemptEvery, attemptBurst),
		byPerson:  throttle.New(codeEvery, codeBurst),
	}
}

// allow takes one attempt. device is empty where it is not known.
func (a *attempts) allow(email, network, device string, now time.Time) throttle.Attempt {
	return a.take(a.byEmail, network+" "+email, network, device, now)
}

// allowCode takes one attempt at a code of somebody whose password was shown.
func (a *attempts) allowCode(personID, network, device string, now time.Time) throttle.Attempt {
	return a.take(a.byPerson, personID, network, device, now)
}

func (a *attempts) take(others *throttle.Buckets, key, network, device string, now time.Time) throttle.Attempt {
	if device != "" {
		return a.byDevice.Take(device, now)
	}
	if got := a.byNetwork.Take(network, now); !got.OK {
		return got
	}
	return others.Take(key, now)
}

// succeeded forgets the failed attempts before a good one.
func (a *attempts) succeeded(email, network, device string) {
	a.byDevice.Forget(device)
	a.byEmail.Forget(network + " " + email)
}
