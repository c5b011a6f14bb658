package main

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"io"
	"strings"
	"time"

	"github.com/tributary-io/tributary/admin/dashboard/login"
	"github.com/tributary-io/tributary/internal/account"
)

// invitationLink stores a one-time link and returns it.
func invitationLink(ctx context.Context, db stores, n account.NewInvitation, origin string) (string, error) {
	var token [32]byte
	if _, err := io.ReadFull(n.Random, token[:]); err != nil {
		return "", err
	}
	n.At, n.Life = time.Now(), login.InvitationLife
	if err := db.Invite(ctx, n, sha256.Sum256(token[:])); err != nil {
		return "", err
	}
	return strings.TrimSuffix(origin, "/") + login.JoinPath + "?token=" + base64.RawURLEncoding.EncodeToString(token[:]), nil
}
