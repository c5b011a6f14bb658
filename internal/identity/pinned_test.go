package identity

// Made independently (Python's hmac and hashlib, with the mark in the last two bytes), with 32 bytes of 0x07 as the secret.
const (
	pinnedEmail   = "k1:GYMn_dPr9IByQBuz36t2KgK6_JZizfml9AtzjnJwHmc" // ana@example.com
	pinnedPhone   = "k1:OBaPqw3Crj2E6EaelgksTudH8nTCCyQwUFaoFSHiHmc" // +5511987654321
	pinnedVisitor = "k1:ICDzQFb87guPqWj0C2lbgxEX6d8icx_v_saUav9XHmc" // visitor: ana@example.com
	pinnedCheck   = "k1:jERvqkMyKfKDP3wjBRDcvQ"
)
