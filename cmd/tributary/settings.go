package main

import (
	"errors"
	"fmt"
	"reflect"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/tributary-io/tributary/internal/commerce"
)

// setting is one of a company's settings on the command line: `company create`
// and `company set` have a flag for each, and `company show` a line. A new setting is one more row of settings.
type setting struct {
	flag  string
	field string // its name in commerce's violations, and in JSON
	usage string

	// at is a pointer to it: to a string, a list of strings, an int, a float64
	// or a bool, or one that is a pflag.Value.
	at func(s *commerce.Settings) any
}

var settings = []setting{
	{"country", "country", "ISO 3166-1 code of the country that phone numbers without one belong to; fixed from the first order on",
		func(s *commerce.Settings) any { return &s.Country }},
	{"timezone", "timezone", "IANA time zone of the store's days; fixed from the first order on",
		func(s *commerce.Settings) any { return &s.Timezone }},
	{"currency", "currency", "ISO 4217 code of the store's currency; fixed from the first order on",
		func(s *commerce.Settings) any { return &s.Currency }},
	{"origin", "origins", "origin whose pages may send events, https://loja.example.com; repeat or separate by commas",
		func(s *commerce.Settings) any { return &s.Origins }},
	{"host", "hosts", "the store's own host, never a touch; repeat or separate by commas",
		func(s *commerce.Settings) any { return &s.Hosts }},
	{"events-per-second", "events_per_second", "events that an edge takes of the company a second; 0 is the edge's default",
		func(s *commerce.Settings) any { return &s.Limits.EventsPerSecond }},
	{"burst", "burst", "… and how many at once; 0 is the edge's default",
		func(s *commerce.Settings) any { return &s.Limits.Burst }},
	{"consent", "consent_policy",
		"none, required (no cookie before consent, a denial or Global Privacy Control joins nothing) or honor_gpc (the latter only)",
		func(s *commerce.Settings) any { return &s.ConsentPolicy }},
	{"payout-rule", "payout_rule",
		"who is paid where a coupon and a link name different influencers: " + commerce.CouponFirst + " or " + commerce.LastTouch,
		func(s *commerce.Settings) any { return &s.PayoutRule }},
	{"window-days", "window_days", "how many days before an order a touch counts",
		func(s *commerce.Settings) any { return (*days)(&s.WindowDays) }},
	{"half-life-days", "half_life_days", "days after which a touch counts half in the model time_decay",
		func(s *commerce.Settings) any { return (*days)(&s.HalfLifeDays) }},
	{"count-direct", "count_direct", "let direct visits count in every model, not in the last touch's alone",
		func(s *commerce.Settings) any { return &s.CountDirect }},
	{"pay-recurring", "pay_recurring", "let recurring subscription orders earn commission",
		func(s *commerce.Settings) any { return &s.PayRecurring }},
	{"commission-without-tax", "commission_without_tax", "let commissions be a share of the order without the tax that it contains (taxPrice)",
		func(s *commerce.Settings) any { return &s.WithoutTax }},
	{"unproven", "unproven",
		"what is done with an influencer's link that nothing proves to be the buyer's: " + commerce.UnprovenReview +
			" (it waits for a decision), " + commerce.UnprovenIgnore + ", or " + commerce.UnprovenPay +
			" (anybody who knows a customer's e-mail can then claim the sale)",
		func(s *commerce.Settings) any { return &s.Unproven }},
	{"self-purchase", "self_purchase",
		"what is done with the commission where the order's customer is the influencer: " + commerce.SelfPurchaseReview +
			" (it waits for a decision), " + commerce.SelfPurchaseDeny + " or " + commerce.SelfPurchasePay,
		func(s *commerce.Settings) any { return &s.SelfPurchase }},
	{"passing-host", "passing_hosts",
		"host through which a shopper passes on the way to an order, such as a payment page: never a touch; with - before it one that is " +
			"known by itself and shall count; repeat or separate by commas",
		func(s *commerce.Settings) any { return &s.PassingHosts }},
	{"legal-name", "legal_name", "the store's name in statements that are closed from now on; empty: the name that it has here",
		func(s *commerce.Settings) any { return &s.LegalName }},
	{"tax-id", "tax_id", "the store's tax id in these statements; in Brazil a CNPJ or CPF",
		func(s *commerce.Settings) any { return &s.TaxID }},
	{"minimum-payout", "minimum_payout",
		"least total of a statement that is paid, in units of the store's currency; a smaller one is carried to the next statement",
		func(s *commerce.Settings) any { return &s.MinimumPayout }},
	{"hold-days", "hold_days", "days from an order's approval until its commission may be paid",
		func(s *commerce.Settings) any { return (*days)(&s.HoldDays) }},
	{"delivered-hold-days", "delivered_hold_days", "days from an order's delivery, where that is known, until its commission may be paid",
		func(s *commerce.Settings) any { return (*days)(&s.DeliveredHoldDays) }},
	{"confirm-decisions", "confirm_decisions",
		"let a decision about an order count once a second person has confirmed it on the dashboard; there two people turn it off",
		func(s *commerce.Settings) any { return &s.ConfirmDecisions }},
	{"retention-days", "retention_days", "days after which events are removed; credits and commissions stay; 0 keeps events for ever",
		func(s *commerce.Settings) any { return (*days)(&s.RetentionDays) }},
}

