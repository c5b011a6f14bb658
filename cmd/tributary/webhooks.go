package main

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/tributary-io/tributary/internal/account"
	"github.com/tributary-io/tributary/internal/commerce"
)

// receivers is a kind of what messages are sent to, with its group of commands. The id of another kind is none of its.
type receivers struct {
	group, prefix, one string // "webhooks", "whe_", "endpoint"
	idField, example   string // of an id: its name in JSON, and how one looks
	states             []string
	table              []column[commerce.Message]
	messages, test     string // what these commands do, in the words of their help
	replay, replayLong string
	changeLong         string
	changeExample      string // of its flags
}

var webhookEndpoints = receivers{group: "webhooks", prefix: commerce.EndpointPrefix, one: "endpoint",
	idField: "endpoint_id", example: "whe_abcdefghijklmnop", states: commerce.MessageStates, table: messageTable,
	messages: `List an endpoint's messages. Delivered ones are kept for 7 days, those that were given up (parked) for 30. A failure is
status (no 2xx), redirect, not_public (the address is none of the internet), timeout, no_answer or secret_lost.`,
	test:   "Send an event of type webhook.test, whatever events the endpoint gets",
	replay: "Send what changed in some time once more, as it is now",
	replayLong: `Send orders and statements that changed from five minutes before --from on and before --to once more, as they are now: at
most %d orders at once. What has not changed since has the webhook-id that it had.`,
	changeLong: `Change what is given, and nothing else. One that is enabled again gets what waited for it, and what happens from then
on; what happened while it was disabled is sent by ` + "`tributary webhooks replay`" + `.`,
	changeExample: "--enable"}

func newWebhooks() *cobra.Command {
	return group("webhooks", "Tell other systems what becomes of orders and statements", append(webhookEndpoints.commands(), newWebhooksAdd(),
		newWebhooksList(), newWebhooksChange(), newWebhooksSecret())...)
}

// commands are those that all kinds have.
func (k receivers) commands() []*cobra.Command {
	return []*cobra.Command{k.newRemove(), k.newMessages(), k.newTest(), k.newResend(), k.newReplay()}
}

// with is companyCommand of what does something with one of this kind, which the argument names.
func (k receivers) with(name, short string,
	run func(ctx context.Context, cmd *cobra.Command, db stores, author commerce.Author, id string) error) *cobra.Command {
	cmd := companyCommand(name+" "+strings.ToUpper(k.one), short, oneArgument,
		func(ctx context.Context, cmd *cobra.Command, db stores, company string, args []string) error {
			err := commerce.ErrNotFound
			if strings.HasPrefix(args[0], k.prefix) {
				err = run(ctx, cmd, db, commerce.Author{CompanyID: company, Actor: actor, At: time.Now()}, args[0])
			}
			return k.problem(err, args[0])
		})
	cmd.Example = "  tributary " + k.group + " " + name + " " + k.example + " --company c_…"
	return cmd
}

// problem says what was wrong with one.
func (k receivers) problem(err error, id string) error {
	switch {
	case errors.Is(err, commerce.ErrNotFound):
		return fmt.Errorf("no such %s, or message of it: %s; `tributary %s list` shows the %ss", k.one, printable(id), k.group, k.one)
	case errors.Is(err, commerce.ErrTooManyEndpoints), errors.Is(err, commerce.ErrTooManyNetworks):
		return fmt.Errorf("a company has at most %d %ss: remove one", commerce.MaxEndpoints, k.one)
	case errors.Is(err, commerce.ErrNetworkThere):
		return errors.New("the company has this account already: `tributary conversions list` shows it")
	case errors.Is(err, commerce.ErrNetworkSandbox):
		return errors.New("--test-code is needed: a sandbox tells networks of tests alone")
	case errors.Is(err, commerce.ErrNetworkTestCode):
		return errors.New("set the code that the network shows for tests first: `tributary conversions change --test-code`")
	case errors.Is(err, commerce.ErrEndpointFull):
		return fmt.Errorf("too many messages of this %s wait: replay when they are delivered, or a shorter time", k.one)
	case errors.Is(err, commerce.ErrEndpointDisabled):
		return fmt.Errorf("the %s is disabled: `tributary %s change --enable` enables it", k.one, k.group)
	}
	return err
}

