package identity

// Made independently (Python's hmac and hashlib), with 32 bytes of 0x07 as the secret.
const (
	pinnedEmail   = "k1:GYMn_dPr9IByQBuz36t2KgK6_JZizfml9AtzjnJw7sg" // ana@example.com
	pinnedPhone   = "k1:OBaPqw3Crj2E6EaelgksTudH8nTCCyQwUFaoFSHik-0" // +5511987654321
	pinnedVisitor = "k1:ICDzQFb87guPqWj0C2lbgxEX6d8icx_v_saUav9Xyn0" // visitor: ana@example.com
	pinnedCheck   = "k1:jERvqkMyKfKDP3wjBRDcvQ"
)