// register adds the setting's flag, which sets it in s. Its present value is the
// default.
func (x setting) register(flags *pflag.FlagSet, s *commerce.Settings) {
	switch at := x.at(s).(type) {
	case *string:
		flags.StringVar(at, x.flag, *at, x.usage)
	case *[]string:
		flags.StringSliceVar(at, x.flag, *at, x.usage)
	case *int:
		flags.IntVar(at, x.flag, *at, x.usage)
	case *float64:
		flags.Float64Var(at, x.flag, *at, x.usage)
	case *days:
		daysVar(flags, (*int)(at), x.flag, int(*at), x.usage)
	case *bool:
		flags.BoolVar(at, x.flag, *at, x.usage)
	default:
		panic(fmt.Sprintf("--%s: no flag is made for a %T", x.flag, at))
	}
}

// take sets the setting in to as it is in from.
func (x setting) take(to, from *commerce.Settings) {
	reflect.ValueOf(x.at(to)).Elem().Set(reflect.ValueOf(x.at(from)).Elem())
}

// value is the setting itself, for encoding/json; a list is never nil.
func (x setting) value(s *commerce.Settings) any {
	value := reflect.ValueOf(x.at(s)).Elem()
	if value.Kind() == reflect.Slice && value.IsNil() {
		return []string{}
	}
	return value.Interface()
}

// text is the setting for people.
func (x setting) text(s *commerce.Settings) string {
	value := x.value(s)
	switch value := value.(type) {
	case []string:
		return listed(value)
	case string:
		return printable(value)
	case float64:
		if value != 0 {
			return strconv.FormatFloat(value, 'f', -1, 64)
		}
	}
	if x.flag == "retention-days" && reflect.ValueOf(value).IsZero() {
		return "for ever"
	}
	if (x.flag == "events-per-second" || x.flag == "burst") && reflect.ValueOf(value).IsZero() {
		return "the edge's default"
	}
	return fmt.Sprint(value)
}

// settingsProblem tells what is wrong with settings by their flags; nil where
// nothing is.
func settingsProblem(cmd *cobra.Command, bad commerce.Violations) error {
	var wrong []error
	for _, v := range bad.List {
		field, _, _ := strings.Cut(v.Field, "[")
		name := v.Field
		for _, x := range settings {
			if x.field == field {
				name = "--" + x.flag
			}
			if x.field == field && x.flag == "origin" && cmd.Flags().Changed("add-origin") { // --origin is not given then
				name = "--add-origin"
			}
		}
		wrong = append(wrong, errors.New(name+" "+v.Message))
	}
	return errors.Join(wrong...)
}