// endpointFlags are what a merchant sets of an endpoint.
type endpointFlags struct {
	name, url string
	types     []string
}

func (f *endpointFlags) register(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.name, "name", "", "what you call it")
	cmd.Flags().StringVar(&f.url, "url", "", "where events go, an https address of the internet")
	cmd.Flags().StringSliceVar(&f.types, "types", nil,
		"events that it gets, by commas (default all): "+strings.Join(commerce.EventNames(commerce.EventTypes), ", "))
}

// into changes what was given, and checks the whole.
func (f *endpointFlags) into(e *commerce.Endpoint) error {
	if f.name != "" {
		e.Name = f.name
	}
	if f.url != "" {
		e.URL = f.url
	}
	if len(f.types) > 0 {
		e.Types = nil
		for _, t := range f.types {
			e.Types = append(e.Types, commerce.EventType(strings.TrimSpace(t)))
		}
		slices.Sort(e.Types)
		e.Types = slices.Compact(e.Types)
	}
	var bad commerce.Violations
	e.Check(&bad)
	return brokenFlags(bad)
}

// brokenFlags says of each flag what is wrong with it.
func brokenFlags(bad commerce.Violations) error {
	var wrong problems
	for _, v := range bad.List {
		wrong.add(fmt.Errorf("--%s %s", strings.ReplaceAll(v.Field, "_", "-"), v.Message))
	}
	return wrong.err()
}

// newSecret makes a secret and seals it to the connect service.
func newSecret(ctx context.Context, db stores, company, endpoint string) (text string, sealed commerce.SealedSecret, err error) {
	offer, err := runningOffer(ctx, db)
	if err != nil {
		return "", sealed, err
	}
	return account.NewWebhookSecret(rand.Reader, offer, company, endpoint)
}

// exampleSecret is an endpoint with a secret that was made now.
var exampleSecret = webhookEndpoints.said(webhookEndpoints.example, "secret", "whsec_…")

func newWebhooksAdd() *cobra.Command {
	var f endpointFlags
	var report reportFlag
	cmd := companyCommand("add", "Add an endpoint, and show its secret once", noArguments,
		func(ctx context.Context, cmd *cobra.Command, db stores, company string, _ []string) error {
			id, err := commerce.NewID(rand.Reader, commerce.EndpointPrefix)
			if err != nil {
				return err
			}
			e := commerce.Endpoint{ID: id, Types: commerce.EventTypes, Active: true}
			if err := f.into(&e); err != nil {
				return err
			}
			text, sealed, err := newSecret(ctx, db, company, id)
			if err != nil {
				return err
			}
			if err := db.AddEndpoint(ctx, commerce.Author{CompanyID: company, Actor: actor, At: time.Now()}, e, sealed); err != nil {
				return webhookEndpoints.problem(err, id)
			}
			fmt.Fprintf(report.text(cmd), "Endpoint %s gets events from now on.\nIts secret, which nobody can show again: %s\n", id, text)
			return report.write(cmd, webhookEndpoints.said(id, "secret", text))
		})
	cmd.Long = `Add an endpoint: an address that gets events as Standard Webhooks says, each signed with a secret of its own. The
connect service sends them. What happened before is sent by ` + "`tributary webhooks replay`" + `.`
	cmd.Example = "  tributary webhooks add --company c_… --name ERP --url https://erp.example.com/tributary"
	f.register(cmd)
	report.register(cmd, exampleSecret)
	needs(cmd, "name", "url")
	return cmd
}

