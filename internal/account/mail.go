package account

import "github.com/tributary-io/tributary/internal/commerce"

// MailTypes are the events of which a person of a role may get mails; none: the role gets no mails.
func MailTypes(role string) []commerce.EventType {
	switch role {
	case RoleOwner:
		return []commerce.EventType{commerce.PayoutReview, commerce.CouponLeaking, commerce.ConnectionFails, commerce.WebhookDisabled}
	case RoleFinance:
		return []commerce.EventType{commerce.PayoutReview}
	}
	return nil
}