var endpointTable = append(append([]column[commerce.Endpoint]{
	{"endpoint_id", "ENDPOINT", func(e *commerce.Endpoint) any { return e.ID }},
	{"name", "NAME", func(e *commerce.Endpoint) any { return e.Name }},
	{"url", "URL", func(e *commerce.Endpoint) any { return e.URL }},
	{"types", "", func(e *commerce.Endpoint) any { return strings.Join(commerce.EventNames(e.Types), " ") }},
}, stateColumns(func(e *commerce.Endpoint) *commerce.Endpoint { return e })...),
	column[commerce.Endpoint]{"secrets", "", func(e *commerce.Endpoint) any { return e.Secrets }})

// stateColumns are what somebody to whom messages are sent does.
func stateColumns[T any](of func(one *T) *commerce.Endpoint) []column[T] {
	return []column[T]{
		{"state", "STATE", func(t *T) any { return of(t).State() }},
		{"reason", "REASON", func(t *T) any { return orNone(of(t).Reason) }},
		{"since", "SINCE", func(t *T) any { return momentOrNone(of(t).Since) }},
		{"failing_since", "FAILING SINCE", func(t *T) any { return momentOrNone(of(t).FailingSince) }},
		{"waiting", "WAITING", func(t *T) any { return of(t).Waiting }},
		{"parked", "GIVEN UP", func(t *T) any { return of(t).Parked }},
		{"delivered_at", "LAST DELIVERED", func(t *T) any { return momentOrNone(of(t).DeliveredAt) }},
	}
}

func newWebhooksList() *cobra.Command {
	var how listing
	cmd := companyCommand("list", "List a company's endpoints, and how each is", noArguments,
		func(ctx context.Context, cmd *cobra.Command, db stores, company string, _ []string) error {
			list, err := db.Endpoints(ctx, company)
			if err != nil {
				return err
			}
			return writeList(cmd.OutOrStdout(), how, endpointTable, list)
		})
	cmd.Long = `List a company's endpoints. One is disabled by you (merchant), since it answered 410 (gone), since nothing reached it
for five days (dead), or since too many messages waited (overflow). It gets nothing until it is enabled again.`
	cmd.Example = "  tributary webhooks list --company c_…"
	how.register(cmd)
	return cmd
}

func newWebhooksChange() *cobra.Command {
	var f endpointFlags
	return webhookEndpoints.newChange(f.register,
		func(ctx context.Context, db stores, author commerce.Author, id string, active func(was bool) bool) error {
			var wrong error
			err := db.ChangeEndpoint(ctx, author, id, func(e *commerce.Endpoint) error {
				e.Active = active(e.Active)
				wrong = f.into(e)
				return wrong
			})
			return cmp.Or(wrong, err)
		})
}

// newChange changes one by the flags that register adds. active tells whether it is active then.
func (k receivers) newChange(register func(cmd *cobra.Command),
	change func(ctx context.Context, db stores, author commerce.Author, id string, active func(was bool) bool) error) *cobra.Command {
	var enable, disable bool
	var report reportFlag
	cmd := k.with("change", "Change an "+k.one+", or enable or disable it",
		func(ctx context.Context, cmd *cobra.Command, db stores, author commerce.Author, id string) error {
			if err := change(ctx, db, author, id, func(was bool) bool { return was && !disable || enable }); err != nil {
				return err
			}
			e, err := db.Endpoint(ctx, author.CompanyID, id)
			if err != nil {
				return err
			}
			fmt.Fprintf(report.text(cmd), "%s %s is %s.\n", k.title(), id, e.State())
			return report.write(cmd, k.said(id, "state", e.State()))
		})
	cmd.Long = k.changeLong
	cmd.Example += " " + k.changeExample
	register(cmd)
	cmd.Flags().BoolVar(&enable, "enable", false, "send to it")
	cmd.Flags().BoolVar(&disable, "disable", false, "send nothing to it, and write nothing down for it")
	excludes(cmd.Flags(), "enable", "disable")
	report.register(cmd, k.said(k.example, "state", commerce.EndpointActive))
	return cmd
}

func newWebhooksSecret() *cobra.Command {
	var report reportFlag
	cmd := webhookEndpoints.with("secret", "Make a new secret of an endpoint, and show it once",
		func(ctx context.Context, cmd *cobra.Command, db stores, author commerce.Author, id string) error {
			text, sealed, err := newSecret(ctx, db, author.CompanyID, id)
			if err == nil {
				err = db.RotateSecret(ctx, author, id, sealed)
			}
			if err != nil {
				return err
			}
			fmt.Fprintf(report.text(cmd), "For %v messages have two signatures, also one with the former secret.\nThe new secret, "+
				"which nobody can show again: %s\n", commerce.SecretOverlap, text)
			return report.write(cmd, webhookEndpoints.said(id, "secret", text))
		})
	report.register(cmd, exampleSecret)
	return cmd
}

func (k receivers) newRemove() *cobra.Command {
	var report reportFlag
	cmd := k.with("remove", "Remove an "+k.one+" with its messages",
		func(ctx context.Context, cmd *cobra.Command, db stores, author commerce.Author, id string) error {
			if err := db.RemoveEndpoint(ctx, author, id); err != nil {
				return err
			}
			fmt.Fprintf(report.text(cmd), "%s %s is removed.\n", k.title(), id)
			return report.write(cmd, k.said(id, "state", "removed"))
		})
	report.register(cmd, k.said(k.example, "state", "removed"))
	return cmd
}

// title is one at the beginning of a sentence.
func (k receivers) title() string { return strings.ToUpper(k.one[:1]) + k.one[1:] }

// said is what a command that does one thing to one of this kind writes.
func (k receivers) said(id, key string, value any) map[string]any {
	return map[string]any{k.idField: id, key: value}
}

// lastTry is a message's last attempt; the zero one where there was none.
func lastTry(m *commerce.Message) commerce.Try {
	if len(m.Tries) == 0 {
		return commerce.Try{}
	}
	return m.Tries[len(m.Tries)-1]
}

var messageTable = []column[commerce.Message]{
	{"sequence", "SEQUENCE", func(m *commerce.Message) any { return m.Number }},
	{"type", "EVENT", func(m *commerce.Message) any { return string(m.Type) }},
	{"key", "OF", func(m *commerce.Message) any { return m.Key }},
	{"at", "AT", func(m *commerce.Message) any { return momentOrNone(m.At) }},
	{"state", "STATE", func(m *commerce.Message) any { return m.State }},
	{"attempts", "ATTEMPTS", func(m *commerce.Message) any { return m.Attempts }},
	{"last_attempt_at", "LAST ATTEMPT", func(m *commerce.Message) any { return momentOrNone(lastTry(m).At) }},
	{"last_status", "ANSWER", func(m *commerce.Message) any {
		if status := lastTry(m).Status; status != 0 {
			return status
		}
		return nil
	}},
	{"last_failure", "FAILURE", func(m *commerce.Message) any { return orNone(lastTry(m).Failure) }},
	{"last_answer", "", func(m *commerce.Message) any { return orNone(lastTry(m).Answer) }},
	{"due_at", "NEXT ATTEMPT", func(m *commerce.Message) any {
		if m.State != commerce.MessageWaiting {
			return nil
		}
		return moment(m.DueAt)
	}},
	{"webhook_id", "", func(m *commerce.Message) any { return m.ID }},
}

// mostMessages bounds a list of messages.
const mostMessages = 1000

func (k receivers) newMessages() *cobra.Command {
	var how listing
	var state string
	var before int64
	var limit int
	cmd := k.with("messages", "List an "+k.one+"'s messages, the newest first, with what became of each",
		func(ctx context.Context, cmd *cobra.Command, db stores, author commerce.Author, id string) error {
			if state != "" && !slices.Contains(k.states, state) {
				return misuse(fmt.Errorf("--state must be one of %s", strings.Join(k.states, ", ")))
			}
			if limit < 1 || limit > mostMessages || before < 0 {
				return misuse(fmt.Errorf("--limit must be from 1 to %d, and --before not negative", mostMessages))
			}
			if _, err := db.Endpoint(ctx, author.CompanyID, id); err != nil {
				return err
			}
			list, err := db.Messages(ctx, author.CompanyID, id, state, before, limit)
			if err != nil {
				return err
			}
			return writeList(cmd.OutOrStdout(), how, k.table, list)
		})
	cmd.Long = k.messages
	cmd.Example += " --state parked"
	cmd.Flags().StringVar(&state, "state", "", "of these alone: "+strings.Join(k.states, ", "))
	cmd.Flags().Int64Var(&before, "before", 0, "those below this sequence")
	cmd.Flags().IntVar(&limit, "limit", 100, "at most so many")
	how.register(cmd)
	return cmd
}

func (k receivers) newTest() *cobra.Command {
	var report reportFlag
	cmd := k.with("test", k.test,
		func(ctx context.Context, cmd *cobra.Command, db stores, author commerce.Author, id string) error {
			number, err := db.TestEndpoint(ctx, author, id)
			if err != nil {
				return err
			}
			fmt.Fprintf(report.text(cmd), "Message %d is sent. See what became of it: tributary %s messages %s --company %s --limit 1\n",
				number, k.group, id, author.CompanyID)
			return report.write(cmd, k.said(id, "sequence", number))
		})
	report.register(cmd, k.said(k.example, "sequence", 4711))
	return cmd
}

func (k receivers) newResend() *cobra.Command {
	var report reportFlag
	var number int64
	cmd := k.with("resend", "Send a message again, now",
		func(ctx context.Context, cmd *cobra.Command, db stores, author commerce.Author, id string) error {
			if err := db.ResendMessage(ctx, author, id, number); err != nil {
				return err
			}
			fmt.Fprintf(report.text(cmd), "Message %d is sent again.\n", number)
			return report.write(cmd, k.said(id, "state", commerce.MessageWaiting))
		})
	cmd.Example += " --sequence 4711"
	cmd.Flags().Int64Var(&number, "sequence", 0, "the message's, which the command messages shows")
	report.register(cmd, k.said(k.example, "state", commerce.MessageWaiting))
	needs(cmd, "sequence")
	return cmd
}

// replayedReport is what a replay did.
type replayedReport struct {
	Messages int       `json:"messages"`
	Until    time.Time `json:"until"`
	More     bool      `json:"more"`
}

func (k receivers) newReplay() *cobra.Command {
	var from, to string
	var report reportFlag
	cmd := k.with("replay", k.replay,
		func(ctx context.Context, cmd *cobra.Command, db stores, author commerce.Author, id string) error {
			begin, err := readMoment("from", from)
			if err != nil {
				return err
			}
			var end time.Time
			if to != "" {
				if end, err = readMoment("to", to); err != nil {
					return err
				}
			}
			end, ok := commerce.ReplayRange(begin, end, time.Now())
			if !ok {
				return misuse(errors.New("--from must be less than 5 minutes after --to, which is now unless it is set"))
			}
			r, err := db.ReplayEndpoint(ctx, author, id, begin, end)
			if err != nil {
				return err
			}
			fmt.Fprintf(report.text(cmd), "%d messages wait to be sent.\n", r.Messages)
			if r.More {
				fmt.Fprintf(report.text(cmd), "There is more: go on with --from %s\n", r.Until.UTC().Format(time.RFC3339Nano))
			}
			return report.write(cmd, replayedReport{r.Messages, r.Until.UTC(), r.More})
		})
	cmd.Long = fmt.Sprintf(k.replayLong, commerce.MaxReplay)
	cmd.Example += " --from 2026-11-05T12:00:00Z"
	cmd.Flags().StringVar(&from, "from", "", "first moment, RFC 3339")
	cmd.Flags().StringVar(&to, "to", "", "moment after the last one (default now)")
	report.register(cmd, replayedReport{42, time.Date(2026, 11, 5, 12, 0, 0, 0, time.UTC), false})
	needs(cmd, "from")
	return cmd
}
